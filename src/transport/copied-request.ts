/** What is copied of a request on the native server. */
import { newRequestId } from '../base/ids.js'
import type { Linked } from '../base/linked-list.js'
import type { ConnectionEnd } from './framing.js'

const NO_FIELDS: readonly string[] = []
export const NO_BYTES = new Uint8Array(0)

/**
 * The part of an `HttpCall` that does not depend on how it is answered. `uws.ts` copies it from the native request,
 * because that one dies when its callback returns (rule 1).
 */
export abstract class CopiedRequest implements Linked {
  // Not of a base class: each further constructor costs a call as much as one of native code.
  list: object | null = null
  previous: this | null = null
  next: this | null = null
  query = ''
  /** Lines of `X-Forwarded-For`, each behind a comma, where the route reads an address. */
  forwardedFor = ''
  firstParam = ''
  secondParam = ''
  /**
   * Of the headers that the route declared, those that came: names and values by turns. A call brings three or four of
   * some twenty, and going through them costs less than a look into a map, for those that are absent as well.
   */
  headerFields = NO_FIELDS
  body: Uint8Array = NO_BYTES
  admission: unknown = null
  /** Who ends the connection behind the answer. */
  connectionEnd: ConnectionEnd = 'none'
  #id = ''

  constructor(readonly arrivedAt: number) {}

  param(index: number): string {
    return index === 0 ? this.firstParam : this.secondParam
  }

  /** Of a repeated one the first line. */
  header(name: string): string {
    const fields = this.headerFields
    for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) return fields[at + 1]!
    return ''
  }

  get requestId(): string {
    if (this.#id === '') this.#id = newRequestId()
    return this.#id
  }
}
