/** Who the machine of a data folder is: kept in the folder, because its journals are what makes it that machine. */
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const IDENTITY_FILE = 'machine.json'
const NAME_BYTES = 4
const OWNER_ONLY = 0o600

interface FolderIdentity {
  /** UUID. */
  readonly folder: string
  /** What the machine is called where no setting names it. */
  readonly name: string
}

/**
 * The identity of a folder, made when there is none. The folder must be locked, so that nobody else makes one. Throws
 * with a sentence when the file is not one of ours.
 */
export function folderIdentity(dataDir: string): FolderIdentity {
  const path = join(dataDir, IDENTITY_FILE)
  const text = readIfThere(path)
  if (text !== null) return parseIdentity(path, text)
  const made = { folder: randomUUID(), name: `machine-${randomBytes(NAME_BYTES).toString('hex')}` }
  const draft = `${path}.new`
  writeFileSync(draft, `${JSON.stringify(made)}\n`, { mode: OWNER_ONLY, flush: true })
  renameSync(draft, path)
  return made
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function parseIdentity(path: string, text: string): FolderIdentity {
  try {
    const { folder, name } = JSON.parse(text)
    if (UUID.test(folder) && typeof name === 'string' && name !== '') return { folder, name }
  } catch {
    // Told below.
  }
  throw new Error(
    `${path} does not say which machine's folder this is: put it back, or remove it to begin as another`,
  )
}
