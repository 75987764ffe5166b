import type { HttpCall, Reply, ResponseBody, Route, StreamResponseBody } from '../../transport/exchange.js'
import type { OperationRecorder } from '../recorder/operation-recorder.js'
import { decideFaults, type FaultDecision } from './fault-decision.js'
import type { FaultRegistry } from './fault-registry.js'
import { LAB_HEADERS, parseRequestedFault, readSendingTime } from './lab-headers.js'
import { type StreamFaults, streamOfBody, withStreamFaults } from './stream-faults.js'

/** The answer of a call that will get none. */
const NEVER_ANSWERED = new Promise<Reply>(() => {})

/** A route whose answers can go wrong on purpose, and that reads the lab's request headers. */
export function wrapWithFaults(route: Route, registry: FaultRegistry): Route {
  const operation = route.operation ?? ''
  const faulty = new FaultyRouteCalls(route, registry, registry.recorder.operation(operation))
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
      if (registry.runRecorders.size > 0) {
        faulty
          .runRecorderOf(call)
          ?.recordSettled(performance.now() - arrivedAt, status, bytesIn, bytesOut, aborted, arrivedAt)
      }
    },
    answer: (call) => {
      const decision = decideFaults(call, operation, registry.faults, parseRequestedFault(call))
      const echo = call.header('x-lab-echo') === '1'
      return decision === null && !echo ? route.answer(call) : faulty.answer(call, decision, echo)
    },
  }
}

class FaultyRouteCalls {
  readonly #route: Route
  readonly #registry: FaultRegistry
  readonly #recorder: OperationRecorder
  readonly #runRecorders = new WeakMap<HttpCall, OperationRecorder>()

  constructor(route: Route, registry: FaultRegistry, recorder: OperationRecorder) {
    this.#route = route
    this.#registry = registry
    this.#recorder = recorder
  }

  /** Records when the call was due and sent, as far as its generator says so. */
  recordSendingTimes(call: HttpCall): void {
    const sent = readSendingTime(call, 'x-lab-sent')
    if (sent === null) return
    const due = readSendingTime(call, 'x-lab-due')
    if (due !== null) this.#recorder.recordDuration(call.arrivedAt, 'lateness', sent - due)
    this.#recorder.recordDuration(call.arrivedAt, 'wait', call.arrivedAt + this.#registry.toMonotonic - sent)
  }

  /** Counts the call for the run that it names as well. */
  attributeToRun(call: HttpCall): void {
    const recorderOfRun = this.#registry.runRecorders.get(call.header('x-lab-run'))
    if (recorderOfRun === undefined) return
    const recorder = recorderOfRun.operation(this.#recorder.name)
    recorder.recordArrival(call.arrivedAt)
    this.#runRecorders.set(call, recorder)
  }

  runRecorderOf(call: HttpCall): OperationRecorder | undefined {
    return this.#runRecorders.get(call)
  }

  answer(call: HttpCall, decision: FaultDecision | null, echo: boolean): Reply | Promise<Reply> {
    if (decision === null || (decision.heldUntil === 0 && decision.slowMs === 0))
      return this.#answerNow(call, decision, echo)
    const { held, recorder } = this.#registry
    if (decision.heldUntil > 0 && held.size >= decision.maxHeld) {
      recorder.addMark(null, 'a hold reached its bound: calls beyond it got 503')
      this.#countFault(call, 'hold-refused')
      return this.#route.refuse('unavailable', call)
    }
    return this.#answerLater(call, decision, echo)
  }

  async #answerLater(call: HttpCall, decision: FaultDecision, echo: boolean): Promise<Reply> {
    const { held, slowed } = this.#registry
    // The transport lets go of the body when the turn is over, and of the bytes of a large one.
    const body = new Uint8Array(call.body)
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
    const answer = echo ? { ...reply, headers: [...reply.headers, ...this.#timingHeaders(call)] } : reply
    const ports = { onFault: (kind: string) => this.#countFault(call, kind), drop: () => call.disconnect?.() }
    if (isStreamBody(body)) {
      if (streamFaults === null && !echo) return answer
      const closingComment = () => `: lab ${this.#serverTiming(call)}\n\n`
      const faults = { ...streamFaults, ...(echo && { closingComment }) }
      return { ...answer, body: withStreamFaults(body, faults, ports) }
    }
    // A whole body has no tokens; all that can go wrong with it on its way is its pace.
    const bytesPerS = streamFaults?.bytesPerS
    const isWhole = typeof body === 'string' || body instanceof Uint8Array
    if (bytesPerS === undefined || !isWhole) return answer
    return { ...answer, body: withStreamFaults(streamOfBody(body), { bytesPerS }, ports) }
  }

  #timingHeaders(call: HttpCall): readonly (readonly [string, string])[] {
    return [
      ['Server-Timing', this.#serverTiming(call)],
      ['X-Lab-Seq', String(this.#registry.recorder.arrivals)],
    ]
  }

  /** `svc` up to the answer, `wait` from the generator's sending to here, `lag` of the loop just now. */
  #serverTiming(call: HttpCall): string {
    const { toMonotonic, recorder } = this.#registry
    const sent = readSendingTime(call, 'x-lab-sent')
    const wait = sent === null ? '' : `, wait;dur=${(call.arrivedAt + toMonotonic - sent).toFixed(3)}`
    return `svc;dur=${(performance.now() - call.arrivedAt).toFixed(3)}${wait}, lag;dur=${recorder.lastLag.toFixed(3)}`
  }

  #countFault(call: HttpCall, kind: string): void {
    this.#recorder.recordFault(call.arrivedAt, kind)
  }
}

const FAULT_MESSAGE = 'A fault on purpose'

/** Its own words: no dialect has a form for a fault on purpose. */
function errorReply(status: number): Reply {
  return {
    status,
    headers: [
      ['Content-Type', 'application/json'],
      ['X-Lab-Fault', 'error'],
    ],
    body: JSON.stringify({ error: { code: status, message: FAULT_MESSAGE }, detail: FAULT_MESSAGE }),
  }
}

/** Borrowed bytes are good for the turn in which they were read. */
function copyBorrowedBody(reply: Reply): Reply {
  return reply.body instanceof Uint8Array ? { ...reply, body: Uint8Array.from(reply.body) } : reply
}

function isStreamBody(body: ResponseBody): body is StreamResponseBody {
  return typeof body === 'object' && body !== null && 'start' in body
}
