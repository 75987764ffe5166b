/** Reads the requests on a connection: what the gateway writes has a length, and anything else is not taken. */

export interface RawRequest {
  readonly path: string
  readonly body: string
}

/** Longest request that is taken, head and body. */
const MAX_BYTES = 1024 * 1024
const HEAD_END = '\r\n\r\n'

export class RawRequestReader {
  #bytes = Buffer.alloc(0)

  /** The requests that these bytes complete; null when they are none that is taken. */
  push(bytes: Uint8Array): readonly RawRequest[] | null {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    const requests: RawRequest[] = []
    for (let read = this.#next(); read !== null; read = this.#next()) {
      if (read === 'unreadable') return null
      requests.push(read)
    }
    return this.#bytes.length > MAX_BYTES ? null : requests
  }

  #next(): RawRequest | 'unreadable' | null {
    const headEnd = this.#bytes.indexOf(HEAD_END)
    if (headEnd < 0) return null
    const head = this.#bytes.toString('latin1', 0, headEnd)
    const [, path] = /^POST (\S+) HTTP\/1\.1\r\n/.exec(`${head}\r\n`) ?? []
    const [, length] = /\r\ncontent-length: *(\d{1,7}) *(?:\r\n|$)/i.exec(head) ?? []
    if (path === undefined || length === undefined) return 'unreadable'
    const end = headEnd + HEAD_END.length + Number(length)
    if (this.#bytes.length < end) return null
    const body = this.#bytes.toString('utf8', headEnd + HEAD_END.length, end)
    this.#bytes = this.#bytes.subarray(end)
    return { path, body }
  }
}
