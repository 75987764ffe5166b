/**
 * The built-in faulty provider: an OpenAI-compatible server on loopback, on raw TCP, that fails exactly as the scenario
 * says. The path names the role it plays and the model the scenario; what it did is written down.
 */
import { createServer, type Server, type Socket } from 'node:net'
import type { ProviderBehaviour } from './behaviours.js'
import { ProviderCall, type ProviderRequest } from './provider-call.js'
import { isRole } from './roles.js'

/** What to do with the call that is the `nth` (from 0) of its kind; null when no scenario expects it. */
export type BehaviourSelector = (asked: ProviderRequest, nth: number) => ProviderBehaviour | null

export class FaultyProvider {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #selectBehaviour: BehaviourSelector
  readonly #calls: ProviderCall[] = []

  private constructor(selectBehaviour: BehaviourSelector) {
    this.#selectBehaviour = selectBehaviour
    this.#server = createServer((socket) => this.#serve(socket))
  }

  /** Listens on 127.0.0.1; port 0 takes a free one. Rejects with the error of the socket. */
  static async start(port: number, selectBehaviour: BehaviourSelector): Promise<FaultyProvider> {
    const provider = new FaultyProvider(selectBehaviour)
    const server = provider.#server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
    return provider
  }

  get port(): number {
    return (this.#server.address() as { readonly port: number }).port
  }

  /** Calls in the order of their arrival, since the start. */
  get calls(): readonly ProviderCall[] {
    return this.#calls
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  #serve(socket: Socket): void {
    const reader = new RawRequestReader()
    this.#sockets.add(socket)
    socket.setNoDelay(true)
    // The gateway may let go whenever it likes; its close is what counts.
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('data', (bytes) => {
      const requests = reader.push(bytes)
      if (requests === null) socket.destroy()
      else for (const request of requests) this.#answer(request, socket)
    })
  }

  #answer(request: RawRequest, socket: Socket): void {
    const asked = parseProviderRequest(request)
    const nth =
      asked === null ? 0 : this.#calls.filter((call) => isSameKindOfCall(call.request, asked)).length
    const behaviour = asked === null ? null : this.#selectBehaviour(asked, nth)
    if (asked === null || behaviour === null) {
      socket.end('HTTP/1.1 404 Drill\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      return
    }
    const call = new ProviderCall(asked, socket)
    this.#calls.push(call)
    behaviour(call)
  }
}

function isSameKindOfCall(one: ProviderRequest, other: ProviderRequest): boolean {
  return one.role === other.role && one.model === other.model && one.streamed === other.streamed
}

/** `/<role>/v1/chat/completions`, and a body that names a model. */
function parseProviderRequest({ path, body }: RawRequest): ProviderRequest | null {
  const [, role = ''] = /^\/([a-z]+)\/v1\/chat\/completions$/.exec(path) ?? []
  if (!isRole(role)) return null
  try {
    const { model, stream } = JSON.parse(body) as { readonly model?: unknown; readonly stream?: unknown }
    return typeof model === 'string' ? { role, model, streamed: stream === true } : null
  } catch {
    return null
  }
}

// What the gateway writes has a length; anything else is not taken.

interface RawRequest {
  readonly path: string
  readonly body: string
}

/** Longest request that is taken, head and body. */
const MAX_BYTES = 1024 * 1024
const HEAD_END = '\r\n\r\n'

class RawRequestReader {
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
