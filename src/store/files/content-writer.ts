import { contentTypeOf, SNIFFED_BYTES } from '../../base/content-type.js'
import { Fault } from '../../base/fault.js'
import type { TakeRoom } from '../disk-reserve.js'
import type { FileRecord, FileWriter } from '../file-store.js'
import { type BlockPool, BlockWriter } from './block-writer.js'
import type { ContentFolder } from './content-folder.js'

/** What a writer needs of the store around it. */
interface ContentWriterPorts {
  readonly contents: ContentFolder
  readonly blocks: BlockPool
  /** Puts the record on the disk. */
  readonly record: (file: FileRecord) => Promise<void>
  readonly unixMs: () => number
  readonly takeRoom: TakeRoom
}

/** Writes one content, into a file among those to come that is made when the first block is full. */
export function createContentWriter(
  id: string,
  { contents, blocks, record, unixMs, takeRoom }: ContentWriterPorts,
): FileWriter {
  const bytes = new BlockWriter(blocks, () => contents.createIncoming(id), takeRoom)
  let head = Buffer.alloc(0)
  let busy: Promise<unknown> = Promise.resolve()
  let isOver = false
  let isPublished = false

  const close = async (): Promise<void> => {
    const file = await bytes.release()
    await file?.close()
  }

  const publish = async (): Promise<void> => {
    try {
      const file = await bytes.flush()
      await file.sync()
    } finally {
      await close()
    }
    await contents.publish(id)
    isPublished = true
  }

  return {
    write: (piece) => {
      if (isOver) return Promise.reject(fileAbandoned())
      if (head.length < SNIFFED_BYTES) {
        head = Buffer.concat([head, piece.subarray(0, SNIFFED_BYTES - head.length)])
      }
      return bytes.write(piece)?.catch(failWithDiskFault)
    },
    commit: (details) => {
      if (isOver) return Promise.reject(fileAbandoned())
      isOver = true
      const recorded = publish().then(async () => {
        const sizeBytes = bytes.size
        const mimeType = contentTypeOf(head, sizeBytes <= SNIFFED_BYTES)
        const file = Object.freeze({ ...details, id, mimeType, sizeBytes, createdAt: unixMs() })
        await record(file)
        return file
      })
      const committed = recorded.catch(failWithDiskFault)
      busy = committed
      return committed
    },
    abandon: async () => {
      if (isOver) await busy.catch(() => {})
      else {
        isOver = true
        busy = close()
        await busy
      }
      if (!isPublished) await contents.discardIncoming(id)
    },
  }
}

function fileAbandoned(): Fault {
  return new Fault('unavailable', { detail: 'the file was given up' })
}

/** A full disk, too many open files: the store's way to say no. */
function failWithDiskFault(cause: unknown): never {
  if (cause instanceof Fault) throw cause
  throw new Fault('unavailable', { detail: 'the disk refused a file', cause })
}
