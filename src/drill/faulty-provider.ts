/**
 * The built-in faulty provider: an OpenAI-compatible server on loopback, on raw TCP, that fails exactly as the scenario
 * says. The path names the role it plays and the model the scenario; what it did is written down.
 */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { ProviderBehaviour } from './behaviours.js'
import { ProviderCall, type ProviderRequest } from './provider-call.js'
import { isRole } from './roles.js'

/** What to do with the call that is the `nth` (from 0) of its kind; null when no scenario expects it. */
export type BehaviourSelector = (request: ProviderRequest, nth: number) => ProviderBehaviour | null

export interface FaultyProvider {
  readonly port: number
  /** Calls in the order of their arrival, since the start. */
  readonly calls: readonly ProviderCall[]
  close(): Promise<void>
}

/** Listens on 127.0.0.1; port 0 takes a free one. Rejects with the error of the socket. */
export async function startFaultyProvider(
  port: number,
  selectBehaviour: BehaviourSelector,
): Promise<FaultyProvider> {
  const sockets = new Set<Socket>()
  const calls: ProviderCall[] = []
  const answer = (request: ProviderRequest | null, socket: Socket): void => {
    const nth = request === null ? 0 : countAlike(calls, request)
    const behaviour = request === null ? null : selectBehaviour(request, nth)
    if (request === null || behaviour === null) {
      socket.end('HTTP/1.1 404 Drill\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      return
    }
    const call = new ProviderCall(request, socket)
    calls.push(call)
    behaviour(call)
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    // The gateway may let go whenever it likes; its close is what counts.
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    readRequests(socket, (path, body) => answer(parseProviderRequest(path, body), socket))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { readonly port: number }).port,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function countAlike(calls: readonly ProviderCall[], { role, model, streamed }: ProviderRequest): number {
  return calls.filter(
    ({ request }) => request.role === role && request.model === model && request.streamed === streamed,
  ).length
}

/** `/<role>/v1/chat/completions`, and a body that names a model. */
function parseProviderRequest(path: string, body: string): ProviderRequest | null {
  const [, role = ''] = /^\/([a-z]+)\/v1\/chat\/completions$/.exec(path) ?? []
  if (!isRole(role)) return null
  try {
    const { model, stream } = JSON.parse(body) as { readonly model?: unknown; readonly stream?: unknown }
    return typeof model === 'string' ? { role, model, streamed: stream === true } : null
  } catch {
    return null
  }
}

/** Longest request that is taken, head and body. */
const MAX_BYTES = 1024 * 1024
const HEAD_END = '\r\n\r\n'

/** Reads the requests on a connection. What the gateway writes has a length; anything else ends the connection. */
function readRequests(socket: Socket, onRequest: (path: string, body: string) => void): void {
  let bytes = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    for (let headEnd = bytes.indexOf(HEAD_END); headEnd >= 0; headEnd = bytes.indexOf(HEAD_END)) {
      const head = bytes.toString('latin1', 0, headEnd)
      const [, path] = /^POST (\S+) HTTP\/1\.1\r\n/.exec(`${head}\r\n`) ?? []
      const [, length] = /\r\ncontent-length: *(\d{1,7}) *(?:\r\n|$)/i.exec(head) ?? []
      if (path === undefined || length === undefined) {
        socket.destroy()
        return
      }
      const end = headEnd + HEAD_END.length + Number(length)
      if (bytes.length < end) break
      const body = bytes.toString('utf8', headEnd + HEAD_END.length, end)
      bytes = bytes.subarray(end)
      onRequest(path, body)
    }
    if (bytes.length > MAX_BYTES) socket.destroy()
  })
}
