/**
 * The way out of a sandbox: a proxy for HTTP (RFC 9110 9.3.6, RFC 9112 3.2.2) on a socket of the file system, one for
 * each command. Names are judged and resolved here, and every address is judged at its dial.
 */
import { connect, createServer, isIP, type Server, type Socket } from 'node:net'
import { type AddressGuard, type DnsLookup, guardedLookup } from '../../../../upstream/address-guard.js'
import { isAllowedHost, plainHost } from '../allowed-hosts.js'
import type { Egress } from '../sandbox.js'

export interface EgressBounds {
  /** In both directions, over the command. */
  readonly bytes: number
  readonly connections: number
  readonly connectMs: number
  readonly ports: readonly number[]
}

interface EgressProxyOptions {
  readonly allowedDomains: readonly string[]
  readonly guard: AddressGuard
  readonly resolve: DnsLookup
  readonly bounds: EgressBounds
}

const LARGEST_HEAD = 16 * 1024
/** Entries of the log of one command; what comes after is refused. */
const MOST_ENTRIES = 200
/** Connections of one command, refused ones too: then nobody listens any more, and dialling costs this server nothing. */
const MOST_TAKEN = 1_000
/** A piece costs this server as much as so many bytes, and counts as them. */
const PIECE_BYTES = 1024

/** An `Egress` that grows. */
type EgressEntry = { -readonly [K in keyof Egress]: Egress[K] }

interface Target {
  readonly host: string
  readonly port: number
  /** What the host is sent before all else; null for a tunnel. */
  readonly head: Buffer | null
}

export class EgressProxy {
  readonly #options: EgressProxyOptions
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #log: EgressEntry[] = []
  #open = 0
  #taken = 0
  #bytes = 0

  constructor(options: EgressProxyOptions) {
    this.#options = options
    this.#server = createServer({ allowHalfOpen: true }, (inner) => this.#take(inner))
  }

  listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ path, exclusive: true, readableAll: true, writableAll: true }, resolve)
    })
  }

  /** What went out, one entry for each connection. */
  log(): readonly Egress[] {
    return this.#log.map((entry) => ({ ...entry }))
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #take(inner: Socket): void {
    this.#hold(inner)
    if (++this.#taken === MOST_TAKEN) this.#server.close()
    if (this.#open >= this.#options.bounds.connections || this.#log.length >= MOST_ENTRIES) {
      inner.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n')
      return
    }
    this.#open++
    inner.once('close', () => this.#open--)
    inner.setTimeout(this.#options.bounds.connectMs, () => inner.destroy())
    let read = Buffer.alloc(0)
    const onData = (piece: Buffer): void => {
      read = Buffer.concat([read, piece])
      const end = read.indexOf('\r\n\r\n')
      if (end === -1 && read.length < LARGEST_HEAD) return
      inner.pause()
      inner.off('data', onData)
      const target = end === -1 ? null : targetOf(read.subarray(0, end + 4))
      if (target === null) refuse(inner, 400, 'Bad Request')
      else this.#connect(inner, target, read.subarray(end + 4))
    }
    inner.on('data', onData)
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  }

  #connect(inner: Socket, { host, port, head }: Target, rest: Buffer): void {
    const { allowedDomains, guard, resolve, bounds } = this.#options
    const entry: EgressEntry = { host: `${host}:${port}`, sentBytes: 0, receivedBytes: 0 }
    this.#log.push(entry)
    const refusal = !isAllowedHost(host, allowedDomains)
      ? 'host is not allowed'
      : !bounds.ports.includes(port)
        ? 'port is not allowed'
        : isIP(host) !== 0 && !guard(host, port === 443)
          ? 'address may not be dialled'
          : null
    if (refusal !== null) {
      entry.refused = refusal
      refuse(inner, 403, 'Forbidden')
      return
    }
    const outer = connect({
      host,
      port,
      allowHalfOpen: true,
      lookup: guardedLookup(guard, port === 443, resolve),
    })
    this.#hold(outer)
    inner.once('close', () => outer.destroy())
    const late = setTimeout(() => outer.destroy(new Error('late')), bounds.connectMs)
    outer.once('close', () => {
      clearTimeout(late)
      if (inner.bytesWritten === 0 && !inner.destroyed) refuse(inner, 502, 'Bad Gateway')
    })
    outer.once('error', ({ message }) => {
      entry.refused ??= message
      if (inner.bytesWritten > 0) inner.destroy()
    })
    outer.once('connect', () => {
      clearTimeout(late)
      inner.setTimeout(0)
      if (head === null) inner.write('HTTP/1.1 200 Connection established\r\n\r\n')
      const sent = Buffer.concat([head ?? Buffer.alloc(0), rest])
      outer.write(sent)
      this.#count(entry, 'sentBytes', sent.length)
      inner.on('data', (piece: Buffer) => this.#count(entry, 'sentBytes', piece.length))
      outer.on('data', (piece: Buffer) => this.#count(entry, 'receivedBytes', piece.length))
      inner.pipe(outer).pipe(inner)
    })
  }

  #count(entry: EgressEntry, way: 'sentBytes' | 'receivedBytes', bytes: number): void {
    entry[way] += bytes
    this.#bytes += Math.max(bytes, PIECE_BYTES)
    if (this.#bytes <= this.#options.bounds.bytes) return
    entry.refused ??= 'too many bytes'
    for (const socket of this.#sockets) socket.destroy()
  }
}

const TARGET = /^([A-Z]{1,20}) (\S{1,8192}) HTTP\/1\.[01]$/
const AUTHORITY = /^(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9.-]{1,253}):(\d{1,5})$/
/** Between a client and its proxy, or written anew. */
const NOT_PASSED = /^(?:host|connection|proxy-[a-z-]+|keep-alive)\s*:/i

/** Null for what is no request to a proxy. A request is passed on as one to its server, for this one exchange. */
function targetOf(head: Buffer): Target | null {
  const text = head.toString('latin1')
  const [requestLine = '', ...lines] = text.slice(0, -4).split('\r\n')
  const [, method, target = ''] = TARGET.exec(requestLine) ?? []
  if (method === 'CONNECT') {
    const authority = AUTHORITY.exec(target)
    if (authority === null) return null
    return { host: plainHost(authority[1]!), port: Number(authority[2]), head: null }
  }
  if (method === undefined || !/^http:/i.test(target) || !URL.canParse(target)) return null
  const { hostname, port, host, pathname, search } = new URL(target)
  const kept = lines.filter((line) => !NOT_PASSED.test(line))
  const passed = [`${method} ${pathname}${search} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...kept]
  const sent = Buffer.from(`${passed.join('\r\n')}\r\n\r\n`, 'latin1')
  return { host: plainHost(hostname), port: port === '' ? 80 : Number(port), head: sent }
}

function refuse(inner: Socket, status: number, reason: string): void {
  inner.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
