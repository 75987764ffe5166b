/** Calls of a simulated provider on a clock of our own: no sleeps, and a time-out takes no time. */
import { ANONYMOUS } from '../../src/base/principal.js'
import type { ModelEndpoint } from '../../src/gateway/catalog/catalog.js'
import type {
  ChatEvent,
  ChatRequest,
  Completion,
  RoutedRequest,
} from '../../src/gateway/formats/canonical.js'
import type { CallHandle, ProviderCall, ProviderFailure } from '../../src/gateway/providers/port/provider.js'
import type { Behaviour } from '../../src/simulator/behaviour.js'
import { BUILT_IN_MODELS } from '../../src/simulator/built-in-models.js'
import type { GeneratedFiles } from '../../src/simulator/generated-file.js'
import { SimulatedProvider } from '../../src/simulator/simulated-provider.js'
import { TimerWheel, type WheelClock } from '../../src/simulator/timer-wheel.js'
import { assembledCompletion } from '../support/clients/chat-assembled.js'

/** Time that stands still until it is moved. Turns are run one by one. */
export class FakeClock implements WheelClock {
  time: number
  #timer: { at: number; callback: () => void } | null = null
  #turns: (() => void)[] = []
  /** How often a timer was set. */
  armed = 0

  constructor(time = 1000.25) {
    this.time = time
  }

  now(): number {
    return this.time
  }

