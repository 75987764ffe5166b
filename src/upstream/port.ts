/** Calls to other servers: what a caller of `client.ts` sees. Nothing here knows undici. */

/** Limits of the phases of a call, in milliseconds. None fires early; each may fire 100 ms late. */
export interface PhaseTimeouts {
  /** Waiting for one of our connections to become free; and again for TCP and TLS. */
  readonly connectMs: number
  /** From the sent request to the head of the answer. */
  readonly headersMs: number
  /** From the head to the first byte of the body. */
  readonly firstTokenMs: number
  /** Between two pieces of the body. Stands still while the call is paused. */
  readonly idleMs: number
  /** From the begin of the call to its last byte. Stands still while the call is paused. */
  readonly totalMs: number
}

/** `queue`: all connections that `ConnectionPoolLimits` allows are in use. */
export type UpstreamPhase = 'queue' | 'connect' | 'headers' | 'first-token' | 'idle' | 'total'

export type UpstreamFailureReason =
  | 'refused' // no connection could be made (refused, unreachable, name not found, TLS)
  | 'reset' // the connection broke
  | 'timeout'
  | 'protocol' // the answer is no HTTP, or the request could not be written as HTTP
  | 'too-large' // the head of the answer outgrew what we take
  | 'closing' // the client is being closed

export interface UpstreamFailure {
  readonly reason: UpstreamFailureReason
  /**
   * Phase in which it happened; for timeouts, the phase whose limit passed. A call that never got a connection is
   * late in the phase `queue`, whichever limit it was.
   */
  readonly phase: UpstreamPhase
  /** False only when no byte of the request can have reached the server. */
  readonly requestSent: boolean
  /** For the log. Holds neither body nor header. */
  readonly cause: unknown
}

export interface ConnectionPoolLimits {
  /**
   * Most connections to one origin; further calls wait, up to `connectMs` of their own, callers in turn. The last tenth
   * is for callers who hold less than half of those in use.
   */
  readonly connections: number
  /** How long an idle connection is kept, in milliseconds; at least 1. */
  readonly keepAliveMs: number
}

/** A body that is made or read while it is sent; its Content-Length is part of the request's headers. */
export interface StreamedRequestBody {
  /**
   * Called once each time the call is sent; what it throws ends the call as a broken connection would. A piece stays as it is until the
   * next one is asked for, which happens when the kernel has all of it.
   */
  read(): AsyncIterable<Uint8Array>
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** `https://host:port`; one pool per origin and limits. */
  readonly origin: string
  /** Path and query. */
  readonly path: string
  /** Names and values by turns. Nothing is added but Host, Connection and Content-Length. */
  readonly headers: readonly string[]
  readonly body: string | Uint8Array | StreamedRequestBody | null
  readonly timeouts: PhaseTimeouts
  readonly limits: ConnectionPoolLimits
  /** On whose account it takes a connection: an organization's id; `''` where whoever calls shares them out. */
  readonly caller: string
  /** `performance.now()` beyond which the call is late, also within `totalMs`; Infinity for none. */
  readonly deadlineAt: number
  /**
   * It may be sent once more, where the server ends a reused connection before a byte of the answer: nearly always it
   * had closed it already and has seen nothing (contract/decisions 42). A streamed body is then read anew.
   */
  readonly repeatable: boolean
  /** Further headers of the answer that `onHead` is to tell, in lower case. */
  readonly answerHeaders?: readonly string[]
}

/**
 * Takes an answer and must not throw. After `ended` or `failed`, and after `cancel` or `release` of the call, nothing
 * more is called.
 */
export interface UpstreamReceiver {
  /**
   * Of the headers only those that say what the body is, where else it is and when to come again, and those that the
   * request asks for, names in lower case. Redirects arrive here like any other status.
   */
  onHead(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void
  /** The bytes are borrowed: valid in this turn only. */
  onData(chunk: Uint8Array): void
  /** The pieces that came with one read of the socket have been told, in the turn of the last of them. */
  onReadEnd?(): void
  onEnd(): void
  onFailure(failure: UpstreamFailure): void
}

export interface UpstreamCall {
  /** How long the call has waited for one of our connections, and for that to be made; null before it was sent. */
  waits(): { readonly queueMs: number; readonly connectMs: number } | null
  /** At most one more piece arrives; then the socket fills. */
  pause(): void
  /** Pieces arrive again, in a later turn. */
  resume(): void
  /** Destroys the socket, or takes the call out of the queue; at once and in every phase. Idempotent. */
  cancel(): void
  /**
   * The caller has all it wants: nothing more is told to it. The rest of the answer is read away, so that the
   * connection can serve again, for at most a second and 64 KiB; then the socket is destroyed.
   */
  release(): void
}

export interface UpstreamClient {
  /** Never throws and never calls the receiver before it has returned. */
  call(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall
  /** Open sockets to all origins, also those being opened; zero when all is over and idle ones have been closed. */
  sockets(): number
  /** Calls under way, also those whose rest is being read away. */
  inFlight(): number
  /** Fails what is under way with `closing` and closes every socket. Later calls fail with `closing`. */
  close(): Promise<void>
}
