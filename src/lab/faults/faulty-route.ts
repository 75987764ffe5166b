import { type HttpCall, isStreamBody, type Reply, type Route } from '../../transport/exchange.js'
import type { OperationRecorder } from '../recorder/operation-recorder.js'
import type { Recorder } from '../recorder/recorder.js'
import type { ActiveFault } from './active-fault.js'
import { LAB_HEADERS, sendingOf, wishesOf } from './call-wishes.js'
import { type Fate, fateOf } from './fate.js'
import type { HeldAnswers } from './held-answers.js'
import { asStream, type StreamTroubles, troubled } from './stream-faults.js'

/** What a route needs of the board. */
export interface Misfortunes {
  /** In the order they were made. */
  readonly faults: readonly ActiveFault[]
  readonly recorder: Recorder
  readonly toMonotonic: number
  /** Calls that a hold keeps back. */
  readonly held: HeldAnswers
  /** Calls that only take longer. */
  readonly slowed: HeldAnswers
  /** Recorders of runs that count only calls which name them. */
  readonly lanes: ReadonlyMap<string, Recorder>
}

/** The answer of a call that will get none. */
const NEVER = new Promise<Reply>(() => {})

/** A route whose answers can go wrong on purpose, and that reads the lab's request headers. */
export function faultyRoute(route: Route, board: Misfortunes): Route {
  const operation = route.operation ?? ''
  const faulty = new FaultyRoute(route, board, board.recorder.operation(operation))
  return {
    ...route,
    headers: [...route.headers, ...LAB_HEADERS],
    admit: (call) => {
      faulty.time(call)
      faulty.attribute(call)
      return route.admit(call)
    },
    onSettled: (arrivedAt, status, bytesIn, bytesOut, aborted, call) => {
      route.onSettled(arrivedAt, status, bytesIn, bytesOut, aborted, call)
      if (board.lanes.size > 0) {
        faulty
          .laneOf(call)
          ?.settled(performance.now() - arrivedAt, status, bytesIn, bytesOut, aborted, arrivedAt)
      }
    },
    answer: (call) => {
      const wishes = wishesOf(call)
      const fate =
        board.faults.length === 0 && wishes === null ? null : fateOf(call, operation, board.faults, wishes)
      const echo = call.header('x-lab-echo') === '1'
      return fate === null && !echo ? route.answer(call) : faulty.answer(call, fate, echo)
    },
  }
}

class FaultyRoute {
  readonly #route: Route
  readonly #board: Misfortunes
  readonly #recorder: OperationRecorder
  readonly #name: string
  readonly #lanes = new WeakMap<HttpCall, OperationRecorder>()

  constructor(route: Route, board: Misfortunes, recorder: OperationRecorder) {
    this.#route = route
    this.#board = board
    this.#recorder = recorder
    this.#name = recorder.name
  }

  /** Records when the call was due and sent, as far as its generator says so. */
  time(call: HttpCall): void {
    const sending = sendingOf(call)
    if (sending === null) return
    const { due, sent } = sending
    if (sent === null) return
    if (due !== null) this.#recorder.measured(call.arrivedAt, 'lateness', sent - due)
    this.#recorder.measured(call.arrivedAt, 'wait', call.arrivedAt + this.#board.toMonotonic - sent)
  }

