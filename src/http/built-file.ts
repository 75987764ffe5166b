/** Files that the build has made, as answers: whole or compressed as the caller takes it, and not again to who has them. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { HeaderList, HttpCall, Reply } from '../transport/exchange.js'
import { keptBytes } from './reply.js'

/** Headers of a request that an endpoint of built files reads. */
export const FILE_HEADERS = ['accept-encoding', 'if-none-match'] as const

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
  webp: 'image/webp',
}

const compressBrotli = promisify(brotliCompress)
const compressGzip = promisify(gzip)

/** The better one first; both in a thread of the runtime, once. */
const CODINGS = {
  br: (bytes: Buffer) =>
    compressBrotli(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength },
    }),
  gzip: (bytes: Buffer) => compressGzip(bytes, { level: 9 }),
} as const

type Coding = keyof typeof CODINGS

/** What a compressed file is not smaller by is not worth the work. */
const LEAST_BYTES = 512

/** A file as it answers a GET: 200 with its bytes, 304 to who has it already. */
export class BuiltFile {
  readonly #bytes: Buffer
  readonly #status: number
  readonly #type: string
  readonly #headers: HeaderList
  readonly #tag: string
  readonly #made = new Map<Coding, Promise<Reply>>()
  readonly #plain: Reply
  readonly #unchanged: Reply

  /**
   * @param name whose end tells the media type
   * @param headers for this file: policies, and how long it may be kept
   */
  constructor(name: string, bytes: Buffer, headers: HeaderList, status = 200) {
    this.#bytes = bytes
    this.#status = status
    this.#type = TYPES[name.slice(name.lastIndexOf('.') + 1)]!
    // Weak, as it is the same for all codings.
    this.#tag = `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    this.#headers = [
      ...headers,
      ['X-Content-Type-Options', 'nosniff'],
      ['Cross-Origin-Resource-Policy', 'same-origin'],
      ['Vary', 'Accept-Encoding'],
      ['ETag', this.#tag],
    ]
    this.#plain = this.#replyWith(bytes, [])
    this.#unchanged = { status: 304, headers: this.#headers, body: null }
  }

  /** To a call of a route that reads `FILE_HEADERS`. */
  reply(call: HttpCall): Reply | Promise<Reply> {
    if (this.#status === 200 && names(call.header('if-none-match'), this.#tag)) return this.#unchanged
    const coding = this.#isText() ? codingFor(call.header('accept-encoding')) : null
    if (coding === null) return this.#plain
    let made = this.#made.get(coding)
    if (made === undefined) {
      made = CODINGS[coding](this.#bytes).then((bytes) =>
        this.#replyWith(bytes, [['Content-Encoding', coding]]),
      )
      this.#made.set(coding, made)
    }
    return made
  }

  #isText(): boolean {
    return this.#type.startsWith('text/') && this.#bytes.byteLength >= LEAST_BYTES
  }

  #replyWith(bytes: Buffer, more: HeaderList): Reply {
    const headers: HeaderList = [['Content-Type', this.#type], ...this.#headers, ...more]
    return { status: this.#status, headers, body: keptBytes(bytes) }
  }
}

/** Only what is named without a quality: where one is given, the plain file is right in any case. */
function codingFor(accepted: string): Coding | null {
  const named = accepted.split(',').map((coding) => coding.trim())
  if (named.includes('br')) return 'br'
  return named.includes('gzip') ? 'gzip' : null
}

/** Whether an If-None-Match means the file of this tag (RFC 9110, 13.1.2: weak tags are the same as strong ones). */
function names(header: string, tag: string): boolean {
  if (header === '') return false
  return header.trim() === '*' || header.split(',').some((each) => strong(each.trim()) === strong(tag))
}

function strong(tag: string): string {
  return tag.replace(/^W\//, '')
}

/** For a page: it names files of one build. */
export const ASK_AGAIN: HeaderList = [['Cache-Control', 'no-cache']]

/** For what has a hash of its content in its name. */
export const KEEP: HeaderList = [['Cache-Control', 'public, max-age=31536000, immutable']]

/**
 * The policy of a page: nothing from elsewhere, no inline script or style, and no text that becomes markup.
 *
 * @param more directives that this page has beside
 * @param trusted names of its policies of trusted types
 */
export function strictPolicy(more: readonly string[], trusted = "'none'"): HeaderList {
  const directives = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ...more,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${trusted}`,
  ]
  return [
    ['Content-Security-Policy', directives.join('; ')],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Referrer-Policy', 'same-origin'],
  ]
}

/** Makes a value when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => (made ??= { value: make() }).value
}
