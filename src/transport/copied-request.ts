/** What is copied of a request on the native server. */
import { newRequestId } from '../base/ids.js'
import { LinkedNode } from '../base/linked-list.js'
import type { ConnectionEnd } from './framing.js'

/** Where the headers that a route declared stand among those of a call: an object by name costs a microsecond. */
export type HeaderSlots = ReadonlyMap<string, number>

const NO_SLOTS: HeaderSlots = new Map()
const NO_VALUES: readonly string[] = []
export const NO_BYTES = new Uint8Array(0)

/**
 * The part of an `HttpCall` that does not depend on how it is answered. `uws.ts` copies it from the native request,
 * because that one dies when its callback returns (rule 1).
 */
export abstract class CopiedRequest extends LinkedNode {
  query = ''
  /** Lines of `X-Forwarded-For`, each behind a comma, where the route reads an address. */
  forwardedFor = ''
  firstParam = ''
  secondParam = ''
  headerSlots = NO_SLOTS
  /** By slot; absent headers have none. */
  headerValues: readonly (string | undefined)[] = NO_VALUES
  body: Uint8Array = NO_BYTES
  admission: unknown = null
  /** Who ends the connection behind the answer. */
  connectionEnd: ConnectionEnd = 'none'
  #id = ''

  constructor(readonly arrivedAt: number) {
    super()
  }

  param(index: number): string {
    return index === 0 ? this.firstParam : this.secondParam
  }

  header(name: string): string {
    const slot = this.headerSlots.get(name)
    return (slot === undefined ? undefined : this.headerValues[slot]) ?? ''
  }

  get requestId(): string {
    if (this.#id === '') this.#id = newRequestId()
    return this.#id
  }
}
