/** Audio that a caller names by its address, for providers that take files alone (contract/gateway 6.1). */
import type { Cancellation } from '../../base/cancellation.js'
import { Fault, invalidInput } from '../../base/fault.js'
import type { FetchFile } from '../../base/file-fetch.js'
import type { Principal } from '../../base/principal.js'
import type { AudioFile, LinkedAudio } from '../../gateway/formats/audio.js'
import type { Spool, SpooledBytes } from '../../store/spool.js'
import { formatMismatch } from './audio-file.js'

interface FetchedAudioParts {
  readonly url: string
  readonly format: string
  /** The member of the body that holds the address. */
  readonly field: readonly string[]
  readonly caller: Principal
  readonly cancellation: Cancellation
  /** `performance.now()` */
  readonly deadlineAt: number
  readonly ports: { readonly spool: Spool; readonly fileBytes: number; readonly fetchFile: FetchFile }
}

/** A minute is long for a file that a call waits for. */
const LONGEST_FETCH_MS = 60_000
const HEAD_BYTES = 16

export class FetchedAudio implements LinkedAudio {
  readonly kind = 'url'
  readonly url: string
  readonly format: string
  file: AudioFile | null = null
  readonly #parts: FetchedAudioParts
  #fetched: Promise<AudioFile> | null = null
  #bytes: SpooledBytes | null = null
  #isDiscarded = false

  constructor(parts: FetchedAudioParts) {
    this.url = parts.url
    this.format = parts.format
    this.#parts = parts
  }

  fetch(): Promise<AudioFile> {
    this.#fetched ??= this.#fetch()
    return this.#fetched
  }

  /** Gives the place of the bytes back, also of those that come later. */
  discard(): void {
    this.#isDiscarded = true
    this.#bytes?.discard()
  }

  async #fetch(): Promise<AudioFile> {
    const { ports, cancellation, deadlineAt, caller } = this.#parts
    const writer = ports.spool.beginWrite()
    const head = new FileHead()
    try {
      const outcome = await ports.fetchFile({
        url: this.url,
        sink: {
          write: (piece) => {
            head.take(piece)
            return writer.write(piece)
          },
        },
        maxBytes: ports.fileBytes,
        timeoutMs: Math.min(LONGEST_FETCH_MS, deadlineAt - performance.now()),
        organizationId: caller.organizationId,
        caller: cancellation,
      })
      if (!outcome.ok && outcome.isBusy)
        throw new Fault('unavailable', { note: outcome.reason, retryAfter: 1 })
      if (!outcome.ok) this.#fail(outcome.reason, outcome.detail)
      this.#check(head.bytes)
      this.#bytes = await writer.finish()
    } catch (error) {
      writer.abandon()
      throw error
    }
    if (this.#isDiscarded) this.#bytes.discard()
    const { format } = this
    this.file = { kind: 'bytes', format, filename: `audio.${format}`, bytes: this.#bytes }
    return this.file
  }

  #check(head: Uint8Array): void {
    if (head.byteLength === 0) this.#fail('the file is empty')
    const mismatch = formatMismatch(this.format, head)
    if (mismatch !== null) this.#fail(`the file ${mismatch}`)
  }

  #fail(reason: string, detail?: string): never {
    const { issues } = invalidInput(['body', ...this.#parts.field], `cannot be used: ${reason}`)
    throw new Fault('invalid-input', { issues, ...(detail !== undefined && { detail }) })
  }
}

/** The first bytes of a file, which tell what it is. */
class FileHead {
  #taken = Buffer.alloc(0)

  get bytes(): Uint8Array {
    return this.#taken
  }

  take(piece: Uint8Array): void {
    if (this.#taken.byteLength === HEAD_BYTES) return
    this.#taken = Buffer.concat([this.#taken, piece]).subarray(0, HEAD_BYTES)
  }
}
