/** What is copied of a native request, because that one dies when its callback returns (rule 1). */
import { newRequestId } from '../base/ids.js'
import { LinkedNode } from '../base/linked-list.js'
import type { CloseRequest } from './framing.js'

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
export const NO_BYTES = new Uint8Array(0)

/** The part of an `HttpCall` that does not depend on how it is answered. `uws.ts` fills it in. */
export abstract class CopiedRequest extends LinkedNode {
  query = ''
  address = ''
  firstParam = ''
  secondParam = ''
  headers = NO_HEADERS
  body: Uint8Array = NO_BYTES
  admission: unknown = null
  /** The caller asked for the connection to be closed behind the answer. */
  closeRequest: CloseRequest = 'none'
  #id = ''

  constructor(readonly arrivedAt: number) {
    super()
  }

  param(index: number): string {
    return index === 0 ? this.firstParam : this.secondParam
  }

  header(name: string): string {
    return this.headers[name] ?? ''
  }

  get requestId(): string {
    if (this.#id === '') this.#id = newRequestId()
    return this.#id
  }
}
