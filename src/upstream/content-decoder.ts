/** Takes the content coding off a body (RFC 9110 section 8.4.1), piece by piece and within bounds. */
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

/** Takes what a body says. Nothing comes after `onDecodedEnd` or `onUndecodable`, nor after `stop`. */
export interface DecodedReceiver {
  onDecoded(chunk: Uint8Array): void
  onDecodedEnd(): void
  /** `detail` says what is wrong with it, in words for the log. */
  onUndecodable(detail: string): void
}

/** Where the coded pieces come from. */
interface CodedSource {
  pause(): void
  resume(): void
}

/** By the name of the coding; `deflate` may come without the wrapper that the standard asks for. */
const DECOMPRESSORS: Readonly<Record<string, (first: number) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  br: () => createBrotliDecompress(),
  deflate: (first) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw()),
}

const MOST_BYTES = 64 * 1024 * 1024
/** Most bytes that a coded byte may stand for; a short body may be denser. */
const MOST_EXPANSION = 100
const SHORT_BYTES = 1024 * 1024

export function canDecode(coding: string): boolean {
  return Object.hasOwn(DECOMPRESSORS, coding)
}

export class ContentDecoder {
  readonly #coding: string
  readonly #receiver: DecodedReceiver
  readonly #source: CodedSource
  #stream: Transform | null = null
  #coded = 0
  #decoded = 0
  #paused = false
  /** The decompressor has enough for now. */
  #full = false
  #stopped = false

  /** `coding`: one that `canDecode` knows. */
  constructor(coding: string, receiver: DecodedReceiver, source: CodedSource) {
    this.#coding = coding
    this.#receiver = receiver
    this.#source = source
  }

  /** The bytes are borrowed. */
  push(chunk: Uint8Array): void {
    if (this.#stopped || chunk.byteLength === 0) return
    this.#coded += chunk.byteLength
    this.#stream ??= this.#open(chunk[0]!)
    if (this.#stream.write(Buffer.from(chunk)) || this.#full) return
    this.#full = true
    this.#source.pause()
  }

  /** All has come; the end is told when it is decoded. */
  end(): void {
    if (this.#stopped) return
    if (this.#stream === null) this.#finish()
    else this.#stream.end()
  }

  pause(): void {
    this.#paused = true
    this.#stream?.pause()
    this.#source.pause()
  }

  resume(): void {
    this.#paused = false
    this.#stream?.resume()
    if (!this.#full) this.#source.resume()
  }

  stop(): void {
    this.#stopped = true
    this.#stream?.destroy()
  }

  #open(first: number): Transform {
    const stream = DECOMPRESSORS[this.#coding]!(first)
    stream.on('data', (piece: Buffer) => this.#take(piece))
    stream.on('drain', () => {
      this.#full = false
      if (!this.#paused && !this.#stopped) this.#source.resume()
    })
    stream.on('end', () => this.#finish())
    stream.on('error', () => this.#refuse(`a body that is no ${this.#coding}`))
    if (this.#paused) stream.pause()
    return stream
  }

  #take(piece: Buffer): void {
    if (this.#stopped) return
    this.#decoded += piece.length
    if (this.#decoded > MOST_BYTES) this.#refuse('a coded body of over 64 MiB')
    else if (this.#decoded > SHORT_BYTES && this.#decoded > MOST_EXPANSION * this.#coded)
      this.#refuse('a coded body that grows a hundredfold')
    else this.#receiver.onDecoded(piece)
  }

  #finish(): void {
    if (this.#stopped) return
    this.#stopped = true
    this.#receiver.onDecodedEnd()
  }

  #refuse(detail: string): void {
    if (this.#stopped) return
    this.stop()
    this.#receiver.onUndecodable(detail)
  }
}
