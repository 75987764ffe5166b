/**
 * Forms with a file (RFC 7578), read while they come. The only importer of @fastify/busboy, of which the splitter
 * into parts is used; `multipart/guard.ts` stands in front of it.
 */
import { isUtf8 } from 'node:buffer'
import type { Readable, Writable } from 'node:stream'
import { Dicer } from '@fastify/busboy'
import { Fault } from '../base/fault.js'
import type { IncomingBody } from '../transport/exchange.js'
import { piecesOf } from './body-pieces.js'
import { boundaryOf } from './multipart/boundary.js'
import { MultipartGuard } from './multipart/guard.js'
import { type PartHeader, type RawHeader, readPartHeader } from './multipart/part-header.js'
import { refused } from './multipart/refusal.js'

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
  /** Takes a piece, which is the sink's own from now on. While its promise is open nothing more is read. */
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
 * Bytes of a part that the splitter may have waiting before it stops taking more by itself. Never: where it stops at
 * the end of a part it does not go on (in 3.2.6 only an end that is not the last one wakes it). `feed` waits instead.
 */
const WAITING_BYTES = Number.MAX_SAFE_INTEGER

/**
 * Reads a whole form. Resolves when the body has ended well and the sink has taken everything; whether there was a
 * file at all is for the handlers to know. Fails with `invalid-input` when the form is broken or beyond a limit, with
 * `payload-too-large` when the file is, and with whatever a handler throws; the sink hears nothing more then.
 */
export async function readMultipart(
  body: IncomingBody,
  contentType: string,
  limits: MultipartLimits,
  handlers: MultipartHandlers,
): Promise<void> {
  const boundary = boundaryOf(contentType)
  if (boundary === null) throw refused('must be sent as multipart/form-data with a boundary')
  const guard = new MultipartGuard(boundary, limits)
  const parts = new Parts(boundary, limits, handlers)
  try {
    for await (const piece of piecesOf(body)) {
      const wasClosed = guard.closed
      guard.see(piece)
      // What follows the closing boundary belongs to nobody.
      if (!wasClosed) await parts.feed(piece)
    }
    if (!guard.closed) throw refused('ends before its closing boundary')
    await parts.finished()
  } finally {
    parts.stop()
  }
}

/** The splitter and what it finds. Parts are taken one after the other, whatever it has read ahead. */
class Parts {
  readonly #splitter: Writable
  readonly #limits: MultipartLimits
  readonly #handlers: MultipartHandlers
  /** Settles when every part so far has been taken. */
  #taken: Promise<void> = Promise.resolve()
  /** Rejects as soon as anything fails. */
  readonly #failure: Promise<never>
  #fail: (error: unknown) => void = () => {}
  /** Parts that are not taken to their end. */
  readonly #open = new Set<Readable>()
  #writing = false
  #progressed: () => void = () => {}
  #stopped = false
  #headless = 0
  #files = 0

  constructor(boundary: string, limits: MultipartLimits, handlers: MultipartHandlers) {
    this.#limits = limits
    this.#handlers = handlers
    this.#failure = new Promise((_, reject) => {
      this.#fail = reject
    })
    // Whoever feeds or finishes hears of it; after that nobody has to.
    this.#failure.catch(() => {})
    const { headerBytes } = limits
    this.#splitter = new Dicer({ boundary, maxHeaderSize: 2 * headerBytes, partHwm: WAITING_BYTES } as never)
    this.#splitter.on('part', (part: Readable) => this.#began(part))
    this.#splitter.on('error', (cause) => this.#fail(new Fault('bad-request', { cause })))
  }

  /** Resolves when the handlers have taken what the piece brought: no more than one piece waits in here. */
  async feed(piece: Buffer): Promise<void> {
    const split = new Promise<void>((resolve) => {
      this.#splitter.write(piece, () => resolve())
    })
    await Promise.race([split, this.#failure])
    while (this.#isBehind()) await Promise.race([this.#progress(), this.#failure])
  }

  #isBehind(): boolean {
    if (this.#writing) return true
    for (const part of this.#open) if (part.readableLength > 0) return true
    return false
  }

  #progress(): Promise<void> {
    return new Promise((resolve) => {
      this.#progressed = resolve
    })
  }

  async finished(): Promise<void> {
    // A part begins when its first bytes are there, and all of them are.
    if (this.#headless > 0) throw refused('has a part whose header cannot be read')
    await Promise.race([this.#taken, this.#failure])
  }

  stop(): void {
    this.#stopped = true
    this.#splitter.destroy()
  }

  #began(part: Readable): void {
    this.#headless++
    part.on('error', (cause) => this.#fail(new Fault('bad-request', { cause })))
    part.once('header', (header: RawHeader) => {
      this.#headless--
      this.#open.add(part)
      this.#taken = this.#taken.then(() => this.#take(part, header))
      this.#taken.catch((error) => this.#fail(error))
    })
  }

  async #take(part: Readable, raw: RawHeader): Promise<void> {
    const header = readPartHeader(raw)
    if (isFile(header)) await this.#takeFile(part, header)
    else await this.#takeField(part, header)
    this.#open.delete(part)
    this.#progressed()
  }

  async #takeFile(part: Readable, header: PartHeader): Promise<void> {
    if (++this.#files > 1) throw refused('must hold one file')
    const sink = await this.#handlers.file(header)
    let bytes = 0
    for await (const piece of part as AsyncIterable<Buffer>) {
      if (this.#stopped) return
      bytes += piece.byteLength
      if (bytes > this.#limits.fileBytes) throw new Fault('payload-too-large')
      const taken = sink.write(piece)
      if (taken !== undefined) {
        this.#writing = true
        await taken
        this.#writing = false
      }
      this.#progressed()
    }
    if (!this.#stopped) await sink.end()
  }

  async #takeField(part: Readable, { name }: PartHeader): Promise<void> {
    const { fieldBytes } = this.#limits
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of part as AsyncIterable<Buffer>) {
      bytes += piece.byteLength
      if (bytes > fieldBytes) throw refused(`has a field of more than ${fieldBytes} bytes`)
      pieces.push(piece)
      this.#progressed()
    }
    if (this.#stopped) return
    const value = Buffer.concat(pieces)
    if (!isUtf8(value)) throw refused('has a field that is not UTF-8')
    this.#handlers.field(name, value.toString())
  }
}

/** A part that names a file, or that is bytes without a meaning. */
function isFile({ filename, contentType }: PartHeader): boolean {
  return filename !== null || contentType === 'application/octet-stream'
}
