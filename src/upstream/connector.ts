/** Opens sockets: no delay, TCP keep-alive after a minute, HTTP/1.1 only, the last TLS session remembered. */
import { connect as connectTcp, isIP, type OnReadOpts, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type AddressGuard, AddressRefused, type DnsLookup, guardedLookup } from './address-guard.js'
import { EngineSocket } from './engine-socket.js'

const KEEP_ALIVE_AFTER_MS = 60_000
/** What the socket may hold of a request that is sent piece by piece. */
const WRITE_AHEAD_BYTES = 16 * 1024

interface OriginAddress {
  readonly protocol: string
  readonly hostname: string
  /** `''` for the port of the protocol. */
  readonly port: string
}

type SocketCallback = (error: Error | null, socket: Socket | null) => void

/** The sockets of one origin. */
export class SocketConnector {
  private session: Buffer | undefined

  constructor(
    /** Further trusted authorities in PEM; undefined for those of Node alone. */
    private readonly authorities: string | undefined,
    private readonly gauge: SocketGauge,
    /** Decides on each address; null where all may be dialled. */
    private readonly guard: AddressGuard | null = null,
    /** For names that the guard judges; asks the name servers of the system when absent. */
    private readonly resolve?: DnsLookup,
  ) {}

  /** Begins to open a socket. `opened` is called once, unless the socket is destroyed before. */
  open(address: OriginAddress, opened: SocketCallback): EngineSocket {
    const secure = address.protocol === 'https:'
    const engineSocket = new EngineSocket(
      (onread) => this.refusedSocket(address, secure) ?? this.connect(address, secure, onread),
    )
    const { socket } = engineSocket
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS)
    this.gauge.add(socket)
    let told = false
    const tell = (error: Error | null): void => {
      if (told) return
      told = true
      opened(error, error === null ? socket : null)
    }
    const ready: string = secure ? 'secureConnect' : 'connect'
    socket.once(ready, () => tell(null))
    // Stays for the life of the socket: an error between two owners must not end the process.
    socket.on('error', tell)
    return engineSocket
  }

  /** A socket that fails without having dialled, when the host is an address that may not be dialled. */
  private refusedSocket({ hostname }: OriginAddress, secure: boolean): Socket | null {
    if (this.guard === null || isIP(hostname) === 0 || this.guard(hostname, secure)) return null
    return new Socket().destroy(new AddressRefused(hostname))
  }

  /** Names are judged by what they resolve to. */
  private connect({ hostname, port }: OriginAddress, secure: boolean, onread: OnReadOpts): Socket {
    const options = {
      host: hostname,
      port: port === '' ? (secure ? 443 : 80) : Number(port),
      highWaterMark: WRITE_AHEAD_BYTES,
      onread,
      ...(this.guard !== null && { lookup: guardedLookup(this.guard, secure, this.resolve) }),
    }
    if (!secure) return connectTcp(options)
    const socket = connectTls({
      ...options,
      servername: isIP(hostname) === 0 ? hostname : '',
      ALPNProtocols: ['http/1.1'],
      ...(this.authorities !== undefined && { ca: this.authorities }),
      ...(this.session !== undefined && { session: this.session }),
    })
    socket.on('session', (session) => {
      this.session = session
    })
    return socket
  }
}

/** Counts sockets from the first packet to the close, and tells when none is left. */
export class SocketGauge {
  open = 0
  private readonly waiting: (() => void)[] = []

  add(socket: Socket): void {
    this.open++
    socket.once('close', () => {
      this.open--
      if (this.open === 0) for (const resolve of this.waiting.splice(0)) resolve()
    })
  }

  /** Resolves when no socket is open. */
  untilEmpty(): Promise<void> {
    if (this.open === 0) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push(resolve))
  }
}
