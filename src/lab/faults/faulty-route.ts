import { type HttpCall, isStreamBody, type Reply, type Route } from '../../transport/exchange.js'
import type { OperationRecorder } from '../recorder/operation-recorder.js'
import type { LabRecorder } from '../recorder/recorder.js'
import { decideFaults, type FaultDecision } from './fault-decision.js'
import type { ActiveFault } from './fault-plan.js'
import type { HeldAnswers } from './held-answers.js'
import { LAB_HEADERS, parseRequestedFault, parseSendingTimes } from './lab-headers.js'
import { type StreamFaults, streamOfBody, withStreamFaults } from './stream-faults.js'

/** What a route needs of the fault registry. */
export interface FaultContext {
  /** In the order they were made. */
  readonly faults: readonly ActiveFault[]
  readonly recorder: LabRecorder
  readonly toMonotonic: number
  /** Calls that a hold keeps back. */
  readonly held: HeldAnswers
  /** Calls that only take longer. */
  readonly slowed: HeldAnswers
  /** Recorders of runs that count only calls which name them. */
  readonly runRecorders: ReadonlyMap<string, LabRecorder>
}

/** The answer of a call that will get none. */
const NEVER_ANSWERED = new Promise<Reply>(() => {})

/** A route whose answers can go wrong on purpose, and that reads the lab's request headers. */
export function wrapWithFaults(route: Route, context: FaultContext): Route {
  const operation = route.operation ?? ''
  const faulty = new FaultyRouteCalls(route, context, context.recorder.operation(operation))
  return {
    ...route,
    headers: [...route.headers, ...LAB_HEADERS],
    admit: (call) => {
      faulty.recordSendingTimes(call)
      faulty.attributeToRun(call)
      return route.admit(call)
    },
    onSettled: (arrivedAt, status, bytesIn, bytesOut, aborted, call) => {
      route.onSettled(arrivedAt, status, bytesIn, bytesOut, aborted, call)
      if (context.runRecorders.size > 0) {
        faulty
          .runRecorderOf(call)
          ?.recordSettled(performance.now() - arrivedAt, status, bytesIn, bytesOut, aborted, arrivedAt)
      }
    },
    answer: (call) => {
      const decision = decideFaults(call, operation, context.faults, parseRequestedFault(call))
      const echo = call.header('x-lab-echo') === '1'
      return decision === null && !echo ? route.answer(call) : faulty.answer(call, decision, echo)
    },
  }
}

class FaultyRouteCalls {
  readonly #route: Route
  readonly #context: FaultContext
  readonly #recorder: OperationRecorder
  readonly #name: string
  readonly #runRecorders = new WeakMap<HttpCall, OperationRecorder>()

  constructor(route: Route, context: FaultContext, recorder: OperationRecorder) {
    this.#route = route
    this.#context = context
    this.#recorder = recorder
    this.#name = recorder.name
  }

  /** Records when the call was due and sent, as far as its generator says so. */
  recordSendingTimes(call: HttpCall): void {
    const sending = parseSendingTimes(call)
    if (sending === null) return
    const { due, sent } = sending
    if (sent === null) return
    if (due !== null) this.#recorder.recordDuration(call.arrivedAt, 'lateness', sent - due)
    this.#recorder.recordDuration(call.arrivedAt, 'wait', call.arrivedAt + this.#context.toMonotonic - sent)
  }

