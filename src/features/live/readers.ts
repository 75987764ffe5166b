/** The readers of the live feed whose connections lie on this worker. */
import { Fault, throwFault } from '../../base/fault.js'
import type { MaybePromise } from '../../base/maybe-promise.js'
import { EventStreamBody } from '../../http/event-stream.js'
import type { LiveRefusal, ScopeName } from '../../telemetry/live/live-report.js'

/** How long a browser waits before it connects again, milliseconds. */
const BEGIN = 'retry: 1000\n\n'

/**
 * Why the server ends a stream: `credential` no longer counts, the `rights` of the caller have changed, or the `server`
 * stops or wants the connection back. After the last two a reader connects again.
 */
type EndReason = 'credential' | 'rights' | 'server'

const endEvent = (reason: EndReason): string => `event: end\ndata: {"reason":"${reason}"}\n\n`

/** The supervisor, which counts readers and makes what they read. */
interface LiveSource {
  /** Null where it takes the reader. Rejects with `unavailable` when it does not answer. */
  enter(scope: ScopeName, caller: string): Promise<LiveRefusal | null>
  leave(scope: ScopeName, caller: string): void
}

/** Who reads. */
interface LiveReaderFacts {
  readonly scope: ScopeName
  /** Whose readers are counted together. */
  readonly caller: string
  /** The scope that the credential of the call opens at this moment; fails as the call would. */
  readonly renew: () => MaybePromise<ScopeName>
}

const TOO_MANY: Readonly<Record<LiveRefusal, Fault>> = {
  caller: new Fault('rate-limited', { note: 'You read the live feed too often at a time', retryAfter: 5 }),
  server: new Fault('unavailable', { note: 'Too many read the live feed', retryAfter: 5 }),
}

export class LiveReaders {
  readonly #source: LiveSource
  readonly #readers = new Map<ScopeName, Set<LiveReader>>()
  #closed = false

  constructor(source: LiveSource) {
    this.#source = source
  }

  /**
   * The stream of a reader. `onGone` tells when it has left. Rejects with `rate-limited` when the caller has as many as
   * one may have, with `unavailable` when the server has.
   */
  async open(facts: LiveReaderFacts, onGone: (callback: () => void) => void): Promise<EventStreamBody> {
    const { scope, caller } = facts
    if (this.#closed) throwFault('unavailable', { retryAfter: 1 })
    const refusal = await this.#source.enter(scope, caller)
    if (refusal !== null) throw TOO_MANY[refusal]
    const reader = new LiveReader(facts, () => this.#remove(reader))
    const readers = this.#readers.get(scope)
    if (readers === undefined) this.#readers.set(scope, new Set([reader]))
    else readers.add(reader)
    onGone(() => reader.leave())
    // It may have begun to stop meanwhile.
    if (this.#closed) reader.end('server')
    return reader.body
  }

  deliver(frames: readonly (readonly [ScopeName, string])[]): void {
    for (const [scope, text] of frames) {
      for (const reader of [...(this.#readers.get(scope) ?? [])]) reader.offer(text)
    }
  }

  /** The server stops: all streams end, and no more begin. */
  close(): void {
    this.#closed = true
    for (const readers of [...this.#readers.values()]) for (const reader of [...readers]) reader.end('server')
  }

  #remove(reader: LiveReader): void {
    const { scope, caller } = reader.facts
    const readers = this.#readers.get(scope)
    readers?.delete(reader)
    if (readers?.size === 0) this.#readers.delete(scope)
    this.#source.leave(scope, caller)
  }
}

/**
 * One reader. Before each text its credential is asked for anew, so that nothing is sent by one that has ended. A slow
 * reader gets the latest text when it has caught up; those in between are lost to it.
 */
class LiveReader {
  readonly body: EventStreamBody
  readonly #onLeft: () => void
  #latest: string | null = null
  #isPaused = false
  #isAsking = false
  #isOver = false

  constructor(
    readonly facts: LiveReaderFacts,
    onLeft: () => void,
  ) {
    this.#onLeft = onLeft
    this.body = new EventStreamBody(
      {
        pause: () => {
          this.#isPaused = true
        },
        resume: () => {
          this.#isPaused = false
          this.#sendLatest()
        },
        cancel: () => this.leave(),
        closingEvents: () => endEvent('server'),
      },
      true,
    )
    this.body.push(BEGIN)
  }

  offer(text: string): void {
    this.#latest = text
    this.#sendLatest()
  }

  end(reason: EndReason): void {
    if (this.#isOver) return
    this.leave()
    this.body.push(endEvent(reason))
    this.body.end()
  }

  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#latest = null
    this.#onLeft()
  }

  #sendLatest(): void {
    if (this.#latest === null || this.#isPaused || this.#isAsking || this.#isOver) return
    this.#isAsking = true
    try {
      const scope = this.facts.renew()
      if (scope instanceof Promise) scope.then(this.#send, this.#refuse)
      else this.#send(scope)
    } catch (error) {
      this.#refuse(error)
    }
  }

  readonly #send = (scope: ScopeName): void => {
    this.#isAsking = false
    if (scope !== this.facts.scope) this.end('rights')
    const text = this.#latest
    if (text === null || this.#isPaused) return
    this.#latest = null
    this.body.push(text)
    this.body.flush()
  }

  /** A machine that may not serve for a while says nothing of the credential. */
  readonly #refuse = (error: unknown): void => {
    const isOver = error instanceof Fault && (error.kind === 'unauthenticated' || error.kind === 'forbidden')
    this.end(isOver ? 'credential' : 'server')
  }
}
