/** Single streams on connections of 127.0.0.1, one after the other, each checked to its last event. */
import { CheckedStream, type StreamOutcome, type TokenWatcher } from './checked-streams.js'
import { RawStreamConnection } from './raw-stream-connection.js'

const OPENING_LIMIT_MS = 5_000
const SILENCE_LIMIT_MS = 30_000

export class StreamConnection {
  readonly #lane: RawStreamConnection<StreamOutcome>
  #call: CheckedStream | null = null
  #resolve: ((outcome: StreamOutcome) => void) | null = null

  private constructor(port: number, bytesPerS: number | null, settled: (open: boolean) => void) {
    this.#lane = new RawStreamConnection({ address: '127.0.0.1', port }, bytesPerS, {
      opened: (lane) => {
        lane.setIdleTimeout(SILENCE_LIMIT_MS)
        settled(true)
      },
      ended: (_lane, outcome) => this.#settle(outcome),
      gone: () => settled(false),
    })
    this.#lane.setIdleTimeout(OPENING_LIMIT_MS)
  }

  /** Opens a connection that reads no faster than `bytesPerS`; null when it is refused or nobody accepts it in 5 s. */
  static open(port: number, bytesPerS: number | null = null): Promise<StreamConnection | null> {
    return new Promise((resolve) => {
      const settled = (open: boolean): void => resolve(open ? connection : null)
      const connection = new StreamConnection(port, bytesPerS, settled)
    })
  }

  /** False once the connection was closed by either side. */
  get usable(): boolean {
    return this.#lane.open
  }

  /** Tokens the call under way has brought so far. */
  get tokens(): number {
    return this.#call?.tokens ?? 0
  }

  /** Bytes of the answer that have come so far. */
  get received(): number {
    return this.#lane.received
  }

  /** Sends one request and resolves when its answer has ended, in whichever way. Never rejects. */
  call(
    request: Buffer,
    tag: string,
    watch: TokenWatcher | null = null,
    format: 'chat' | 'messages' = 'chat',
  ): Promise<StreamOutcome> {
    const call = new CheckedStream(tag, watch, format)
    if (!this.usable) return Promise.resolve(call.outcome('closed', performance.now()))
    return new Promise((resolve) => {
      this.#call = call
      this.#resolve = resolve
      this.#lane.start(request, call)
    })
  }

  /** Closes the connection at once; a call under way ends as `aborted`. With `reset` the peer gets an RST, not a FIN. */
  leave(reset = false): void {
    this.#lane.close(reset)
    if (this.#call !== null) this.#settle(this.#call.outcome('aborted', performance.now()))
  }

  #settle(outcome: StreamOutcome): void {
    const resolve = this.#resolve
    this.#call = null
    this.#resolve = null
    resolve?.(outcome)
  }
}
