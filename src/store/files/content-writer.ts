import type { FileHandle } from 'node:fs/promises'
import { contentTypeOf, SNIFFED_BYTES } from '../../base/content-type.js'
import { Fault } from '../../base/fault.js'
import type { FileRecord, FileWriter, NewFileDetails } from '../file-store.js'
import { type BlockPool, BlockWriter } from './block-writer.js'
import type { ContentFolder } from './content-folder.js'

/** What a writer needs of the store around it. */
interface ContentWriterPorts {
  readonly contents: ContentFolder
  readonly blocks: BlockPool
  /** Puts the record on the disk. */
  readonly record: (file: FileRecord) => Promise<void>
  readonly unixMs: () => number
}

/** One content on its way to the disk. */
export class ContentWriter implements FileWriter {
  readonly #id: string
  readonly #handle: FileHandle
  readonly #ports: ContentWriterPorts
  readonly #bytes: BlockWriter
  #head: Buffer = Buffer.alloc(0)
  #busy: Promise<unknown> = Promise.resolve()
  #isOver = false
  #isPublished = false

  constructor(id: string, handle: FileHandle, ports: ContentWriterPorts) {
    this.#id = id
    this.#handle = handle
    this.#ports = ports
    this.#bytes = new BlockWriter(ports.blocks, async () => handle)
  }

  write(piece: Uint8Array): void | Promise<void> {
    if (this.#isOver) return Promise.reject(fileAbandoned())
    if (this.#head.length < SNIFFED_BYTES) {
      this.#head = Buffer.concat([this.#head, piece.subarray(0, SNIFFED_BYTES - this.#head.length)])
    }
    return this.#bytes.write(piece)?.catch(failWithDiskFault)
  }

  commit(file: NewFileDetails): Promise<FileRecord> {
    if (this.#isOver) return Promise.reject(fileAbandoned())
    this.#isOver = true
    const done = this.#commit(file).catch(failWithDiskFault)
    this.#busy = done
    return done
  }

  async #commit(file: NewFileDetails): Promise<FileRecord> {
    try {
      await this.#bytes.flush()
      await this.#handle.sync()
    } finally {
      await this.#close()
    }
    await this.#ports.contents.publish(this.#id)
    this.#isPublished = true
    const sizeBytes = this.#bytes.size
    const record: FileRecord = Object.freeze({
      ...file,
      id: this.#id,
      mimeType: contentTypeOf(this.#head, sizeBytes <= SNIFFED_BYTES),
      sizeBytes,
      createdAt: this.#ports.unixMs(),
    })
    await this.#ports.record(record)
    return record
  }

  async abandon(): Promise<void> {
    const wasOver = this.#isOver
    this.#isOver = true
    if (wasOver) await this.#busy.catch(() => {})
    else {
      const closed = this.#close()
      this.#busy = closed
      await closed
    }
    if (!this.#isPublished) await this.#ports.contents.discardIncoming(this.#id)
  }

  async #close(): Promise<void> {
    await this.#bytes.release()
    await this.#handle.close()
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