  /** Counts the call for the run that it names as well. */
  attribute(call: HttpCall): void {
    const lane = this.#board.lanes.get(call.header('x-lab-run'))
    if (lane === undefined) return
    const recorder = lane.operation(this.#name)
    recorder.arrived(call.arrivedAt)
    this.#lanes.set(call, recorder)
  }

  laneOf(call: HttpCall): OperationRecorder | undefined {
    return this.#lanes.get(call)
  }

  answer(call: HttpCall, fate: Fate | null, echo: boolean): Reply | Promise<Reply> {
    if (fate === null || (fate.heldUntil === 0 && fate.slowMs === 0)) return this.#begin(call, fate, echo)
    const { held, recorder } = this.#board
    if (fate.heldUntil > 0 && held.size >= fate.maxHeld) {
      recorder.mark(null, 'a hold reached its bound: calls beyond it got 503')
      this.#applied(call, 'hold-refused')
      return this.#route.refuse('unavailable', call)
    }
    return this.#later(call, fate, echo)
  }

  async #later(call: HttpCall, fate: Fate, echo: boolean): Promise<Reply> {
    const { held, slowed } = this.#board
    // Route and transport let go of the body when the turn is over.
    const { body } = call
    if (fate.heldUntil > 0) {
      this.#applied(call, 'hold')
      await held.wait(fate.heldUntil)
    }
    if (fate.slowMs > 0) {
      this.#applied(call, 'slow')
      await slowed.wait(performance.now() + fate.slowMs)
    }
    if (call.aborted) return NEVER
    ;(call as { body: Uint8Array }).body = body
    const reply = this.#begin(call, fate, echo)
    return reply instanceof Promise ? reply : kept(reply)
  }

  #begin(call: HttpCall, fate: Fate | null, echo: boolean): Reply | Promise<Reply> {
    if (fate?.reset === true && call.disconnect !== undefined) {
      this.#applied(call, 'reset')
      call.disconnect()
      return NEVER
    }
    if (fate !== null && fate.error > 0) {
      this.#applied(call, 'error')
      return errorReply(fate.error)
    }
    const reply = this.#route.answer(call)
    const finished = (answer: Reply): Reply => this.#finished(call, answer, fate?.troubles ?? null, echo)
    return reply instanceof Promise ? reply.then(finished) : finished(reply)
  }

  #finished(call: HttpCall, reply: Reply, troubles: StreamTroubles | null, echo: boolean): Reply {
    const { body } = reply
    const timing = echo ? this.#timing(call) : null
    const headers = timing === null ? reply.headers : [...reply.headers, ...timing]
    if (body === null || (troubles === null && !(echo && isStreamBody(body)))) return { ...reply, headers }
    const ports = { applied: (kind: string) => this.#applied(call, kind), drop: () => call.disconnect?.() }
    const all = { ...troubles, ...(echo && { farewell: () => `: lab ${this.#serverTiming(call)}\n\n` }) }
    if (isStreamBody(body)) return { ...reply, headers, body: troubled(body, all, ports) }
    // A whole body has no tokens; all that can go wrong with it on its way is its pace.
    if (troubles?.bytesPerS === undefined || !(typeof body === 'string' || body instanceof Uint8Array)) {
      return { ...reply, headers }
    }
    const { bytesPerS } = troubles
    return { ...reply, headers, body: troubled(asStream(body), { bytesPerS }, ports) }
  }

  #timing(call: HttpCall): readonly (readonly [string, string])[] {
    return [
      ['Server-Timing', this.#serverTiming(call)],
      ['X-Lab-Seq', String(this.#board.recorder.ring.count)],
    ]
  }

  /** `svc` up to the answer, `wait` from the generator's sending to here, `lag` of the loop just now. */
  #serverTiming(call: HttpCall): string {
    const { toMonotonic, recorder } = this.#board
    const sent = sendingOf(call)?.sent ?? null
    const wait = sent === null ? '' : `, wait;dur=${(call.arrivedAt + toMonotonic - sent).toFixed(3)}`
    return `svc;dur=${(performance.now() - call.arrivedAt).toFixed(3)}${wait}, lag;dur=${recorder.lastLag.toFixed(3)}`
  }

  #applied(call: HttpCall, kind: string): void {
    this.#recorder.faulted(call.arrivedAt, kind)
  }
}

/** Its own words: no dialect has a form for a fault on purpose. */
function errorReply(status: number): Reply {
  return {
    status,
    headers: [
      ['Content-Type', 'application/json'],
      ['X-Lab-Fault', 'error'],
    ],
    body: JSON.stringify({
      error: { code: status, message: 'A fault on purpose' },
      detail: 'A fault on purpose',
    }),
  }
}

/** Borrowed bytes are good for the turn in which they were read. */
function kept(reply: Reply): Reply {
  return reply.body instanceof Uint8Array ? { ...reply, body: Uint8Array.from(reply.body) } : reply
}
