/**
 * The floor of the gateway: uWebSockets.js on one side, undici's `dispatch` on the other, and nothing in between that
 * looks at a byte. An answer of known length is gathered and sent in one write; any other is written chunk by chunk as
 * it comes. It knows no backpressure, no keys and no failures but the plainest.
 */

import * as uWS from 'uWebSockets.js'
import { Pool } from 'undici'

export interface RelayJob {
  readonly port: number
  /** `http://127.0.0.1:port` of the upstream. */
  readonly upstream: string
}

export interface RelayReady {
  readonly listening: true
}

const MOST_CONNECTIONS = 4096
const PATH = '/v1/chat/completions'
const REQUEST_HEADERS = ['content-type', 'application/json']
const HEADERS_TO_COPY = new Set(['content-type', 'cache-control'])

/** One call: undici's own form of a handler, which costs neither a wrapper nor an object of headers. */
class RelayedCall {
  #abort: ((error?: Error) => void) | null = null
  #gone = false
  #sized: Buffer[] | null = null
  #started = false
  readonly #res: uWS.HttpResponse

  constructor(res: uWS.HttpResponse) {
    this.#res = res
    res.onAborted(() => {
      this.#gone = true
      this.#abort?.()
    })
  }

  get gone(): boolean {
    return this.#gone
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort
    if (this.#gone) abort()
  }

  onHeaders(status: number, headers: Buffer[], _resume: () => void, reason: string): boolean {
    this.#started = true
    this.#res.cork(() => {
      if (status !== 200) this.#res.writeStatus(`${status} ${reason}`)
      for (let at = 0; at < headers.length; at += 2) this.#copyHeader(headers[at]!, headers[at + 1]!)
    })
    return true
  }

  #copyHeader(rawName: Buffer, value: Buffer): void {
    const name = rawName.toString('latin1').toLowerCase()
    if (name === 'content-length') this.#sized = []
    else if (HEADERS_TO_COPY.has(name)) this.#res.writeHeader(name, value)
  }

  onData(chunk: Buffer): boolean {
    if (this.#sized !== null) this.#sized.push(chunk)
    else this.#res.cork(() => this.#res.write(chunk))
    return true
  }

  onComplete(): void {
    const parts = this.#sized
    this.#res.cork(() => {
      if (parts === null) this.#res.end()
      else this.#res.end(parts.length === 1 ? parts[0] : Buffer.concat(parts))
    })
  }

  onError(): void {
    if (this.#gone) return
    // Half an answer must not look like a whole one.
    if (this.#started) this.#res.close()
    else this.#res.cork(() => this.#res.writeStatus('502 Bad Gateway').end('upstream failed'))
  }
}

function relay(pool: Pool, res: uWS.HttpResponse): void {
  const call = new RelayedCall(res)
  const parts: Buffer[] = []
  res.onData((bytes, last) => {
    parts.push(Buffer.from(Buffer.from(bytes)))
    if (!last || call.gone) return
    const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    pool.dispatch({ path: PATH, method: 'POST', headers: REQUEST_HEADERS, body }, call)
  })
}

process.once('disconnect', () => process.exit(0))
process.once('message', (message) => {
  const job = message as RelayJob
  const pool = new Pool(job.upstream, { connections: MOST_CONNECTIONS, pipelining: 1 })
  const app = uWS.App()
  app.post('/*', (res) => relay(pool, res))
  app.listen('127.0.0.1', job.port, (socket) => {
    if (!socket) process.exit(1)
    process.send?.({ listening: true } satisfies RelayReady)
  })
})
