import { type FileHandle, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../base/fault.js'
import { NO_LIMITS, type TakeRoom } from '../disk-reserve.js'
import type { Spool, SpooledBytes, SpoolWriter } from '../spool.js'
import { BlockPool, BlockWriter, openNewFile } from './block-writer.js'
import { createContentReader } from './content-reader.js'

/**
 * A spool in `spool/` of the folder of the store; what fits into a block stays in memory. A file has no name any more
 * as soon as it is open, so nothing stays behind, however the process ends.
 */
export function fileSpool(dataDir: string, takeRoom: TakeRoom = NO_LIMITS.takeRoom): Spool {
  const folder = join(dataDir, 'spool')
  const blocks = new BlockPool()
  let last = 0
  const openUnlinked = async (): Promise<FileHandle> => {
    const name = `${process.pid}-${++last}`
    const file = await openNewFile(folder, name, 'wx+')
    await unlink(join(folder, name))
    return file
  }
  return { beginWrite: () => createSpoolWriter(new BlockWriter(blocks, openUnlinked, takeRoom)) }
}

function createSpoolWriter(bytes: BlockWriter): SpoolWriter {
  let isOver = false
  const abandon = (): void => {
    if (isOver) return
    isOver = true
    void bytes.release().then((file) => file?.close().catch(() => {}))
  }
  return {
    write: (piece) => (isOver ? undefined : bytes.write(piece)?.catch(failWithSpoolFault)),
    finish: async () => {
      const few = bytes.bytesInMemory()
      if (few !== null) {
        abandon()
        return bytesInMemory(few)
      }
      const { size } = bytes
      const file = await bytes.flush().catch(failWithSpoolFault)
      // The caller may have left meanwhile, and given the file up.
      if (isOver) throw new Fault('unavailable', { detail: 'the spool was given up' })
      isOver = true
      await bytes.release()
      return bytesOnDisk(file, size)
    },
    abandon,
  }
}

function failWithSpoolFault(cause: unknown): never {
  if (cause instanceof Fault) throw cause
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
      const reader = createContentReader(file, 0, size)
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
