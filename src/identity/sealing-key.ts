/** The secret under which private keys lie in the store, in a file of its own that only its owner may read. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

export const SEALING_KEY_FILE = 'signing.key'
const KEY_BYTES = 32
/** A key in base64, with ends of lines around it. */
const MOST_TEXT_BYTES = 64
const NONCE_BYTES = 12
const TAG_BYTES = 16
const OWNER_ONLY = 0o600

/** Encrypts and decrypts (AES-256-GCM). `purpose` is authenticated with the text, so `open` needs the same one. */
export interface Sealer {
  seal(plain: Uint8Array, purpose: string): string
  /** Null when it was sealed under another key or for another purpose, or is damaged. */
  open(sealed: string, purpose: string): Buffer | null
}

export function createSealer(key: Uint8Array): Sealer {
  return {
    seal(plain, purpose) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose))
      const hidden = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([nonce, hidden, cipher.getAuthTag()]).toString('base64url')
    },
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return null
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      } catch {
        return null
      }
    },
  }
}

const CHECK = 'fleet'

/** A known text under the seal of a fleet; whether a key is the same one is told by `opensCheck`. */
export function sealCheck(sealer: Sealer): string {
  return sealer.seal(Buffer.from(CHECK), CHECK)
}

export function opensCheck(sealer: Sealer, sealed: string): boolean {
  return sealer.open(sealed, CHECK)?.toString() === CHECK
}

/** The sealing key of a server: that of a file, where the operator names one, or else that of its data folder. */
export function sealingKeyOf({ sealingKeyFile, dataDir }: SealingKeyPlace): Buffer {
  return sealingKeyFile === '' ? loadSealingKey(dataDir) : readSealingKeyFile(sealingKeyFile)
}

interface SealingKeyPlace {
  /** `''` when there is none. */
  readonly sealingKeyFile: string
  readonly dataDir: string
}

/** The 32 bytes of a file, raw or in base64. Throws with a sentence when it holds anything else. */
function readSealingKeyFile(path: string): Buffer {
  const bytes = readFileSync(path)
  if (bytes.length === KEY_BYTES) return bytes
  const text = bytes.length > MOST_TEXT_BYTES ? '' : bytes.toString('latin1').trim()
  const key = /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null
  if (key?.length !== KEY_BYTES) {
    throw new Error(`${path} holds no sealing key: ${KEY_BYTES} bytes, raw or in base64, are needed`)
  }
  return key
}

/**
 * The sealing key of a data folder, made when there is none. Of several processes that start at once, all get the
 * same: the file appears under its name complete and on disk, or not at all. Permissions that let others read it
 * are taken away. Throws when the file has another size: with a new key, sealed records could never be opened.
 */
export function loadSealingKey(folder: string): Buffer {
  const path = join(folder, SEALING_KEY_FILE)
  const key = existsSync(path) ? readFileSync(path) : createSealingKey(folder, path)
  if (key.length !== KEY_BYTES) throw new Error(`${path} is not a key of ${KEY_BYTES} bytes`)
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, OWNER_ONLY)
  return key
}

/**
 * Written under another name first. A link, unlike a rename, fails when another process has created the file
 * already.
 */
function createSealingKey(folder: string, path: string): Buffer {
  const draft = join(folder, `.${SEALING_KEY_FILE}.${process.pid}.${randomBytes(6).toString('hex')}`)
  writeFileSync(draft, randomBytes(KEY_BYTES), { mode: OWNER_ONLY, flag: 'wx', flush: true })
  try {
    linkSync(draft, path)
    syncFolder(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readFileSync(path)
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
