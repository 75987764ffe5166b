/**
 * The plain types that cross the border between the native edge and everything else.
 * Nothing in here knows uWebSockets.js.
 */
import type { FaultKind } from '../base/fault.js'
import type { MaybePromise } from '../base/maybe-promise.js'

/** One request, as far as the route asked for it. Every value is a copy and stays valid for the whole call. */
export interface HttpCall {
  /** Query without the question mark, as sent; empty when there is none or the route reads none. */
  readonly query: string
  /** Text of the n-th path parameter, percent-decoded where that is possible; of the route `/*` the path as sent. */
  param(index: number): string
  /** Value of a request header the route declared, `''` when absent. Names are lower case. */
  header(name: string): string
  /** The complete body, until `answer` has returned; empty for routes that read none or read it as a stream. */
  readonly body: Uint8Array
  /** The body as it comes, for routes that read it as a stream; null for all others. */
  readonly incoming: IncomingBody | null
  /** Id of the call in the log and on the wire (`x-request-id`). Made on first use. */
  readonly requestId: string
  /** What `admit` found out and `answer` needs; the transport only carries it. */
  admission: unknown
  /** `performance.now()` when the request was parsed. */
  readonly arrivedAt: number
  /** Address of the caller: the socket's, or the one a declared proxy vouches for; `''` unless the route asks. */
  readonly address: string
  /** True once the caller has gone or the total deadline has passed. */
  readonly aborted: boolean
  /** Calls `callback` once when that happens; at once when it has happened already. */
  onAbort(callback: () => void): void
  /** Only the head of the answer is sent (HEAD): its body is neither started nor opened. Absent where that is not told. */
  readonly headOnly?: boolean
  /** Closes the connection without a further word, as a server that dies would. Absent where there is none. */
  disconnect?(): void
}

/**
 * The body of a call whose route reads it as a stream. The route answers while the body is still coming: it takes
 * the pieces, and its reply waits for `onEnd`. A reply that comes before the body is complete refuses the call: it is
 * sent at once, the rest is thrown away and the connection closed. Limit, declared length and deadline are watched
 * by the transport, which answers for itself then; all a reader hears of it is `onFailure`.
 */
export interface IncomingBody {
  /** Declared length in bytes, within the limit; null when the body comes in chunks. */
  readonly length: number | null
  /** Sets the reader of the pieces; once. What comes before is kept, and the sender held back meanwhile. */
  read(reader: BodyReader): void
  /**
   * Holds the sender back. What is on its way already is handed over nevertheless. That may be much: the native edge
   * reads on as long as its buffer of 512 KiB is filled, also when it was told to pause.
   */
  pause(): void
  resume(): void
}

/** Takes a body. The calls come in the order of the bytes; `onEnd` or `onFailure` is the last one. */
export interface BodyReader {
  /**
   * Takes a piece, never an empty one. The bytes are borrowed, so what outlives the call has to be copied,
   * unless they are `owned`: the reader's to keep.
   */
  onData(piece: Uint8Array, owned: boolean): void
  /** The body is complete. */
  onEnd(): void
  /** The rest will not come: the caller has gone, was too slow, or sent too much. No answer is wanted any more. */
  onFailure(): void
}

export type HeaderList = readonly (readonly [name: string, value: string])[]

/** What a stream writes into. All calls are no-ops once the caller has gone. */
export interface ResponseSink {
  /**
   * Hands over a chunk, which is always taken as a whole.
   * False means that bytes are waiting for a slow reader: stop until `onDrain`.
   */
  write(chunk: string | Uint8Array): boolean
  /** Ends the answer. */
  end(): void
  /** Called each time the reader has caught up after `write` returned false. */
  onDrain(resume: () => void): void
  /** As `HttpCall.onAbort`. */
  onAbort(callback: () => void): void
}

/** A body of unknown size. */
export interface StreamResponseBody {
  /**
   * Breaks a silence, so that proxies keep the connection (an SSE comment). May stand between two chunks; `''` where a
   * silence stays one.
   */
  readonly heartbeat: string
  /**
   * Does nothing at all at the reader, wherever it stands between two chunks; `''` where there is no such thing. It
   * pushes out bytes that wait for a slow reader, and shows whether they do.
   */
  readonly padding: string
  /** What is said last when the server has to cut the stream (drain or deadline); may be empty. */
  readonly closingFrame: string
  start(sink: ResponseSink): void
}

