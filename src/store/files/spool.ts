import { type FileHandle, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../base/fault.js'
import type { Spool, SpooledBytes, SpoolWriter } from '../spool.js'
import { BlockPool, BlockWriter, openNewFile } from './block-writer.js'
import { ContentReader } from './content-reader.js'

/**
 * A spool in `spool/` of the folder of the store; what fits into a block stays in memory. A file has no name any more
 * as soon as it is open, so whatever becomes of the process, nothing stays behind.
 */
export function fileSpool(dataDir: string): Spool {
  const folder = join(dataDir, 'spool')
  const blocks = new BlockPool()
  let last = 0
  const openUnlinked = async (): Promise<FileHandle> => {
    const name = `${process.pid}-${++last}`
    const file = await openNewFile(folder, name, 'wx+')
    await unlink(join(folder, name))
    return file
  }
  return { beginWrite: () => new FileSpoolWriter(new BlockWriter(blocks, openUnlinked)) }
}

class FileSpoolWriter implements SpoolWriter {
  readonly #bytes: BlockWriter
  #isOver = false

  constructor(bytes: BlockWriter) {
    this.#bytes = bytes
  }

  write(piece: Uint8Array): void | Promise<void> {
    if (!this.#isOver) return this.#bytes.write(piece)?.catch(failWithSpoolFault)
  }

  async finish(): Promise<SpooledBytes> {
    const few = this.#bytes.bytesInMemory()
    if (few !== null) {
      this.abandon()
      return bytesInMemory(few)
    }
    const { size } = this.#bytes
    const file = await this.#bytes.flush().catch(failWithSpoolFault)
    // The caller may have left meanwhile, and given the file up.
    if (this.#isOver) throw new Fault('unavailable', { detail: 'the spool was given up' })
    this.#isOver = true
    await this.#bytes.release()
    return bytesOnDisk(file, size)
  }

  abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    void this.#bytes.release().then((file) => file?.close().catch(() => {}))
  }
}

function failWithSpoolFault(cause: unknown): never {
  throw new Fault('unavailable', { detail: 'the spool cannot be written', cause })
}

function bytesInMemory(bytes: Uint8Array): SpooledBytes {
  const read = async function* (): AsyncGenerator<Uint8Array> {
    if (bytes.byteLength > 0) yield bytes
  }
  return { size: bytes.byteLength, read, discard: () => {} }
}

function bytesOnDisk(file: FileHandle, size: number): SpooledBytes {
  let isDiscarded = false
  return {
    size,
    read: async function* () {
      const reader = new ContentReader(file, 0, size)
      for (let at = 0; at < size; ) {
        const piece = await reader.read()
        if (piece.byteLength === 0) {
          throw new Fault('internal', { detail: 'a spooled file is shorter than it was' })
        }
        at += piece.byteLength
        yield piece
      }
    },
    discard: () => {
      if (isDiscarded) return
      isDiscarded = true
      void file.close().catch(() => {})
    },
  }
}
