import type { Fault } from '../base/fault.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from '../gateway/formats/messages.js'
import type {
  CallHandle,
  CompletionReceiver,
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
import { DEFAULT_ANSWER_TOKENS, digestPrompt, planAnswer } from './answer/plan-answer.js'
import { simulatedSpeech, simulatedTranscription } from './audio/audio-apis.js'
import type { Behaviour } from './behaviour.js'
import { type CompiledBehaviour, compileBehaviour } from './compiled-behaviour.js'
import { constantSampler } from './distribution.js'
import { type FaultPoint, failAtOnce, scheduleFault } from './fault-schedule.js'
import { FileGeneratingCompletion, FileGeneratingStream } from './file-generation.js'
import { draftFile, type FileDraft, type GeneratedFiles } from './generated-file.js'
import { type MessagesPlan, planMessages } from './messages/messages-plan.js'
import { toChatRequest } from './messages/messages-prompt.js'
import { MessagesStreamWriter, messagesCompletionReceiver } from './messages/messages-stream-writer.js'
import { rejectRequest } from './provider-failures.js'
import { type PreparedCall, RejectedCall, type Scheduler } from './scheduled-call.js'
import { ScheduledCompletion } from './scheduled-completion.js'
import { ScheduledStream } from './scheduled-stream.js'
import { parseSimulateHeader } from './simulate-header.js'
import type { TimerWheel } from './timer-wheel.js'

interface SimulatedProviderOptions {
  /** Everything made up follows from it and from the request. */
  readonly seed: number
  /** Whether a request may choose behaviour and faults by X-Service-Simulate. */
  readonly allowRequestFaults: boolean
  /** Of the worker, shared by all its simulated providers. */
  readonly wheel: TimerWheel
  /** Keeps what models make; null where nothing can be kept. */
  readonly files: GeneratedFiles | null
}

export interface CountedProvider extends Provider {
  /** Calls under way; zero when every one has ended, failed or been cancelled. */
  activeCalls(): number
}

const DEFAULT_LENGTH = constantSampler(DEFAULT_ANSWER_TOKENS)

/** What is kept for an endpoint as long as the catalogue holds it. */
interface SimulatedEndpointState {
  readonly behaviour: CompiledBehaviour
  /** Calls so far; a flap alternates by it. */
  calls: number
}

/**
 * A provider that makes its answers up (contract/decisions 29: an equal request gets an equal answer) and fails on
 * request. It opens no socket and keeps no state but counters; failures look exactly as a real provider's would.
 */
export function simulatedProvider(options: SimulatedProviderOptions): CountedProvider {
  return new SimulatedProvider(options)
}

class SimulatedProvider implements CountedProvider {
  readonly #options: SimulatedProviderOptions
  readonly #stage: Scheduler
  readonly #endpoints = new WeakMap<TargetEndpoint, SimulatedEndpointState>()
  readonly speech: SpeechApi
  readonly transcription: TranscriptionApi

  constructor(options: SimulatedProviderOptions) {
    this.#options = options
    this.#stage = { wheel: options.wheel, activeCalls: 0 }
    const schedule = (call: ProviderCall<RoutedRequest>): FaultPoint | null => this.#audioFault(call)
    this.speech = simulatedSpeech(schedule)
    this.transcription = simulatedTranscription(schedule, options.seed)
  }

  activeCalls(): number {
    return this.#stage.activeCalls
  }

  stream(call: ProviderCall, receiver: StreamReceiver): CallHandle {
    const part = this.#prepare(call)
    if ('fault' in part) return new RejectedCall(this.#stage, part, receiver)
    const made = this.#draftOf(part)
    if (made === null) return new ScheduledStream(this.#stage, part, receiver)
    if ('fault' in made) return new RejectedCall(this.#stage, made, receiver)
    const file = new FileGeneratingStream(call, made.draft, made.keeper, receiver)
    return file.attach(new ScheduledStream(this.#stage, part, file))
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): CallHandle {
    const part = this.#prepare(call)
    if ('fault' in part) return new RejectedCall(this.#stage, part, receiver)
    const made = this.#draftOf(part)
    if (made === null) return new ScheduledCompletion(this.#stage, part, receiver)
    if ('fault' in made) return new RejectedCall(this.#stage, made, receiver)
    const file = new FileGeneratingCompletion(call, made.draft, made.keeper, receiver)
    return file.attach(new ScheduledCompletion(this.#stage, part, file))
  }

  /** The file that is to be made; null for models that make none. */
  #draftOf({
    call,
    behaviour,
  }: PreparedCall): { readonly draft: FileDraft; readonly keeper: GeneratedFiles } | ProviderFailure | null {
    if (!behaviour.makesFile) return null
    const { files: keeper } = this.#options
    const { name } = call.endpoint.provider
    if (keeper === null) return rejectRequest('This model can keep no files here.', name)
    const draft = draftFile(call.request)
    if (draft === null)
      return rejectRequest('There is nothing in the last user message to make a file of.', name)
    return { draft, keeper }
  }

  readonly messages: MessagesApi = {
    stream: (call, receiver) => this.#streamMessages(call, receiver),
    complete: (call, receiver) => this.#completeMessages(call, receiver),
  }

  #streamMessages(call: ProviderCall<MessagesRequest>, receiver: StreamReceiver<MessagesEvent>): CallHandle {
    const prepared = this.#prepareMessages(call)
    if ('fault' in prepared) return new RejectedCall(this.#stage, prepared, receiver)
    const telling = new MessagesStreamWriter(receiver, prepared.plan)
    const made = this.#draftOf(prepared.part)
    if (made === null) return telling.attach(new ScheduledStream(this.#stage, prepared.part, telling))
    if ('fault' in made) return new RejectedCall(this.#stage, made, receiver)
    const file = new FileGeneratingStream(prepared.part.call, made.draft, made.keeper, telling)
    return telling.attach(file.attach(new ScheduledStream(this.#stage, prepared.part, file)))
  }

  #completeMessages(
    call: ProviderCall<MessagesRequest>,
    receiver: CompletionReceiver<MessagesAnswer>,
  ): CallHandle {
    const prepared = this.#prepareMessages(call)
    if ('fault' in prepared) return new RejectedCall(this.#stage, prepared, receiver)
    const { part, plan } = prepared
    const telling = messagesCompletionReceiver(receiver, plan, part.answer)
    const made = this.#draftOf(part)
    if (made === null) return new ScheduledCompletion(this.#stage, part, telling)
    if ('fault' in made) return new RejectedCall(this.#stage, made, receiver)
    const file = new FileGeneratingCompletion(part.call, made.draft, made.keeper, telling)
    return file.attach(new ScheduledCompletion(this.#stage, part, file))
  }

  /** As many as an answer would say. */
  async countMessages(call: ProviderCall<MessagesRequest>): Promise<number | Fault> {
    const read = toChatRequest(call.request, false)
    const { provider } = call.endpoint
    if ('wrong' in read) return rejectRequest(read.wrong, provider.name).fault
    return digestPrompt({ ...call, request: read.chat }, this.#options.seed).tokens
  }

  #prepare(call: ProviderCall): PreparedCall | ProviderFailure {
    const behaviour = this.#behaviourOf(call)
    if (typeof behaviour === 'string') return rejectRequest(behaviour, call.endpoint.provider.name)
    return this.#partOf(call, behaviour)
  }

  /** The same answer to the same words; what the messages format adds is planned beside it. */
  #prepareMessages(
    call: ProviderCall<MessagesRequest>,
  ): { readonly part: PreparedCall; readonly plan: MessagesPlan } | ProviderFailure {
    const providerName = call.endpoint.provider.name
    const asked = this.#behaviourOf(call)
    if (typeof asked === 'string') return rejectRequest(asked, providerName)
    const read = toChatRequest(call.request, asked.redacts)
    if ('wrong' in read) return rejectRequest(read.wrong, providerName)
    // Every request of this format names a limit, so it is none to be filled.
    const behaviour = { ...asked, tokens: asked.tokens ?? DEFAULT_LENGTH }
    const part = this.#partOf({ ...call, request: read.chat }, behaviour)
    if ('fault' in part) return part
    return { part, plan: planMessages(call.request, part.answer.answer, behaviour, read.searchesWeb) }
  }

  #audioFault(call: ProviderCall<RoutedRequest>): FaultPoint | null {
    const providerName = call.endpoint.provider.name
    const behaviour = this.#behaviourOf(call)
    if (typeof behaviour === 'string') return failAtOnce(rejectRequest(behaviour, providerName))
    const calls = this.#stateOf(call.endpoint).calls++
    return scheduleFault(behaviour.fault, null, calls, providerName).fault
  }

  #behaviourOf(call: ProviderCall<RoutedRequest>): CompiledBehaviour | string {
    const { behaviour } = this.#stateOf(call.endpoint)
    return call.simulate === '' ? behaviour : this.#overlaid(call, behaviour)
  }

  #partOf(call: ProviderCall, behaviour: CompiledBehaviour): PreparedCall | ProviderFailure {
    const script = this.#plan(call, behaviour)
    if (!(script instanceof AnswerGenerator)) return script
    const calls = this.#stateOf(call.endpoint).calls++
    const course = scheduleFault(behaviour.fault, script.answer.seed, calls, call.endpoint.provider.name)
    return { call, answer: script, faults: course, behaviour }
  }

  /** Schemas and tools come from callers; nested a hundred thousand deep they end the stack, not the worker. */
  #plan(call: ProviderCall, behaviour: CompiledBehaviour): AnswerGenerator | ProviderFailure {
    try {
      return planAnswer(call, behaviour, this.#options.seed)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return rejectRequest('The request is nested too deeply for this model.', call.endpoint.provider.name)
    }
  }

  #stateOf(endpoint: TargetEndpoint): SimulatedEndpointState {
    const known = this.#endpoints.get(endpoint)
    if (known !== undefined) return known
    // The catalogue has validated it by `behaviourSchema`.
    const behaviour = compileBehaviour((endpoint.simulation ?? {}) as Behaviour)
    const state = { behaviour, calls: 0 }
    this.#endpoints.set(endpoint, state)
    return state
  }

  /** The behaviour with what the request asks for on top; a sentence when it may not, or asks wrongly. */
  #overlaid(call: ProviderCall<RoutedRequest>, base: CompiledBehaviour): CompiledBehaviour | string {
    if (!this.#options.allowRequestFaults) {
      return "X-Service-Simulate is not allowed by this server's configuration"
    }
    const asked = parseSimulateHeader(call.simulate)
    if ('wrong' in asked) return asked.wrong
    const own = compileBehaviour(asked.behaviour)
    const { first_token_ms, gap_ms, tokens, reasoning_tokens } = asked.behaviour
    return {
      firstTokenMs: first_token_ms === undefined ? base.firstTokenMs : own.firstTokenMs,
      gapMs: gap_ms === undefined ? base.gapMs : own.gapMs,
      tokens: tokens === undefined ? base.tokens : own.tokens,
      reasoningTokens: reasoning_tokens === undefined ? base.reasoningTokens : own.reasoningTokens,
      reasonsAlways: reasoning_tokens === undefined ? base.reasonsAlways : true,
      fault: own.fault ?? base.fault,
      seed: own.seed ?? base.seed,
      stopReason: own.stopReason ?? base.stopReason,
      makesFile: base.makesFile,
      redacts: asked.behaviour.thinking === undefined ? base.redacts : own.redacts,
    }
  }
}