/** A body of known size that is read piece by piece while it is sent: a file, say. */
export interface SizedResponseBody {
  /** Bytes of the whole body. */
  readonly size: number
  /** Called once, when sending begins; not at all when the body is not sent (HEAD, a caller that has left). */
  open(): Promise<ByteSource>
}

export interface ByteSource {
  /** The next piece, never an empty one before `size` bytes were read. Good until the next `read` or the `close`. */
  read(): Promise<Uint8Array>
  /** Called once, also when the body was not sent whole. */
  close(): void
}

export type ResponseBody = string | Uint8Array | StreamResponseBody | SizedResponseBody | null

/** One answer, as a value. A `Uint8Array` body is read before `answer` returns to the event loop, or copied. */
export interface Reply {
  readonly status: number
  readonly headers: HeaderList
  /** `null` means no body: without a Content-Length on 204 and 304, with one of 0 on any other status. */
  readonly body: ResponseBody
}

/** One method on one path pattern, ready to be served by any transport. */
export interface Route {
  /** Name under which its calls are counted; absent where they are not. */
  readonly operation?: string
  /** Upper-case method, or `*` for every method that no other route of this pattern takes. */
  readonly method: string
  /** Path with `{name}` parameters, or `/*` for everything else. */
  readonly path: string
  /** Most bytes of body that are read; a route that needs none has 0 and still waits for the body to pass. */
  readonly bodyLimit: number
  /**
   * Whether a body is part of the input, as a whole or as a stream; otherwise what arrives is counted and thrown
   * away.
   */
  readonly readsBody: boolean | 'stream'
  /** What its bodies may take while they come; without bound where it is absent. */
  readonly bodies?: BodyMemory
  readonly readsQuery: boolean
  /** `while-reading`: for the account of its body only, so not once the answer has begun. */
  readonly readsAddress: boolean | 'while-reading'
  /** Lower-case names of the request headers the route wants copied. */
  readonly headers: readonly string[]
  /** Total time for the call in milliseconds, from the parsed request to the last byte. */
  readonly deadlineMs: number
  /** Counts the arrival. Called once, before anything else. `at` is the call's `arrivedAt`. */
  onArrival(at: number): void
  /**
   * Decides before the body is read. A reply here refuses the call. Where it has to wait, a sender is held back: no
   * more of the body is kept than what was on its way. Never throws and never rejects.
   */
  admit(call: HttpCall): MaybePromise<Reply | null>
  /** Answers. Never throws and never rejects. */
  answer(call: HttpCall): MaybePromise<Reply>
  /** Renders a fault the transport itself found. Of a call with broken framing no header has been copied. */
  refuse(kind: FaultKind, call: HttpCall): Reply
  /**
   * Counts the end; called exactly once per `onArrival`. `status` is 0 when the caller left before an answer was
   * chosen, `aborted` says that not all of the answer was handed to the socket. Plain arguments, no object: hot.
   */
  onSettled(
    arrivedAt: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
    call: HttpCall,
  ): void
  /** A call begins (1) or ceases (-1) to wait for its caller, who sends the body or reads the answer slowly. */
  onWaiting?(change: 1 | -1): void
  /** Meter of its streams; absent where they are not measured. */
  readonly stream?: StreamMeter
}

/** The memory that the bodies of some routes share. */
export interface BodyMemory {
  /** For the body of a call that is admitted. */
  open(call: HttpCall): BodyAccount
}

/** What one body takes. */
export interface BodyAccount {
  /** Whose it is: an organization or an address. */
  readonly caller: string
  /** Takes so many bytes more; otherwise why there is no room for them. */
  take(bytes: number): FaultKind | null
  /** Gives all of it back. */
  close(): void
}

/** Times of a stream as the transport sees them, in milliseconds. `arrivedAt` names the window they belong to. */
export interface StreamMeter {
  /** A chunk was handed over: `first` is the time since the call was parsed, else since the chunk before. */
  onChunk(arrivedAt: number, ms: number, first: boolean): void
  /** The socket took no more for so long. */
  onStall(arrivedAt: number, ms: number): void
  onEnd(arrivedAt: number, chunks: number): void
}
