/** A TCP proxy that fails on command: what stands between a machine and its store, or before several machines. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { resetSocket } from '../../base/reset-socket.js'

/**
 * What the proxy does with every connection, the open ones included, until it is told otherwise.
 * `refuse`: resets all, and new ones at once. `freeze`: accepts, and passes nothing on; what was held is passed on
 * afterwards, as after a SIGSTOP or a network that lost packets. `delay`: each byte arrives so much later. `trickle`:
 * bytes pass one by one. `half-open`: the server's end is gone and nobody tells the caller, whose bytes vanish, now and
 * afterwards. `cut-after-answer`: a request that holds `to` reaches the server; its answer is thrown away, and the
 * connection reset; others pass.
 */
type ProxyFault =
  | { readonly kind: 'none' }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'freeze' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'trickle'; readonly bytesPerSecond: number }
  | { readonly kind: 'half-open' }
  | { readonly kind: 'cut-after-answer'; readonly to: string }

/** The most bytes of one direction that wait for their time; beyond them the sender is not read. */
const MAX_WAITING = 1024 * 1024

/** One connection of a caller, and the one to the server that belongs to it. */
interface Relay {
  readonly caller: Socket
  readonly server: Socket
  /** Its answer is to be thrown away. */
  doomed: boolean
  /** The server's end is gone, and the caller does not know. */
  orphaned: boolean
}

export class FaultProxy {
  readonly port: number
  /** Where new connections go. */
  targets: readonly number[] = []
  readonly #listener: Server
  readonly #relays = new Set<Relay>()
  #fault: ProxyFault = { kind: 'none' }
  /** Aborts whenever the fault changes, so that nothing waits out what was given up. */
  #change = new AbortController()
  #cuts = 0

  private constructor(listener: Server) {
    this.#listener = listener
    this.port = (listener.address() as AddressInfo).port
  }

