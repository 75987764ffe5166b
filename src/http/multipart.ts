/**
 * Forms with a file (RFC 7578), read while they come. The splitting is our own: the parsers of the registry that
 * stream skip what they cannot read (a preamble of any length, header lines, nameless parts), so that a second scan
 * had to stand in front of them, and both together with their copies took five times as long as the reading.
 */
import { isUtf8 } from 'node:buffer'
import { Fault } from '../base/fault.js'
import type { IncomingBody } from '../transport/exchange.js'
import {
  boundaryOf,
  multipartFault,
  type PartHeader,
  type PartHeaderLines,
  readPartHeader,
} from './multipart/part-header.js'
import { MultipartSplitter, type PartListener } from './multipart/splitter.js'

export type { PartHeader }

export interface MultipartLimits {
  readonly fileBytes: number
  /** Most parts, the file included; 64 when absent. */
  readonly parts?: number
}

/** Most bytes of one field's value. */
const FIELD_BYTES = 64 * 1024

/** Where the bytes of a file go. */
export interface UploadSink {
  /**
   * Takes all of a piece, which is borrowed for the call. While its promise is open the sender is held back; what is
   * on its way already still comes.
   */
  write(piece: Buffer): void | Promise<void>
  /** The file is complete; more fields may follow. */
  end(): void
}

interface MultipartHandlers {
  /** A part that is no file, complete. May throw. */
  onField(name: string, value: string): void
  /** The one file begins. May throw, or reject, to refuse it. */
  onFile(header: PartHeader): UploadSink | Promise<UploadSink>
}

/**
 * Reads a whole form. Resolves when the body has ended well and the sink has taken everything; whether there was a
 * file at all is for the handlers to know. Fails with `invalid-input` when the form is broken or beyond a limit, with
 * `payload-too-large` when the file is, with `bad-request` when the rest of the body will not come, and with whatever
 * a handler throws; the sink hears nothing more then.
 */
export async function readMultipart(
  body: IncomingBody,
  contentType: string,
  limits: MultipartLimits,
  handlers: MultipartHandlers,
): Promise<void> {
  const boundary = boundaryOf(contentType)
  if (boundary === null) throw multipartFault('must be sent as multipart/form-data with a boundary')
  await readParts(body, new FormParts(boundary, limits, handlers))
}

const NOTHING = Buffer.alloc(0)

/** Hands the bytes of a body on to its parts, and holds the sender back while a handler is busy. */
function readParts(body: IncomingBody, parts: FormParts): Promise<void> {
  return new Promise((resolve, reject) => {
    let lagging = false
    let ended = false
    let closed = false
    const fail = (error: unknown): void => {
      closed = true
      reject(error)
    }
    const consume = (piece: Buffer, owned: boolean): void => {
      try {
        const rest = parts.push(piece)
        const { opening, lag } = parts
        if (opening !== null) {
          body.pause()
          void continueWhenOpen(opening, owned ? rest : Buffer.from(rest))
        } else if (lag !== null && !lagging) {
          lagging = true
          body.throttle()
          void waitForSink()
        }
      } catch (error) {
        fail(error)
      }
    }
    /** Nothing is read while a file is opened, and nothing has to be: it is a moment. */
    const continueWhenOpen = async (opening: Promise<void>, rest: Buffer): Promise<void> => {
      await opening.catch(fail)
      if (closed) return
      consume(rest, true)
      if (!closed && !lagging) body.resume()
    }
    const waitForSink = async (): Promise<void> => {
      try {
        for (let { lag } = parts; lag !== null; lag = parts.lag) {
          await lag
          parts.caughtUp(lag)
        }
      } catch (error) {
        fail(error)
      }
      lagging = false
      if (closed) return
      body.resume()
      finish()
    }
    const finish = (): void => {
      if (closed || !ended || lagging) return
      if (parts.closed) resolve()
      else fail(multipartFault('ends before its closing boundary'))
    }
    body.read({
      onData: (piece, owned) => {
        if (!closed) consume(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength), owned)
      },
      onEnd: () => {
        ended = true
        finish()
      },
      onFailure: () => fail(new Fault('bad-request', { detail: 'the body ended early' })),
    })
  })
}

