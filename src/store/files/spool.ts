import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../base/fault.js'
import type { Spool, SpooledBytes, SpoolWriter } from '../spool.js'
import { BlockPool, BlockWriter } from './block-writer.js'
import { ContentReader } from './content-reader.js'

/**
 * A spool in `spool/` of the folder of the store; what fits into a block stays in memory. A file has no name any more
 * as soon as it is open, so whatever becomes of the process, nothing stays behind.
 */
export function fileSpool(dataDir: string): Spool {
  const folder = join(dataDir, 'spool')
  const blocks = new BlockPool()
  let last = 0
  return {
    beginWrite: () =>
      new FileSpoolWriter(new BlockWriter(blocks, () => openUnlinked(folder, `${process.pid}-${++last}`))),
  }
}

class FileSpoolWriter implements SpoolWriter {
  readonly #bytes: BlockWriter
  #over = false

  constructor(bytes: BlockWriter) {
    this.#bytes = bytes
  }

  write(piece: Uint8Array): void | Promise<void> {
    if (!this.#over) return this.#bytes.write(piece)?.catch(failWithSpoolFault)
  }

  async finish(): Promise<SpooledBytes> {
    const few = this.#bytes.bytesInMemory()
    if (few !== null) {
      this.abandon()
      return new MemorySpooledBytes(few)
    }
    const { size } = this.#bytes
    const file = await this.#bytes.flush().catch(failWithSpoolFault)
    // Whoever left meanwhile has given the file up.
    if (this.#over) throw new Fault('unavailable', { detail: 'the spool was given up' })
    this.#over = true
    await this.#bytes.release()
    return new DiskSpooledBytes(file, size)
  }

  abandon(): void {
    if (this.#over) return
    this.#over = true
    void this.#bytes.release().then((file) => file?.close().catch(() => {}))
  }
}

function failWithSpoolFault(cause: unknown): never {
  throw new Fault('unavailable', { detail: 'the spool cannot be written', cause })
}

async function openUnlinked(folder: string, name: string): Promise<FileHandle> {
  const path = join(folder, name)
  const file = await open(path, 'wx+', 0o600).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true })
    return open(path, 'wx+', 0o600)
  })
  await unlink(path)
  return file
}

class MemorySpooledBytes implements SpooledBytes {
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

class DiskSpooledBytes implements SpooledBytes {
  readonly size: number
  readonly #file: FileHandle
  #discarded = false

  constructor(file: FileHandle, size: number) {
    this.#file = file
    this.size = size
  }

  async *read(): AsyncGenerator<Uint8Array> {
    const reading = new ContentReader(this.#file, 0, this.size)
    for (let at = 0; at < this.size; ) {
      const piece = await reading.read()
      if (piece.byteLength === 0)
        throw new Fault('internal', { detail: 'a spooled file is shorter than it was' })
      at += piece.byteLength
      yield piece
    }
  }

  discard(): void {
    if (this.#discarded) return
    this.#discarded = true
    void this.#file.close().catch(() => {})
  }
}
