import type { FileHandle } from 'node:fs/promises'
import { Fault } from '../../base/fault.js'
import type { FileRecord, FileWriting, NewFile } from '../file-store.js'
import type { ContentFolder } from './content-folder.js'
import { contentTypeOf, SNIFFED_BYTES } from './content-type.js'

/** What a writing needs of the store around it. */
export interface WritingPorts {
  readonly contents: ContentFolder
  /** Puts the record on the disk. */
  readonly record: (file: FileRecord) => Promise<void>
  readonly unixMs: () => number
}

/** One content on its way to the disk. */
export class ContentWriting implements FileWriting {
  readonly #id: string
  readonly #handle: FileHandle
  readonly #ports: WritingPorts
  #head: Buffer = Buffer.alloc(0)
  #size = 0
  #busy: Promise<unknown> = Promise.resolve()
  #over = false
  #settled = false

  constructor(id: string, handle: FileHandle, ports: WritingPorts) {
    this.#id = id
    this.#handle = handle
    this.#ports = ports
  }

  write(piece: Uint8Array): Promise<void> {
    return this.#do(async () => {
      const at = this.#size
      this.#size += piece.byteLength
      if (this.#head.length < SNIFFED_BYTES) {
        this.#head = Buffer.concat([this.#head, piece.subarray(0, SNIFFED_BYTES - this.#head.length)])
      }
      await writeWhole(this.#handle, piece, at)
    })
  }

  commit(file: NewFile): Promise<FileRecord> {
    return this.#do(async () => {
      this.#over = true
      await this.#handle.sync()
      await this.#handle.close()
      await this.#ports.contents.settle(this.#id)
      this.#settled = true
      const record = this.#recordOf(file)
      await this.#ports.record(record)
      return record
    })
  }

  async abandon(): Promise<void> {
    const wasOver = this.#over
    this.#over = true
    await this.#busy.catch(() => {})
    if (!wasOver) await this.#handle.close()
    if (!this.#settled) await this.#ports.contents.discard(this.#id)
  }

  #recordOf({ organizationId, workspaceId, filename, origin, purpose }: NewFile): FileRecord {
    return Object.freeze({
      id: this.#id,
      organizationId,
      workspaceId,
      filename,
      mimeType: contentTypeOf(this.#head, this.#size <= SNIFFED_BYTES),
      sizeBytes: this.#size,
      origin,
      purpose,
      createdAt: this.#ports.unixMs(),
    })
  }

  /** One thing at a time, and nothing once it is over. */
  #do<T>(step: () => Promise<T>): Promise<T> {
    if (this.#over) return Promise.reject(new Fault('unavailable', { detail: 'the file was given up' }))
    const done = step().catch(refused)
    this.#busy = done
    return done
  }
}

/** The disk may take less than it is given. */
async function writeWhole(handle: FileHandle, piece: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < piece.byteLength; ) {
    const { bytesWritten } = await handle.write(piece, done, piece.byteLength - done, position + done)
    done += bytesWritten
  }
}

/** A full disk, too many open files: the store's way to say no. */
function refused(cause: unknown): never {
  if (cause instanceof Fault) throw cause
  throw new Fault('unavailable', { detail: 'the disk refused a file', cause })
}