/** What the splitter finds, as fields and a file. */
class FormParts implements PartListener {
  readonly #splitter: MultipartSplitter
  readonly #fileBytes: number
  readonly #handlers: MultipartHandlers
  #opening: Promise<void> | null = null
  #lag: Promise<void> | null = null
  /** Of the part under way. */
  #name = ''
  #sink: UploadSink | null = null
  #pieces: Buffer[] = []
  #bytes = 0
  #files = 0

  constructor(boundary: string, { fileBytes, parts = 64 }: MultipartLimits, handlers: MultipartHandlers) {
    this.#splitter = new MultipartSplitter(boundary, parts, this)
    this.#fileBytes = fileBytes
    this.#handlers = handlers
  }

  /** Takes the next bytes, borrowed; answers with those that have to come again once the sink is open. */
  push(piece: Buffer): Buffer {
    return piece.length === 0 ? NOTHING : this.#splitter.push(piece)
  }

  get closed(): boolean {
    return this.#splitter.closed
  }

  /** The sink is not there yet: the bytes have to wait. */
  get opening(): Promise<void> | null {
    return this.#opening
  }

  /** The sink has more than it likes: the sender should wait. */
  get lag(): Promise<void> | null {
    return this.#lag
  }

  caughtUp(lag: Promise<void>): void {
    if (this.#lag === lag) this.#lag = null
  }

  // ── The splitter ──────────────────────────────────────────────────────────

  get busy(): boolean {
    return this.#opening !== null
  }

  onPartBegin(raw: PartHeaderLines): void {
    const header = readPartHeader(raw)
    this.#name = header.name
    this.#bytes = 0
    if (isFile(header)) this.#beginFile(header)
  }

  onPartData(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#sink !== null) this.#writeToFile(this.#sink, bytes)
    else this.#addToField(bytes)
  }

  onPartEnd(): void {
    if (this.#sink !== null) {
      this.#sink.end()
      this.#sink = null
      return
    }
    const value = Buffer.concat(this.#pieces)
    this.#pieces = []
    if (!isUtf8(value)) throw multipartFault('has a field that is not UTF-8')
    this.#handlers.onField(this.#name, value.toString())
  }

  #beginFile(header: PartHeader): void {
    if (++this.#files > 1) throw multipartFault('must hold one file')
    const sink = this.#handlers.onFile(header)
    if ('write' in sink) this.#sink = sink
    else {
      this.#opening = sink.then((opened) => {
        this.#sink = opened
        this.#opening = null
      })
    }
  }

  #writeToFile(sink: UploadSink, bytes: Buffer): void {
    if (this.#bytes > this.#fileBytes) throw new Fault('payload-too-large')
    const lag = sink.write(bytes)
    if (lag === undefined) return
    // Of several the last one counts: what was written before it is taken with it.
    lag.catch(() => {})
    this.#lag = lag
  }

  #addToField(bytes: Buffer): void {
    if (this.#bytes > FIELD_BYTES) throw multipartFault(`has a field of more than ${FIELD_BYTES} bytes`)
    this.#pieces.push(Buffer.from(bytes))
  }
}

/** A part that names a file, or that is bytes without a meaning. */
function isFile({ filename, contentType }: PartHeader): boolean {
  return filename !== null || contentType === 'application/octet-stream'
}

/** The fields of a multipart form that are no files, by name, in order of arrival. */
export class MultipartFields {
  readonly #values = new Map<string, string[]>()

  add(name: string, value: string): void {
    const values = this.#values.get(name)
    if (values === undefined) this.#values.set(name, [value])
    else values.push(value)
  }

  get names(): readonly string[] {
    return [...this.#values.keys()]
  }

  /** The value of a field, undefined when absent. Throws when it came more than once. */
  single(name: string): string | undefined {
    const values = this.#values.get(name) ?? []
    if (values.length > 1) throw multipartFault('must come once', name)
    return values[0]
  }

  /**
   * The values of a list (contract/decisions 28): its parts may repeat, carry brackets or not (`name`, `name[]`), and
   * a part with commas is split on them. Empty when there is none; empty pieces and outer spaces go.
   */
  list(name: string): string[] {
    return [...(this.#values.get(name) ?? []), ...(this.#values.get(`${name}[]`) ?? [])]
      .flatMap((value) => value.split(','))
      .map((value) => value.trim())
      .filter((value) => value !== '')
  }
}
