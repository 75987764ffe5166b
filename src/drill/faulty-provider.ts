/**
 * The built-in faulty provider: an OpenAI-compatible server on loopback that fails exactly as the scenario says. The
 * path names the role it plays and the model the scenario; what it did is written down.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
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
  const calls: ProviderCall[] = []
  const used = new WeakSet<object>()
  const server = createServer(async (incoming, response) => {
    // The gateway may let go whenever it likes; its close is what counts.
    const body = await text(incoming).catch(() => '')
    const request = parseProviderRequest(incoming.url!, body)
    const behaviour = request && selectBehaviour(request, countAlike(calls, request))
    if (request === null || behaviour === null) {
      response.writeHead(404, { connection: 'close' }).end()
      return
    }
    // Answers are written past the response, byte by byte.
    const call = new ProviderCall(request, incoming.socket, used.has(incoming.socket))
    used.add(incoming.socket)
    calls.push(call)
    behaviour(call)
  })
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
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
