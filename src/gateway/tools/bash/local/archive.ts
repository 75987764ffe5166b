/**
 * Containers at rest are archives of the tar format (POSIX ustar, with GNU's long names): what commands have made is
 * never unpacked out here, so no link, device or name of theirs means anything to this machine.
 */
import { crc32 } from 'node:zlib'

/** A regular file of an archive. */
export interface ArchivedFile {
  /** Below the working directory. */
  readonly path: string
  readonly sizeBytes: number
  /** Unix time in seconds. */
  readonly modifiedAt: number
  readonly checksum: number
  /** Of its first byte, from the beginning of the archive. */
  readonly offset: number
}

const BLOCK = 512
/** Names of a whole archive, in bytes: they are remembered for as long as the container. */
const MOST_NAMES = 512 * 1024
const LONGEST_NAME = 4096
const FOLDER = 'work/'
/** Types of the header, at 156. */
const [REGULAR, OLD_REGULAR, LONG_NAME] = [0x30, 0, 0x4c]

/** Reads the headers of an archive that passes in pieces. `push` throws on what is no archive, or too much of one. */
export class ArchiveScanner {
  readonly files = new Map<string, ArchivedFile>()
  readonly #block = Buffer.alloc(BLOCK)
  #filled = 0
  #offset: number
  #names = 0
  /** Bytes of contents that are still to come, and after them those that fill the block. */
  #content = 0
  #padding = 0
  #file: { path: string; sizeBytes: number; modifiedAt: number; checksum: number; offset: number } | null =
    null
  #longName: Buffer[] | null = null
  #nextName: string | null = null

  /** @param offset where in the file the archive begins */
  constructor(offset = 0) {
    this.#offset = offset
  }

  push(piece: Buffer): void {
    let at = 0
    while (at < piece.length) {
      const rest = piece.length - at
      let taken: number
      if (this.#content > 0) taken = this.#takeContent(piece.subarray(at, at + Math.min(rest, this.#content)))
      else if (this.#padding > 0) {
        taken = Math.min(rest, this.#padding)
        this.#padding -= taken
      } else {
        taken = piece.copy(this.#block, this.#filled, at, at + BLOCK - this.#filled)
        this.#filled += taken
      }
      at += taken
      this.#offset += taken
      if (this.#filled === BLOCK) {
        this.#filled = 0
        this.#readHeader()
      }
    }
  }

  #takeContent(content: Buffer): number {
    if (this.#file !== null) this.#file.checksum = crc32(content, this.#file.checksum)
    this.#longName?.push(Buffer.from(content))
    this.#content -= content.length
    if (this.#content === 0) this.#endContent()
    return content.length
  }

  #endContent(): void {
    if (this.#longName !== null) {
      this.#nextName = textOf(Buffer.concat(this.#longName), 0, LONGEST_NAME)
      this.#longName = null
    }
    if (this.#file !== null) this.files.set(this.#file.path, this.#file)
    this.#file = null
  }

  #readHeader(): void {
    const block = this.#block
    if (block.every((byte) => byte === 0)) return
    const type = block[156]!
    const sizeBytes = octal(block, 124, 12)
    this.#content = sizeBytes
    this.#padding = (BLOCK - (sizeBytes % BLOCK)) % BLOCK
    if (type === LONG_NAME) {
      if (sizeBytes > LONGEST_NAME) throw new Error('a name in the archive is too long')
      this.#longName = []
      return
    }
    const name = this.#nextName ?? textOf(block, 0, 100)
    this.#nextName = null
    if ((type !== REGULAR && type !== OLD_REGULAR) || !name.startsWith(FOLDER)) return
    this.#names += name.length
    if (this.#names > MOST_NAMES) throw new Error('the archive has too many names')
    const path = name.slice(FOLDER.length)
    this.#file = { path, sizeBytes, modifiedAt: octal(block, 136, 12), checksum: 0, offset: this.#offset }
    if (sizeBytes === 0) this.#endContent()
  }
}

/** Up to the first zero byte. */
function textOf(bytes: Buffer, from: number, length: number): string {
  const field = bytes.subarray(from, from + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end === -1 ? field.length : end)
}

function octal(block: Buffer, from: number, length: number): number {
  const text = block.toString('latin1', from, from + length).replace(/[\0 ]+$/, '')
  if (!/^[0-7]{1,11}$/.test(text)) throw new Error('a figure of the archive is no octal number')
  return Number.parseInt(text, 8)
}

/** A regular file as a part of an archive, to be put before or behind others. */
export function archivedFile(path: string, bytes: Uint8Array, modifiedAt: number): Buffer {
  const name = Buffer.from(FOLDER + path)
  const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)
  const parts = [
    header(name.subarray(0, 100), bytes.length, modifiedAt, REGULAR),
    Buffer.from(bytes),
    padding,
  ]
  if (name.length > 100) {
    const filled = Buffer.alloc(Math.ceil((name.length + 1) / BLOCK) * BLOCK)
    name.copy(filled)
    parts.unshift(header(Buffer.from('././@LongLink'), name.length + 1, 0, LONG_NAME), filled)
  }
  return Buffer.concat(parts)
}

function header(name: Uint8Array, size: number, modifiedAt: number, type: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  const digits = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`
  block.set(name, 0)
  block.write(digits(0o644, 8), 100)
  block.write(digits(0, 8), 108)
  block.write(digits(0, 8), 116)
  block.write(digits(size, 12), 124)
  block.write(digits(Math.floor(modifiedAt), 12), 136)
  block.write(' '.repeat(8), 148)
  block[156] = type
  block.write('ustar  \0', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}
