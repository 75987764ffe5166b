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
import type { AnswerGenerator } from './answer/answer-generator.js'
import { DEFAULT_ANSWER_TOKENS, planAnswer } from './answer/plan-answer.js'
import { digestPrompt } from './answer/prompt-digest.js'
import { simulatedSpeech, simulatedTranscription } from './audio/audio-apis.js'
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
import { type TapeDeck, type TapedPace, TapeShelf } from './tape-deck.js'
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
  readonly deck: TapeDeck | null
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
    const prepared = this.#prepare(call)
    return 'fault' in prepared ? this.#reject(prepared, receiver) : this.#startStream(prepared, receiver)
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): CallHandle {
    const prepared = this.#prepare(call)
    return 'fault' in prepared ? this.#reject(prepared, receiver) : this.#startCompletion(prepared, receiver)
  }

  readonly messages: MessagesApi = {
    stream: (call, receiver) => {
      const prepared = this.#prepareMessages(call)
      if ('fault' in prepared) return this.#reject(prepared, receiver)
      const writer = new MessagesStreamWriter(receiver, prepared.plan)
      return writer.attach(this.#startStream(prepared, writer))
    },
    complete: (call, receiver) => {
      const prepared = this.#prepareMessages(call)
      if ('fault' in prepared) return this.#reject(prepared, receiver)
      return this.#startCompletion(prepared, messagesCompletionReceiver(receiver, prepared.plan))
    },
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

  #prepare(call: ProviderCall): PreparedCall | ProviderFailure {
    try {
      return this.#plan(call, this.#behaviourOf(call), true)
    } catch (error) {
      return planningFailure(error, call.endpoint.provider.name)
    }
  }

  /** The same answer to the same words; what the messages format adds is planned beside it. */
  #prepareMessages(
    call: ProviderCall<MessagesRequest>,
  ): (PreparedCall & { readonly plan: MessagesPlan }) | ProviderFailure {
    try {
      const asked = this.#behaviourOf(call)
      const chat = toChatRequest(call.request, asked.redacts)
      // Every request of this format names a limit, so it is none to be filled.
      const behaviour = { ...asked, tokens: asked.tokens ?? DEFAULT_LENGTH }
      const prepared = this.#plan({ ...call, request: chat }, behaviour, false)
      const answer = prepared.generator.plan
      return { ...prepared, plan: planMessages({ request: call.request, answer, behaviour }) }
    } catch (error) {
      return planningFailure(error, call.endpoint.provider.name)
    }
  }

  /** `shows`: the format of the answer has a place for pictures. */
  #plan(call: ProviderCall, behaviour: CompiledBehaviour, shows: boolean): PreparedCall {
    const state = this.#stateOf(call.endpoint)
    const { deck } = state
    let pace: TapedPace | null = null
    const tokens = {
      constant: null,
      draw: (random: SeededRandom): number => {
        pace = deck!.draw(random)
        return pace.tokens
      },
    }
    const asked = deck === null ? behaviour : { ...behaviour, tokens }
    const generator = planAnswer(call, asked, this.#options.seed)
    const taped = pace as TapedPace | null
    const fault = behaviour.fault ?? taped?.fault ?? null
    const faults = scheduleFault(fault, generator.plan.seed, state.calls++, call.endpoint.provider.name)
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
    const { configured, behaviour } = this.#stateOf(call.endpoint)
    if (call.simulate === '') return behaviour
    if (!this.#options.allowRequestFaults) {
      throw new UnsupportedRequest("X-Service-Simulate is not allowed by this server's configuration")
    }
    const asked = parseSimulateHeader(call.simulate)
    const reasons = asked.reasoning_tokens === undefined ? {} : ({ reasons: 'always' } as const)
    return compileBehaviour({ ...configured, ...asked, ...reasons })
  }

  #stateOf(endpoint: TargetEndpoint): SimulatedEndpointState {
    const known = this.#endpoints.get(endpoint)
    if (known !== undefined) return known
    // The catalogue has validated it by `behaviourSchema`.
    const configured = (endpoint.simulation ?? {}) as Behaviour
    const { tape } = configured
    const deck = tape === undefined ? null : this.#tapes.deckOf([tape].flat(), endpoint.upstreamModel)
    const state = { configured, behaviour: compileBehaviour(configured), deck, calls: 0 }
    this.#endpoints.set(endpoint, state)
    return state
  }
}
