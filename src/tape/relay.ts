/** Stands before a provider, hands everything through, and keeps how its streams came. */
import { createServer, type IncomingMessage, request as plainRequest, type ServerResponse } from 'node:http'
import { request as tlsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { StreamRecord } from './stream-record.js'
import type { TapedStream } from './tape.js'

const LARGEST_BODY = 64 * 1024 * 1024
/** A large piece has to be waited for even where the reader is quick. */
const MOST_HELD_MS = 2

/** Of one connection; not passed on. */
const HOP_HEADERS = new Set([
  ...['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'host', 'expect'],
  // Of a packed answer nothing could be read; and the length is that of what is sent on.
  ...['accept-encoding', 'content-length', 'proxy-authorization', 'proxy-authenticate'],
])

interface RelayOptions {
  /** Where calls go: what stands before the path of a call. */
  readonly upstream: URL
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Told of each stream that is over. */
  readonly onStream: (stream: TapedStream) => void
  /** Milliseconds, monotonic. */
  readonly now?: () => number
}

interface Relay {
  readonly url: string
  /** Ends what is under way. */
  close(): Promise<void>
}

/** Rejects where the address cannot be listened on. */
export function startRelay(options: RelayOptions): Promise<Relay> {
  const { upstream, host, port, onStream, now = () => performance.now() } = options
  const beganAt = now()
  const server = createServer((incoming, outgoing) => {
    readBody(incoming, (body) => {
      const url = targetUrl(upstream, incoming.url ?? '/')
      if (body === null) outgoing.writeHead(413).end()
      else if (url === null) outgoing.writeHead(400).end()
      else relayCall({ incoming, outgoing, body, url, beganAt, onStream, now })
    })
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const { port: taken } = server.address() as AddressInfo
      resolve({
        url: `http://${host}:${taken}`,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          }),
      })
    })
  })
}

/** Of a request line's target: a path, or a whole address, of which only the path counts; null for any other. */
function targetUrl(upstream: URL, target: string): URL | null {
  const whole = /^https?:/i.test(target) && URL.canParse(target) ? new URL(target) : null
  const path = whole === null ? target : `${whole.pathname}${whole.search}`
  if (!path.startsWith('/')) return null
  const href = `${upstream.href.replace(/\/$/, '')}${path}`
  return URL.canParse(href) ? new URL(href) : null
}

/** Null where it is too large, or has not come whole. */
function readBody(incoming: IncomingMessage, done: (body: Buffer | null) => void): void {
  const pieces: Buffer[] = []
  let bytes = 0
  incoming.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= LARGEST_BODY) pieces.push(piece)
  })
  incoming.once('end', () => done(bytes > LARGEST_BODY ? null : Buffer.concat(pieces)))
  incoming.once('error', () => {})
}

interface RelayedCall {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly body: Buffer
  readonly url: URL
  readonly beganAt: number
  readonly onStream: (stream: TapedStream) => void
  readonly now: () => number
}

function relayCall(call: RelayedCall): void {
  const { incoming, outgoing, body, url, beganAt, onStream, now } = call
  const send = url.protocol === 'https:' ? tlsRequest : plainRequest
  const asked = streamedModelOf(body)
  const askedAt = now()
  const record = asked === null ? null : new StreamRecord(asked.model, askedAt - beganAt, askedAt)
  let isOver = false
  const end = (stream: TapedStream | undefined): void => {
    if (isOver) return
    isOver = true
    if (stream !== undefined) onStream(stream)
  }
  const headers = { ...passedOn(incoming.headers), 'content-length': String(body.length) }
  const sent = send(url, { method: incoming.method ?? 'GET', headers })
  sent.once('response', (answer) => {
    const { statusCode = 0 } = answer
    // Below 100 there is none, and nobody could be sent one.
    const status = statusCode < 100 ? 502 : statusCode
    outgoing.writeHead(status, passedOn(answer.headers))
    const isStream = String(answer.headers['content-type']).startsWith('text/event-stream')
    if (status >= 400 || !isStream) end(status >= 400 ? record?.refuse(status, now()) : undefined)
    answer.on('data', (piece: Buffer) => {
      const readAt = now()
      record?.read(piece, readAt)
      if (outgoing.write(piece)) return
      answer.pause()
      outgoing.once('drain', () => {
        if (now() - readAt > MOST_HELD_MS) record?.hold()
        answer.resume()
      })
    })
    answer.once('end', () => {
      outgoing.end()
      end(record?.finish('ended', now()))
    })
    answer.once('error', () => {
      outgoing.destroy()
      end(record?.finish('ended', now()))
    })
  })
  sent.on('error', () => {
    if (!outgoing.headersSent) outgoing.writeHead(502)
    outgoing.end()
    end(record?.refuse(0, now()))
  })
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) {
      end(record?.finish('left', now()))
      sent.destroy()
    }
  })
  sent.end(body)
}

/** The model that a stream is asked of; null where none is. */
function streamedModelOf(body: Buffer): { readonly model: unknown } | null {
  try {
    const request = JSON.parse(body.toString()) as {
      readonly stream?: unknown
      readonly model?: unknown
    } | null
    return request?.stream === true ? { model: request.model } : null
  } catch {
    return null
  }
}

function passedOn(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !HOP_HEADERS.has(name)) kept[name] = value
  return kept
}