  /**
   * Listens on a free port of 127.0.0.1. Connections go to `targets`, ports of 127.0.0.1, in turn; one that refuses is
   * passed over, and when all do the caller is reset.
   */
  static async listen(targets: readonly number[] = []): Promise<FaultProxy> {
    const listener = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const proxy = new FaultProxy(listener)
    proxy.targets = targets
    let turn = 0
    listener.on('connection', (caller) => {
      caller.on('error', () => {})
      const { targets } = proxy
      const first = turn++
      const order = targets.map((_, at) => targets[(first + at) % targets.length]!)
      if (proxy.#fault.kind === 'refuse') resetSocket(caller)
      else proxy.#dial(caller, order)
    })
    return proxy
  }

  /** Connections of callers that are open now. */
  get connections(): number {
    return this.#relays.size
  }

  /** Answers thrown away so far. */
  get cuts(): number {
    return this.#cuts
  }

  set fault(fault: ProxyFault) {
    this.#fault = fault
    const relays = [...this.#relays]
    for (const relay of relays) {
      if (fault.kind === 'refuse') reset(relay)
      if (fault.kind === 'half-open') orphan(relay)
      if (fault.kind === 'freeze') for (const end of [relay.caller, relay.server]) end.pause()
      else for (const end of [relay.caller, relay.server]) end.resume()
    }
    this.#change.abort()
    this.#change = new AbortController()
  }

  /** Whether this process stays alive for the sake of the proxy; it does unless told otherwise. */
  hold(alive: boolean): void {
    if (alive) this.#listener.ref()
    else this.#listener.unref()
  }

  /** Resets every connection; later ones are not touched. */
  resetAll(): void {
    for (const relay of [...this.#relays]) reset(relay)
  }

  /** Stops listening and resets what is open. */
  async close(): Promise<void> {
    const closed = once(this.#listener, 'close')
    this.#listener.close()
    this.resetAll()
    await closed
  }

  #dial(caller: Socket, [target, ...others]: readonly number[]): void {
    if (target === undefined) return void resetSocket(caller)
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    const next = (): void => this.#dial(caller, others)
    server.once('error', next)
    server.once('connect', () => {
      server.off('error', next)
      this.#join({ caller, server, doomed: false, orphaned: false })
    })
  }

  #join(relay: Relay): void {
    const { caller, server } = relay
    if (caller.destroyed) return void server.destroy()
    this.#relays.add(relay)
    server.on('error', () => {})
    const carriedToServer = this.#carry(relay, caller, server)
    const carriedToCaller = this.#carry(relay, server, caller)
    caller.once('close', () => {
      this.#relays.delete(relay)
      if (!relay.orphaned) void carriedToServer().then(() => endLike(caller, server))
    })
    server.once('close', () => {
      // What was answered before a reset arrives before it.
      if (!relay.orphaned) void carriedToCaller().then(() => endLike(server, caller))
    })
    if (this.#fault.kind === 'half-open') orphan(relay)
    for (const end of [caller, server]) {
      if (this.#fault.kind === 'freeze') end.pause()
      else end.resume()
    }
  }

  /**
   * Passes on what `from` sends, in its order and each byte when it is due, and its end behind it.
   * @returns what resolves when all that came so far was passed on
   */
  #carry(relay: Relay, from: Socket, to: Socket): () => Promise<void> {
    let waiting = 0
    let tail: Promise<void> = Promise.resolve()
    const inTurn = (act: () => void | Promise<void>): void => {
      tail = tail.then(act)
    }
    from.on('data', (bytes: Buffer) => {
      if (relay.orphaned) return
      if (this.#isCut(relay, from, bytes)) return
      waiting += bytes.byteLength
      if (waiting > MAX_WAITING) from.pause()
      const arrivedAt = performance.now()
      inTurn(async () => {
        await this.#passOn(bytes, to, arrivedAt)
        waiting -= bytes.byteLength
        if (from.isPaused() && this.#fault.kind !== 'freeze') from.resume()
      })
    })
    from.once('end', () => {
      if (!relay.orphaned) inTurn(() => void to.end())
    })
    return () => tail
  }

  async #passOn(bytes: Buffer, to: Socket, arrivedAt: number): Promise<void> {
    while (this.#fault.kind === 'freeze') await this.#pause(MAX_PAUSE_MS)
    const fault = this.#fault
    if (fault.kind === 'delay') await this.#pause(arrivedAt + fault.ms - performance.now())
    if (fault.kind !== 'trickle') return write(to, bytes)
    for (let at = 0; at < bytes.byteLength; at++) {
      // Whatever is left goes at once when the fault is over.
      if (this.#fault !== fault) return write(to, bytes.subarray(at))
      await this.#pause(1_000 / fault.bytesPerSecond)
      await write(to, bytes.subarray(at, at + 1))
    }
  }

  /** Notes a request whose answer is to be thrown away, and throws it away: true when it was that answer. */
  #isCut(relay: Relay, from: Socket, bytes: Buffer): boolean {
    if (from === relay.caller) {
      const fault = this.#fault
      if (fault.kind === 'cut-after-answer' && bytes.includes(fault.to)) relay.doomed = true
      return false
    }
    if (!relay.doomed) return false
    this.#cuts++
    reset(relay)
    return true
  }

  /** Resolves after so many milliseconds, or as soon as the fault changes. */
  #pause(ms: number): Promise<void> {
    const { signal } = this.#change
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, Math.max(0, ms))
      signal.addEventListener('abort', done)
    })
  }
}

const MAX_PAUSE_MS = 60_000

/** Resolves when there is room again. */
async function write(to: Socket, bytes: Buffer): Promise<void> {
  if (!to.writable || to.write(bytes)) return
  await new Promise<void>((resolve) => {
    to.once('drain', resolve)
    to.once('close', () => resolve())
  })
}

function reset({ caller, server }: Relay): void {
  resetSocket(caller)
  resetSocket(server)
}

function orphan(relay: Relay): void {
  relay.orphaned = true
  resetSocket(relay.server)
}

/** A reset on one side is a reset on the other. */
function endLike(ended: Socket, other: Socket): void {
  if (ended.errored !== null || !ended.readableEnded) resetSocket(other)
  else other.destroySoon()
}
