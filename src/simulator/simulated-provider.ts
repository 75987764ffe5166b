import type { Fault } from '../base/fault.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { MessagesRequest } from '../gateway/formats/messages.js'
import type {
  CallHandle,
  CompletionReceiver,
  EmbeddingsApi,
  FailureReceiver,
  MessagesApi,
  Provider,
  ProviderCall,
  ProviderFailure,
  SpeechApi,
  StreamReceiver,
  TargetEndpoint,
  TranscriptionApi,
} from '../gateway/providers/port/provider.js'
import { AnswerGenerator } from './answer/answer-generator.js'
import { DEFAULT_ANSWER_TOKENS, planAnswer } from './answer/plan-answer.js'
import { digestPrompt } from './answer/prompt-digest.js'
import { simulatedSpeech, simulatedTranscription } from './audio/audio-apis.js'
import { AwaitedCall } from './awaited-call.js'
import { type Behaviour, type CompiledBehaviour, compileBehaviour } from './behaviour.js'
import { constantSampler } from './distribution.js'
import { simulatedEmbeddings } from './embeddings.js'
import { type FaultPoint, planningFailure, scheduleFault, UnsupportedRequest } from './faults.js'
import {
  CreatingCompletion,
  CreatingStream,
  type Creation,
  draftFile,
  draftPicture,
  type GeneratedFiles,
} from './generated-file.js'
import { type MessagesPlan, planMessages } from './messages/messages-plan.js'
import { toChatRequest } from './messages/messages-prompt.js'
import { MessagesStreamWriter, messagesCompletionReceiver } from './messages/messages-stream-writer.js'
import type { SeededRandom } from './random.js'
import { type PreparedCall, RejectedCall, ScheduledCompletion, ScheduledStream } from './scheduled-call.js'
import { parseSimulateHeader } from './simulate-header.js'
import type { TapedFinish, TapedPace } from './tape-deck.js'
import { type FoundDeck, TapedEndpoint, TapeShelf } from './tape-shelf.js'
import type { TimerWheel } from './timer-wheel.js'

interface SimulatedProviderOptions {
  /** Everything made up follows from it and from the request. */
  readonly seed: number
  /** Whether a request may choose behaviour and faults by X-Service-Simulate. */
  readonly allowRequestFaults: boolean
  /** Of the worker, shared by all its simulated providers. */
  readonly wheel: TimerWheel
  /** Keeps what models make. */
  readonly files: GeneratedFiles
}

const DEFAULT_LENGTH = constantSampler(DEFAULT_ANSWER_TOKENS)

/** What is kept for an endpoint as long as the catalogue holds it. */
interface SimulatedEndpointState {
  readonly configured: Behaviour
  readonly behaviour: CompiledBehaviour
  /** Where its paces are replayed. */
  readonly taped: TapedEndpoint | null
  /** Calls so far; a flap alternates by it. */
  calls: number
}

/**
 * A provider that makes its answers up (contract/decisions 29: an equal request gets an equal answer) and fails on
 * request. It opens no socket and keeps no state but counters; failures look exactly as a real provider's would.
 */
export class SimulatedProvider implements Provider {
  readonly #options: SimulatedProviderOptions
  readonly #endpoints = new WeakMap<TargetEndpoint, SimulatedEndpointState>()
  readonly #tapes = new TapeShelf()
  readonly speech: SpeechApi
  readonly embeddings: EmbeddingsApi
  readonly transcription: TranscriptionApi

  constructor(options: SimulatedProviderOptions) {
    this.#options = options
    const scheduleTurnFault = (call: ProviderCall<RoutedRequest>) => this.#scheduleTurnFault(call)
    this.embeddings = simulatedEmbeddings(scheduleTurnFault)
    this.speech = simulatedSpeech(scheduleTurnFault)
    this.transcription = simulatedTranscription(scheduleTurnFault, options.seed)
  }

