/**
 * The framing of a request. uWebSockets.js calls a handler before it has validated Content-Length and
 * Transfer-Encoding, and hands over repeated headers one by one, so this stands in front of everything.
 * The server feeds it the header fields of a request in order and asks for a verdict.
 * Rules: contract/decisions 21 and 47; RFC 9112 sections 3.2 and 6.3. Part of the native edge.
 */

/**
 * Who ends the connection behind the answer: nobody, uWS, which has read the caller's wish by itself, or we, because
 * the wish stands where uWS does not look, or because a body in chunks is the last thing that is read.
 */
export type ConnectionEnd = 'none' | 'native' | 'ours'

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i
const LENGTH = /^[0-9]{1,15}$/
/** What an authority may be made of (RFC 3986 section 3.2.2); it may be empty. */
const HOST = /^[\w.\-~!$&'()*+,;=%:[\]]*$/
/** What a method or a field name may be made of (RFC 9110 section 5.6.2). */
export const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

export class FramingGuard {
  readonly #behindStrictProxy: boolean
  /** The last one that was sound: nearly all callers name the same, and to compare costs less than to look through. */
  #soundHost = ''
  #hosts = 0
  #types = 0
  #credentials = 0
  #apiKeys = 0
  #connections = 0
  #length = ''
  #coding = ''
  #codings = 0
  #malformed = false
  #closeAsked: ConnectionEnd = 'none'

  /** `behindStrictProxy`: the operator declares that bodies in chunks come from a proxy that has parsed them. */
  constructor(behindStrictProxy: boolean) {
    this.#behindStrictProxy = behindStrictProxy
  }

  reset(): void {
    this.#hosts = 0
    this.#types = 0
    this.#credentials = 0
    this.#apiKeys = 0
    this.#connections = 0
    this.#codings = 0
    this.#length = ''
    this.#coding = ''
    this.#malformed = false
    this.#closeAsked = 'none'
  }

  /** Takes one header field; `name` in lower case. Told apart by length first: this runs per field. */
  addField(name: string, value: string): void {
    switch (name.length) {
      case 0:
        this.#malformed = true
        return
      case 4:
        if (name === 'host') this.#addHost(value)
        return
      case 9:
        if (name === 'x-api-key') this.#apiKeys++
        return
      case 10:
        if (name === 'connection') this.#addConnection(value)
        return
      case 12:
        if (name === 'content-type') this.#types++
        return
      case 13:
        if (name === 'authorization') this.#credentials++
        return
      case 14:
        if (name === 'content-length') this.#addLength(value)
        return
      case 17:
        if (name === 'transfer-encoding') {
          this.#codings++
          this.#coding = value
        }
    }
  }

  /** uWS looks at the first of these fields, and takes any five letters for the word. */
  #addConnection(value: string): void {
    const first = this.#connections++ === 0
    if (first && value.length === 5) this.#closeAsked = 'native'
    else if (this.#closeAsked === 'none' && value !== 'keep-alive' && CLOSE.test(value)) {
      this.#closeAsked = 'ours'
    }
  }

  #addHost(value: string): void {
    this.#hosts++
    if (value === this.#soundHost) return
    if (HOST.test(value)) this.#soundHost = value
    else this.#malformed = true
  }

  #addLength(value: string): void {
    // A second copy, even an equal one, is a repeated singleton; one copy may not be a list either.
    if (this.#length !== '' || !LENGTH.test(value)) this.#malformed = true
    this.#length = value
  }

  /** The request may not be answered but with 400, and nothing behind it may be read. */
  isBroken(): boolean {
    if (this.#malformed || this.#hosts !== 1 || this.#types > 1) return true
    if (this.#credentials > 1 || this.#apiKeys > 1) return true
    if (this.#codings === 0) return false
    return this.#length !== '' || this.#codings > 1 || this.#coding.toLowerCase() !== 'chunked'
  }

  /** How the connection ends behind the answer (RFC 9112 section 9.6; contract/decisions 47). */
  get connectionEnd(): ConnectionEnd {
    if (this.#closeAsked === 'none' && this.#codings > 0 && !this.#behindStrictProxy) return 'ours'
    return this.#closeAsked
  }

  /**
   * Declared length of the body in bytes: 0 without a declaration, -1 when it comes in chunks, NaN when the
   * declaration is broken, so that the end of the body cannot be known.
   */
  get bodyLength(): number {
    if (this.#length !== '') return this.#malformed ? Number.NaN : Number(this.#length)
    return this.#codings > 0 ? -1 : 0
  }
}
