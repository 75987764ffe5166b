import { test } from 'tap'
import {
  chunked,
  connectRaw,
  type RawConnection,
  request as requestBytes,
} from '../support/clients/raw-http.js'
import { startEdge } from '../support/servers/native-edge.js'
import type { CarriedRequest } from './transport-case.js'
import { type CarriedReply, conform, type Difference, type Transport } from './transport-suite.js'

function bytes({ method, url, headers = [], host, body, chunked: inChunks }: CarriedRequest): Buffer {
  return requestBytes({
    method,
    target: url,
    headers: inChunks ? [...headers, ['Transfer-Encoding', 'chunked']] : headers,
    ...(host === null ? { host } : {}),
    ...(body === undefined ? {} : { body: inChunks ? chunked(body, 400) : body }),
  })
}

/** A connection whose server said that it closes does so; any other serves another request. */
async function followUp(connection: RawConnection, close: boolean): Promise<void> {
  if (close) {
    if ((await connection.ended()) !== 'fin') throw new Error('the close was a reset')
    if (connection.unread.byteLength > 0) throw new Error(`after the answer came ${connection.unread}`)
    return
  }
  await connection.send(requestBytes({ target: '/follow-up' }))
  const reply = await connection.read()
  if (reply.body.toString() !== 'served on') throw new Error(`the connection answers ${reply.status}`)
}

function belowUs(
  lacks: Difference['lacks'],
  reason: string,
  names: readonly string[],
): Record<string, Difference> {
  return Object.fromEntries(names.map((name) => [name, { reason, lacks }]))
}

const sockets: Transport = {
  bind: async (t, routes, allowChunked) => {
    const { port } = await startEdge(t, routes, { allowChunked })
    return {
      send: async (request): Promise<CarriedReply> => {
        const connection = await connectRaw(port)
        try {
          await connection.send(bytes(request))
          const { status, fields, header, body } = await connection.read({ head: request.method === 'HEAD' })
          const close = header('connection') === 'close'
          await followUp(connection, close)
          const has = (name: string): boolean => fields.some(([field]) => field === name)
          return { status, header: (name) => (has(name) ? header(name) : undefined), body, close }
        } finally {
          connection.destroy()
        }
      },
      leave: async (request, when) => {
        const connection = await connectRaw(port)
        await connection.send(bytes(request))
        await when
        connection.destroy()
      },
    }
  },
  differences: {
    ...belowUs('page', 'uWS reads the length itself after the handler and puts its own 400 page first', [
      ...['abc', '-1', '+5', '0x5', '5.0', '1e1', '5, 5', '5,5', '5 5', '1'.repeat(25)].map(
        (value) => `Content-Length "${value}" is refused`,
      ),
      'a DELETE with a broken length is refused',
      'a GET with a broken length is refused',
    ]),
    ...belowUs('count', 'uWS answers with its own 400 page before it calls a handler', [
      'a request without Host is refused',
      ...['before', 'after'].flatMap((order) =>
        ['', ' behind a strict proxy, too'].map(
          (where) => `Transfer-Encoding ${order} Content-Length is refused${where}`,
        ),
      ),
    ]),
  },
}

test('the native transport conforms', (t) => conform(t, sockets))
