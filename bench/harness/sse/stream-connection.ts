/** Single streams on connections of 127.0.0.1, one after the other, each checked to its last event. */
import { CheckedStream, type StreamOutcome, type TokenWatcher } from './checked-stream.js'
import { RawStreamConnection } from './raw-stream-connection.js'

const SILENCE_LIMIT_MS = 30_000

export class StreamConnection {
  readonly #lane: RawStreamConnection<StreamOutcome>
  #call: CheckedStream | null = null
  #resolve: ((outcome: StreamOutcome) => void) | null = null

  private constructor(port: number, timeoutMs: number, settled: (open: boolean) => void) {
    this.#lane = new RawStreamConnection({ address: '127.0.0.1', port }, null, {
      opened: (lane) => {
        lane.setIdleTimeout(SILENCE_LIMIT_MS)
        settled(true)
      },
      ended: (_lane, outcome) => this.#settle(outcome),
      gone: () => settled(false),
    })
    this.#lane.setIdleTimeout(timeoutMs)
  }

  /** Opens a connection; null when it is refused or nobody accepts it in `timeoutMs`. */
  static open(port: number, timeoutMs = 5_000): Promise<StreamConnection | null> {
    return new Promise((resolve) => {
      const connection = new StreamConnection(port, timeoutMs, (open) => resolve(open ? connection : null))
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

  /** Stops reading, so that the kernel's buffers fill and the server feels it. */
  pause(): void {
    this.#lane.pause()
  }

  resume(): void {
    this.#lane.resume()
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
