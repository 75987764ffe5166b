/**
 * Forms with a file (RFC 7578), read while they come. The splitting is our own: the parsers of the registry that
 * stream skip what they cannot read (a preamble of any length, header lines, nameless parts), so that a second scan
 * had to stand in front of them, and both together with their copies took five times as long as the reading.
 */
import { isUtf8 } from 'node:buffer'
import { Fault } from '../base/fault.js'
import type { BodyReader, IncomingBody } from '../transport/exchange.js'
import { boundaryOf } from './multipart/boundary.js'
import { type PartHeader, type RawHeader, readPartHeader } from './multipart/part-header.js'
import { refused } from './multipart/refusal.js'
import { type PartEars, Splitter } from './multipart/splitter.js'

export { FormFields } from './multipart/form-fields.js'
export type { PartHeader }

export interface MultipartLimits {
  /** Parts, the file included. */
  readonly parts: number
  /** Bytes of a part's header. */
  readonly headerBytes: number
  /** Bytes of one field's value. */
  readonly fieldBytes: number
  /** Bytes of the file. */
  readonly fileBytes: number
}

export const FORM_LIMITS = { parts: 64, headerBytes: 8 * 1024, fieldBytes: 64 * 1024 } as const

/** Where the bytes of a file go. */
export interface FileSink {
  /** Takes all of a piece, which is borrowed for the call. While its promise is open nothing more is read. */
  write(piece: Buffer): void | Promise<void>
  /** The file is complete; more fields may follow. */
  end(): void | Promise<void>
}

export interface MultipartHandlers {
  /** A part that is no file, complete. May throw. */
  field(name: string, value: string): void
  /** The one file begins. May throw, or reject, to refuse it. */
  file(header: PartHeader): FileSink | Promise<FileSink>
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
  if (boundary === null) throw refused('must be sent as multipart/form-data with a boundary')
  await new Promise<void>((resolve, reject) => {
    body.read(new FormReader(body, new Parts(boundary, limits, handlers), resolve, reject))
  })
}

const NOTHING = Buffer.alloc(0)

/** Between the body and its parts: hands bytes on, and holds the sender back while a handler is busy. */
class FormReader implements BodyReader {
  readonly #body: IncomingBody
  readonly #parts: Parts
  readonly #resolve: () => void
  readonly #reject: (error: unknown) => void
  #over = false

  constructor(body: IncomingBody, parts: Parts, resolve: () => void, reject: (error: unknown) => void) {
    this.#body = body
    this.#parts = parts
    this.#resolve = resolve
    this.#reject = reject
  }

  data(piece: Uint8Array, own: boolean): void {
    if (!this.#over) this.#take(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength), own)
  }

  /** Nothing is waited for here: a body that is held back does not end. */
  end(): void {
    if (this.#over) return
    if (!this.#parts.closed) this.#fail(refused('ends before its closing boundary'))
    else {
      this.#over = true
      this.#resolve()
    }
  }

  failed(): void {
    this.#fail(new Fault('bad-request', { detail: 'the body ended early' }))
  }

  #take(piece: Buffer, own: boolean): void {
    try {
      const rest = this.#parts.take(piece)
      const { waiting } = this.#parts
      if (waiting === null) return
      this.#body.pause()
      void this.#goOn(waiting, own || rest.length === 0 ? rest : Buffer.from(rest))
    } catch (error) {
      this.#fail(error)
    }
  }

  async #goOn(waiting: Promise<void>, rest: Buffer): Promise<void> {
    try {
      await waiting
    } catch (error) {
      this.#fail(error)
    }
    if (this.#over) return
    this.#parts.waited()
    this.#take(rest, true)
    if (this.#parts.waiting === null && !this.#over) this.#body.resume()
  }

  #fail(error: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#reject(error)
  }
}

/** What the splitter finds, as fields and a file. */
class Parts implements PartEars {
  readonly #splitter: Splitter
  readonly #limits: MultipartLimits
  readonly #handlers: MultipartHandlers
  #waiting: Promise<void> | null = null
  /** Of the part under way. */
  #name = ''
  #sink: FileSink | null = null
  #pieces: Buffer[] = []
  #bytes = 0
  #files = 0

  constructor(boundary: string, limits: MultipartLimits, handlers: MultipartHandlers) {
    this.#splitter = new Splitter(boundary, limits, this)
    this.#limits = limits
    this.#handlers = handlers
  }

  /** Takes the next bytes, borrowed; answers with those that have to come again once `waiting` is over. */
  take(piece: Buffer): Buffer {
    return piece.length === 0 ? NOTHING : this.#splitter.take(piece)
  }

  get closed(): boolean {
    return this.#splitter.closed
  }

  /** What a handler is busy with. */
  get waiting(): Promise<void> | null {
    return this.#waiting
  }

  waited(): void {
    this.#waiting = null
  }

  // ── The splitter ──────────────────────────────────────────────────────────

  get busy(): boolean {
    return this.#waiting !== null
  }

  begun(raw: RawHeader): void {
    const header = readPartHeader(raw)
    this.#name = header.name
    this.#bytes = 0
    if (isFile(header)) this.#beginFile(header)
  }

  content(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#sink !== null) this.#ofFile(this.#sink, bytes)
    else this.#ofField(bytes)
  }

  ended(): void {
    if (this.#sink !== null) {
      this.#waiting = this.#sink.end() ?? null
      this.#sink = null
      return
    }
    const value = Buffer.concat(this.#pieces)
    this.#pieces = []
    if (!isUtf8(value)) throw refused('has a field that is not UTF-8')
    this.#handlers.field(this.#name, value.toString())
  }

  #beginFile(header: PartHeader): void {
    if (++this.#files > 1) throw refused('must hold one file')
    const sink = this.#handlers.file(header)
    if ('write' in sink) this.#sink = sink
    else {
      this.#waiting = sink.then((opened) => {
        this.#sink = opened
      })
    }
  }

  #ofFile(sink: FileSink, bytes: Buffer): void {
    if (this.#bytes > this.#limits.fileBytes) throw new Fault('payload-too-large')
    this.#waiting = sink.write(bytes) ?? null
  }

  #ofField(bytes: Buffer): void {
    const { fieldBytes } = this.#limits
    if (this.#bytes > fieldBytes) throw refused(`has a field of more than ${fieldBytes} bytes`)
    this.#pieces.push(Buffer.from(bytes))
  }
}

/** A part that names a file, or that is bytes without a meaning. */
function isFile({ filename, contentType }: PartHeader): boolean {
  return filename !== null || contentType === 'application/octet-stream'
}
