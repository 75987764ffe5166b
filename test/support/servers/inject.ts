/** One request to routes behind the native edge, over a socket of its own: no server outlives its answer. */
import type { Route } from '../../../src/transport/exchange.js'
import { type HttpReply, httpClient } from '../clients/http-client.js'
import { serveEdge } from './native-edge.js'

interface InjectedRequest {
  readonly method: string
  /** Path and query, as in a request line. */
  readonly url: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string | Uint8Array
}

/** Rejects when the connection ends without a whole answer. */
export type Inject = (request: InjectedRequest) => Promise<HttpReply>

export function injector(routes: readonly Route[]): Inject {
  return async ({ method, url, headers = [], body }) => {
    const { server } = await serveEdge(routes)
    const client = httpClient(`http://127.0.0.1:${server.port}`, 1)
    try {
      return await client.send({
        method,
        path: url,
        headers: Object.fromEntries(headers),
        ...(body !== undefined && { body }),
      })
    } finally {
      client.close()
      server.close()
    }
  }
}