  /** Counts the call for the run that it names as well. */
  attributeToRun(call: HttpCall): void {
    const recorderOfRun = this.#context.runRecorders.get(call.header('x-lab-run'))
    if (recorderOfRun === undefined) return
    const recorder = recorderOfRun.operation(this.#name)
    recorder.recordArrival(call.arrivedAt)
    this.#runRecorders.set(call, recorder)
  }

  runRecorderOf(call: HttpCall): OperationRecorder | undefined {
    return this.#runRecorders.get(call)
  }

  answer(call: HttpCall, decision: FaultDecision | null, echo: boolean): Reply | Promise<Reply> {
    if (decision === null || (decision.heldUntil === 0 && decision.slowMs === 0))
      return this.#answerNow(call, decision, echo)
    const { held, recorder } = this.#context
    if (decision.heldUntil > 0 && held.size >= decision.maxHeld) {
      recorder.addMark(null, 'a hold reached its bound: calls beyond it got 503')
      this.#countFault(call, 'hold-refused')
      return this.#route.refuse('unavailable', call)
    }
    return this.#answerLater(call, decision, echo)
  }

  async #answerLater(call: HttpCall, decision: FaultDecision, echo: boolean): Promise<Reply> {
    const { held, slowed } = this.#context
    // Route and transport let go of the body when the turn is over.
    const { body } = call
    if (decision.heldUntil > 0) {
      this.#countFault(call, 'hold')
      await held.wait(decision.heldUntil)
    }
    if (decision.slowMs > 0) {
      this.#countFault(call, 'slow')
      await slowed.wait(performance.now() + decision.slowMs)
    }
    if (call.aborted) return NEVER_ANSWERED
    ;(call as { body: Uint8Array }).body = body
    const reply = this.#answerNow(call, decision, echo)
    return reply instanceof Promise ? reply : copyBorrowedBody(reply)
  }

  #answerNow(call: HttpCall, decision: FaultDecision | null, echo: boolean): Reply | Promise<Reply> {
    if (decision?.reset === true && call.disconnect !== undefined) {
      this.#countFault(call, 'reset')
      call.disconnect()
      return NEVER_ANSWERED
    }
    if (decision !== null && decision.error > 0) {
      this.#countFault(call, 'error')
      return errorReply(decision.error)
    }
    const reply = this.#route.answer(call)
    const finished = (answer: Reply): Reply =>
      this.#completeReply(call, answer, decision?.streamFaults ?? null, echo)
    return reply instanceof Promise ? reply.then(finished) : finished(reply)
  }

  #completeReply(call: HttpCall, reply: Reply, streamFaults: StreamFaults | null, echo: boolean): Reply {
    const { body } = reply
    const timing = echo ? this.#timingHeaders(call) : null
    const headers = timing === null ? reply.headers : [...reply.headers, ...timing]
    if (body === null || (streamFaults === null && !(echo && isStreamBody(body))))
      return { ...reply, headers }
    const ports = { onFault: (kind: string) => this.#countFault(call, kind), drop: () => call.disconnect?.() }
    const all = {
      ...streamFaults,
      ...(echo && { closingComment: () => `: lab ${this.#serverTiming(call)}\n\n` }),
    }
    if (isStreamBody(body)) return { ...reply, headers, body: withStreamFaults(body, all, ports) }
    // A whole body has no tokens; all that can go wrong with it on its way is its pace.
    if (streamFaults?.bytesPerS === undefined || !(typeof body === 'string' || body instanceof Uint8Array)) {
      return { ...reply, headers }
    }
    const { bytesPerS } = streamFaults
    return { ...reply, headers, body: withStreamFaults(streamOfBody(body), { bytesPerS }, ports) }
  }

  #timingHeaders(call: HttpCall): readonly (readonly [string, string])[] {
    return [
      ['Server-Timing', this.#serverTiming(call)],
      ['X-Lab-Seq', String(this.#context.recorder.ring.count)],
    ]
  }

  /** `svc` up to the answer, `wait` from the generator's sending to here, `lag` of the loop just now. */
  #serverTiming(call: HttpCall): string {
    const { toMonotonic, recorder } = this.#context
    const sent = parseSendingTimes(call)?.sent ?? null
    const wait = sent === null ? '' : `, wait;dur=${(call.arrivedAt + toMonotonic - sent).toFixed(3)}`
    return `svc;dur=${(performance.now() - call.arrivedAt).toFixed(3)}${wait}, lag;dur=${recorder.lastLag.toFixed(3)}`
  }

  #countFault(call: HttpCall, kind: string): void {
    this.#recorder.recordFault(call.arrivedAt, kind)
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
function copyBorrowedBody(reply: Reply): Reply {
  return reply.body instanceof Uint8Array ? { ...reply, body: Uint8Array.from(reply.body) } : reply
}