  stream(call: ProviderCall, receiver: StreamReceiver): CallHandle {
    return this.#whenRead(call, receiver, (deck) => {
      const prepared = this.#prepare(call, deck)
      return 'fault' in prepared ? this.#reject(prepared, receiver) : this.#startStream(prepared, receiver)
    })
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): CallHandle {
    return this.#whenRead(call, receiver, (deck) => {
      const prepared = this.#prepare(call, deck)
      if ('fault' in prepared) return this.#reject(prepared, receiver)
      return this.#startCompletion(prepared, receiver)
    })
  }

  readonly messages: MessagesApi = {
    stream: (call, receiver) =>
      this.#whenRead(call, receiver, (deck) => {
        const prepared = this.#prepareMessages(call, deck)
        if ('fault' in prepared) return this.#reject(prepared, receiver)
        const writer = new MessagesStreamWriter(receiver, prepared.plan)
        return writer.attach(this.#startStream(prepared, writer))
      }),
    complete: (call, receiver) =>
      this.#whenRead(call, receiver, (deck) => {
        const prepared = this.#prepareMessages(call, deck)
        if ('fault' in prepared) return this.#reject(prepared, receiver)
        return this.#startCompletion(prepared, messagesCompletionReceiver(receiver, prepared.plan))
      }),
  }

  /** Begins at once, but for the calls of a tape that has to be read first. */
  #whenRead(
    { endpoint }: ProviderCall<RoutedRequest>,
    receiver: FailureReceiver,
    begin: (deck: FoundDeck | null) => CallHandle,
  ): CallHandle {
    const deck = this.#stateOf(endpoint).taped?.deck() ?? null
    return deck instanceof Promise ? new AwaitedCall(deck, receiver, begin) : begin(deck)
  }

  /** As many as an answer would say. */
  async countMessages(call: ProviderCall<MessagesRequest>): Promise<number | Fault> {
    try {
      const chat = toChatRequest(call.request, false)
      return digestPrompt({ ...call, request: chat }, this.#options.seed).tokens
    } catch (error) {
      return planningFailure(error, call.endpoint.provider.name).fault
    }
  }

  #reject(failure: ProviderFailure, receiver: FailureReceiver): CallHandle {
    return new RejectedCall(this.#options.wheel, failure, receiver)
  }

  #startStream(prepared: PreparedCall, receiver: StreamReceiver): CallHandle {
    const { wheel } = this.#options
    if (prepared.create === null) return new ScheduledStream(wheel, prepared, receiver)
    const adapter = new CreatingStream(prepared.create, receiver)
    return adapter.attach(new ScheduledStream(wheel, prepared, adapter))
  }

  #startCompletion(prepared: PreparedCall, receiver: CompletionReceiver): CallHandle {
    const { wheel } = this.#options
    if (prepared.create === null) return new ScheduledCompletion(wheel, prepared, receiver)
    const adapter = new CreatingCompletion(prepared.create, receiver)
    return adapter.attach(new ScheduledCompletion(wheel, prepared, adapter))
  }

  #prepare(call: ProviderCall, deck: FoundDeck | null): PreparedCall | ProviderFailure {
    try {
      return this.#plan(call, this.#behaviourOf(call), deck, true)
    } catch (error) {
      return planningFailure(error, call.endpoint.provider.name)
    }
  }

  /** The same answer to the same words; what the messages format adds is planned beside it. */
  #prepareMessages(
    call: ProviderCall<MessagesRequest>,
    deck: FoundDeck | null,
  ): (PreparedCall & { readonly plan: MessagesPlan }) | ProviderFailure {
    try {
      const asked = this.#behaviourOf(call)
      const chat = toChatRequest(call.request, asked.redacts)
      // Every request of this format names a limit, so it is none to be filled.
      const behaviour = { ...asked, tokens: asked.tokens ?? DEFAULT_LENGTH }
      const prepared = this.#plan({ ...call, request: chat }, behaviour, deck, false)
      const answer = prepared.generator.plan
      return { ...prepared, plan: planMessages({ request: call.request, answer, behaviour }) }
    } catch (error) {
      return planningFailure(error, call.endpoint.provider.name)
    }
  }

  /** `shows`: the format of the answer has a place for pictures. Of the deck it keeps the stream that is replayed. */
  #plan(
    call: ProviderCall,
    behaviour: CompiledBehaviour,
    found: FoundDeck | null,
    shows: boolean,
  ): PreparedCall {
    const state = this.#stateOf(call.endpoint)
    const { name } = call.endpoint.provider
    const deck = found?.() ?? null
    let pace: TapedPace | null = null
    const draw = (random: SeededRandom): number => {
      const { tapeStream } = behaviour
      pace = tapeStream === null ? deck!.draw(random) : deck!.pick(tapeStream, random)
      return pace.tokens
    }
    const asked = deck === null ? behaviour : { ...behaviour, tokens: { constant: null, draw } }
    const planned = planAnswer(call, asked, this.#options.seed)
    const taped = pace as TapedPace | null
    const generator = endAs(planned, taped?.finishReason ?? null)
    const calls = state.calls++
    const failure = behaviour.fault === null ? (taped?.failure(name) ?? null) : null
    const faults =
      failure === null
        ? scheduleFault(behaviour.fault, generator.plan.seed, calls, name)
        : { fault: failure, firstTokenMs: null }
    const create = this.#creationOf(call, generator, behaviour, shows)
    return { call, generator, faults, behaviour, pace: taped, create }
  }

  #creationOf(
    call: ProviderCall,
    { plan: { seed } }: AnswerGenerator,
    { makesFile, paints }: CompiledBehaviour,
    shows: boolean,
  ): Creation | null {
    const { files } = this.#options
    if (paints) return draftPicture(call, seed, shows ? null : files)
    return makesFile ? draftFile(call, files) : null
  }

  #scheduleTurnFault(call: ProviderCall<RoutedRequest>): FaultPoint | null {
    const { fault } = this.#behaviourOf(call)
    const calls = this.#stateOf(call.endpoint).calls++
    return scheduleFault(fault, null, calls, call.endpoint.provider.name).fault
  }

  /** The endpoint's behaviour, with what the request asks for on top where it may. */
  #behaviourOf(call: ProviderCall<RoutedRequest>): CompiledBehaviour {
    const { configured, behaviour, taped } = this.#stateOf(call.endpoint)
    if (call.simulate === '') return behaviour
    const isAllowed = this.#options.allowRequestFaults
    if (!isAllowed && taped === null) throw new UnsupportedRequest(NOT_ALLOWED)
    const { tape_stream: tapeStream, ...asked } = parseSimulateHeader(call.simulate)
    // Which stream is replayed costs and breaks nothing: whoever configures a tape allows it.
    if (!isAllowed && Object.keys(asked).length > 0) throw new UnsupportedRequest(NOT_ALLOWED)
    if (tapeStream !== undefined && taped === null) throw new UnsupportedRequest(NO_TAPE)
    const reasons = asked.reasoning_tokens === undefined ? {} : ({ reasons: 'always' } as const)
    return compileBehaviour({ ...configured, ...asked, ...reasons }, tapeStream)
  }

  #stateOf(endpoint: TargetEndpoint): SimulatedEndpointState {
    const known = this.#endpoints.get(endpoint)
    if (known !== undefined) return known
    // The catalogue has validated it by `behaviourSchema`.
    const configured = (endpoint.simulation ?? {}) as Behaviour
    const { tape } = configured
    const parts = tape === undefined ? null : [tape].flat()
    const taped = parts === null ? null : new TapedEndpoint(this.#tapes, parts, endpoint.upstreamModel)
    const state = { configured, behaviour: compileBehaviour(configured), taped, calls: 0 }
    this.#endpoints.set(endpoint, state)
    return state
  }
}

const NOT_ALLOWED = "X-Service-Simulate is not allowed by this server's configuration"
const NO_TAPE = 'X-Service-Simulate: tape_stream is for models that replay a tape'

/** The same answer with another reason for its end; one that the request's own limits have cut keeps its own. */
function endAs(answer: AnswerGenerator, finishReason: TapedFinish | null): AnswerGenerator {
  if (finishReason === null || answer.plan.finishReason !== 'stop') return answer
  return new AnswerGenerator({ ...answer.plan, finishReason })
}
