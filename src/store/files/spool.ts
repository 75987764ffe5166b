import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../base/fault.js'
import type { Spool, Spooled, SpoolWriting } from '../spool.js'

/** What fits into this stays in memory. */
const MEMORY_BYTES = 256 * 1024
const PIECE_BYTES = 256 * 1024

/**
 * A spool in `spool/` of the folder of the store. A file has no name any more as soon as it is open, so whatever
 * becomes of the process, nothing stays behind.
 */
export function fileSpool(dataDir: string): Spool {
  const folder = join(dataDir, 'spool')
  let last = 0
  return { begin: () => new Writing(folder, `${process.pid}-${++last}`) }
}

class Writing implements SpoolWriting {
  readonly #folder: string
  readonly #name: string
  #pieces: Uint8Array[] = []
  #size = 0
  #file: FileHandle | null = null
  #abandoned = false

  constructor(folder: string, name: string) {
    this.#folder = folder
    this.#name = name
  }

  write(piece: Uint8Array): void | Promise<void> {
    this.#size += piece.byteLength
    if (this.#file !== null) return this.#append(piece)
    this.#pieces.push(piece)
    if (this.#size > MEMORY_BYTES) return this.#toDisk()
  }

  async #toDisk(): Promise<void> {
    try {
      const file = await opened(this.#folder, this.#name)
      if (this.#abandoned) {
        await file.close()
        return
      }
      this.#file = file
      const kept = Buffer.concat(this.#pieces)
      this.#pieces = []
      await file.appendFile(kept)
    } catch (cause) {
      throw new Fault('unavailable', { detail: 'the spool cannot be written', cause })
    }
  }

  async #append(piece: Uint8Array): Promise<void> {
    try {
      await this.#file?.appendFile(piece)
    } catch (cause) {
      throw new Fault('unavailable', { detail: 'the spool cannot be written', cause })
    }
  }

  async finish(): Promise<Spooled> {
    const file = this.#file
    this.#file = null
    return file === null ? new InMemory(Buffer.concat(this.#pieces)) : new OnDisk(file, this.#size)
  }

  abandon(): void {
    this.#abandoned = true
    this.#pieces = []
    void this.#file?.close().catch(() => {})
    this.#file = null
  }
}

async function opened(folder: string, name: string): Promise<FileHandle> {
  const path = join(folder, name)
  const file = await open(path, 'wx+', 0o600).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true })
    return open(path, 'wx+', 0o600)
  })
  await unlink(path)
  return file
}

class InMemory implements Spooled {
  readonly size: number
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.size = bytes.byteLength
    this.#bytes = bytes
  }

  async *read(): AsyncGenerator<Uint8Array> {
    if (this.size > 0) yield this.#bytes
  }

  discard(): void {}
}

class OnDisk implements Spooled {
  readonly size: number
  readonly #file: FileHandle
  #discarded = false

  constructor(file: FileHandle, size: number) {
    this.#file = file
    this.size = size
  }

  async *read(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < this.size; ) {
      // Each piece has a buffer of its own: whoever takes it may keep it until it is sent.
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.size - at))
      const { bytesRead } = await this.#file.read(piece, 0, piece.byteLength, at)
      if (bytesRead === 0) throw new Fault('internal', { detail: 'a spooled file is shorter than it was' })
      at += bytesRead
      yield bytesRead === piece.byteLength ? piece : piece.subarray(0, bytesRead)
    }
  }

  discard(): void {
    if (this.#discarded) return
    this.#discarded = true
    void this.#file.close().catch(() => {})
  }
}