  setTimer(ms: number, callback: () => void): () => void {
    if (this.#timer !== null) throw new Error('a second timer was set')
    const timer = { at: this.time + ms, callback }
    this.#timer = timer
    this.armed++
    return () => {
      if (this.#timer === timer) this.#timer = null
    }
  }

  onNextTurn(callback: () => void): void {
    this.#turns.push(callback)
  }

  get hasTimer(): boolean {
    return this.#timer !== null
  }

  get hasTurns(): boolean {
    return this.#turns.length > 0
  }

  /** Runs what was asked for by now, not what it asks for in turn. */
  turn(): void {
    const turns = this.#turns
    this.#turns = []
    for (const callback of turns) callback()
  }

  /** Fires the timer now, however early. */
  fire(): void {
    const timer = this.#timer
    this.#timer = null
    timer?.callback()
  }

  /** Moves to the timer and fires it; false when there is none. `late` is how much later than asked. */
  advance(late = 0): boolean {
    if (this.#timer === null) return false
    this.time = Math.max(this.time, this.#timer.at + late)
    this.fire()
    return true
  }

  /** Runs turns and timers until nothing is left or the condition holds. */
  run(until: () => boolean = () => false): void {
    for (let i = 0; i < 1_000_000 && !until(); i++) {
      if (this.hasTurns) this.turn()
      else if (!this.advance()) return
    }
  }
}

/** Keeps nothing, and says that it does. */
export const FAKE_FILES: GeneratedFiles = {
  store: async (_, filename, { byteLength: sizeBytes }) => ({
    id: 'file_1',
    filename,
    mimeType: 'text/plain',
    sizeBytes,
  }),
  discard: async () => {},
}

export interface SimulatorSetup {
  readonly clock: FakeClock
  readonly wheel: TimerWheel
  readonly provider: SimulatedProvider
}

export function setUpSimulator({ seed = 7, allowRequestFaults = true } = {}): SimulatorSetup {
  const clock = new FakeClock()
  const wheel = new TimerWheel(clock)
  return {
    clock,
    wheel,
    provider: new SimulatedProvider({ seed, allowRequestFaults, wheel, files: FAKE_FILES }),
  }
}

/** An endpoint of the catalogue with the given behaviour. */
export function endpointOf(simulation: Behaviour, changes: Partial<ModelEndpoint> = {}): ModelEndpoint {
  const endpoint = {
    model: { id: 'sim/test' },
    provider: { name: 'Simulated' },
    upstreamModel: 'sim/test',
    contextLength: null,
    maxCompletionTokens: null,
    simulation,
    ...changes,
  }
  return endpoint as unknown as ModelEndpoint
}

/** The endpoint of a ready-made model. */
export function builtInEndpoint(id: string): ModelEndpoint {
  const model = BUILT_IN_MODELS[id]!
  const changes = {
    model: { id } as ModelEndpoint['model'],
    contextLength: model.context_length,
    maxCompletionTokens: model.max_completion_tokens,
  }
  return endpointOf(model.endpoints[0].simulation, changes)
}

export function userRequest(content: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { messages: [{ role: 'user', content }], ...more }
}

export function providerCall<R extends RoutedRequest = ChatRequest>(
  request: R,
  endpoint: ModelEndpoint,
  more: Partial<ProviderCall<R>> = {},
): ProviderCall<R> {
  return {
    request,
    endpoint,
    generationId: 'gen-test',
    caller: ANONYMOUS,
    endUser: 'nobody',
    serviceTier: undefined,
    simulate: '',
    deadlineAt: Number.POSITIVE_INFINITY,
    repeatable: true,
    droppedFields: [],
    ...more,
  }
}

/** Everything a receiver was told, with the time of each event. */
export class CallRecorder<E extends { readonly type: string } = ChatEvent, A = Completion> {
  readonly events: E[] = []
  readonly times: number[] = []
  readonly sentBodies: unknown[] = []
  flushes = 0
  outcome: 'ended' | ProviderFailure | null = null
  completion: A | null = null
  endedAt = 0
  /** Called at each event; may pause or cancel. */
  onEventCount: (count: number) => void = () => {}
  readonly #clock: FakeClock

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  onRequestSent(body: unknown): void {
    this.sentBodies.push(body)
  }

  onEvent(event: E): void {
    if (this.outcome !== null) throw new Error('an event after the end')
    this.events.push(event)
    this.times.push(this.#clock.time)
    this.onEventCount(this.events.length)
  }

  onFlush(): void {
    this.flushes++
  }

  onEnd(completion?: A): void {
    this.#over('ended')
    this.completion = completion ?? null
  }

  onFailure(failure: ProviderFailure): void {
    this.#over(failure)
  }

  #over(outcome: 'ended' | ProviderFailure): void {
    if (this.outcome !== null) throw new Error('a second end')
    this.outcome = outcome
    this.endedAt = this.#clock.time
  }

  get deltaCount(): number {
    return this.events.filter((event) => event.type === 'delta').length
  }
}

/** What is called: a built-in model by its id, an endpoint, or one that behaves so. */
type CallTarget = string | ModelEndpoint | Behaviour

interface RunOptions extends Partial<ProviderCall> {
  /** A simulator of its own when absent. */
  readonly on?: SimulatorSetup
}

interface StartedCall {
  readonly on: SimulatorSetup
  readonly recorder: CallRecorder
  readonly handle: CallHandle
}

function endpointOfTarget(target: CallTarget): ModelEndpoint {
  if (typeof target === 'string') return builtInEndpoint(target)
  return 'model' in target ? target : endpointOf(target)
}

export function startCall(
  kind: 'stream' | 'complete',
  request: ChatRequest,
  target: CallTarget = {},
  { on = setUpSimulator(), ...more }: RunOptions = {},
): StartedCall {
  const recorder = new CallRecorder(on.clock)
  const call = providerCall(request, endpointOfTarget(target), more)
  return { on, recorder, handle: on.provider[kind](call, recorder) }
}

export const startStream = (request: ChatRequest, target?: CallTarget, options?: RunOptions): StartedCall =>
  startCall('stream', request, target, options)

function runToEnd({ on, recorder }: StartedCall): CallRecorder {
  on.clock.run(() => recorder.outcome !== null)
  return recorder
}

/** Streams to the end. */
export const runStream = (request: ChatRequest, target?: CallTarget, options?: RunOptions): CallRecorder =>
  runToEnd(startCall('stream', request, target, options))

/** Completes to the end. */
export const runCompletion = (
  request: ChatRequest,
  target?: CallTarget,
  options?: RunOptions,
): CallRecorder => runToEnd(startCall('complete', request, target, options))

/** What a client makes of the events: the whole answer, put together. */
export function assembleCompletion(events: readonly ChatEvent[]): Completion {
  const { choices, ...rest } = assembledCompletion(events)
  const [choice] = choices
  const { content, tool_calls: calls } = choice!.message
  const saysText = events.some((event) => event.type === 'delta' && event.delta.content !== undefined)
  const message = { ...choice!.message, content: saysText || calls === undefined ? (content ?? '') : null }
  const logprobs = events.flatMap((event) => (event.type === 'delta' ? (event.logprobs ?? []) : []))
  const gathered = { content: logprobs.flatMap((told) => told.content!), refusal: null }
  return { ...rest, choices: [{ ...choice!, message, logprobs: logprobs.length > 0 ? gathered : null }] }
}
