/** Puts the events of a streamed answer together, as the whole answer would have said it (contract/gateway 3.2, 4.3). */
import type { Fault } from '../../../base/fault.js'
import type {
  AssistantMessage,
  ChatDelta,
  ChatEvent,
  ChatFinish,
  Completion,
  Logprobs,
  ReasoningDetail,
  ToolCall,
  ToolCallDelta,
} from '../../formats/canonical.js'
import type { JsonObject } from '../../formats/json-values.js'

/** A call of a function as far as it has come. */
interface GrowingCall {
  id: string
  name: string
  arguments: string
}

type Growing<T> = T extends readonly (infer V)[] ? V[] : T
type GrowingLogprobs = { -readonly [K in keyof Logprobs]: Growing<Logprobs[K]> }

export class ChatAssembly {
  #content: string | null = null
  #reasoning: string | null = null
  #refusal: string | null = null
  #audio: JsonObject | null = null
  readonly #details: ReasoningDetail[] = []
  readonly #images: JsonObject[] = []
  readonly #annotations: JsonObject[] = []
  readonly #calls = new Map<number, GrowingCall>()
  #logprobs: GrowingLogprobs | null = null
  #fingerprint: string | undefined
  finish: ChatFinish | null = null
  /** Why it broke off. */
  error: Fault | null = null

  get text(): string {
    return this.#content ?? ''
  }

  /** `alone`: what else the model has said and called is forgotten; pictures and annotations stay. */
  replaceText(text: string, alone: boolean): void {
    this.#content = text
    this.#logprobs = null
    if (!alone) return
    this.#reasoning = null
    this.#refusal = null
    this.#audio = null
    this.#details.length = 0
    this.#calls.clear()
  }

  /** How many details there are of what was thought. */
  get detailCount(): number {
    return this.#details.length
  }

  add(event: ChatEvent): void {
    if (event.type === 'delta') this.#addDelta(event.delta, event.logprobs)
    else if (event.type === 'finish') this.finish = event
    else if (event.type === 'fingerprint') this.#fingerprint = event.fingerprint
  }

  #addDelta(delta: ChatDelta, logprobs: Logprobs | undefined): void {
    const { content, reasoning, refusal, reasoning_details, audio, images, annotations, tool_calls } = delta
    if (content !== undefined) this.#content = (this.#content ?? '') + content
    if (reasoning !== undefined) this.#reasoning = (this.#reasoning ?? '') + reasoning
    if (refusal !== undefined) this.#refusal = (this.#refusal ?? '') + refusal
    if (reasoning_details !== undefined) for (const detail of reasoning_details) this.#addDetail(detail)
    if (audio !== undefined) this.#addAudio(audio)
    if (images !== undefined) this.#images.push(...images)
    if (annotations !== undefined) this.#annotations.push(...annotations)
    if (tool_calls !== undefined) for (const call of tool_calls) this.#addCall(call)
    if (logprobs !== undefined) this.#addLogprobs(logprobs)
  }

  /** Pieces of one detail come one behind the other, with the same index. */
  #addDetail(detail: ReasoningDetail): void {
    const last = this.#details.at(-1)
    if (last === undefined || last.type !== detail.type || last.index !== detail.index || isWhole(last)) {
      this.#details.push(detail)
      return
    }
    const joined: Record<string, unknown> = { ...last }
    for (const [name, value] of Object.entries(detail)) {
      const before = joined[name]
      const grows = GROWING.has(name) && typeof before === 'string' && typeof value === 'string'
      if (value !== null && value !== undefined) joined[name] = grows ? before + value : value
    }
    this.#details[this.#details.length - 1] = joined as ReasoningDetail
  }

  #addAudio(piece: JsonObject): void {
    const audio: Record<string, unknown> = { ...this.#audio }
    for (const [name, value] of Object.entries(piece)) {
      const before = audio[name]
      const grows = GROWING_SOUND.has(name) && typeof before === 'string' && typeof value === 'string'
      audio[name] = grows ? before + value : value
    }
    this.#audio = audio
  }

  #addCall({ index, id, function: { name, arguments: piece } }: ToolCallDelta): void {
    let call = this.#calls.get(index)
    if (call === undefined) {
      call = { id: '', name: '', arguments: '' }
      this.#calls.set(index, call)
    }
    if (id !== undefined) call.id = id
    if (name !== undefined) call.name += name
    call.arguments += piece ?? ''
  }

  #addLogprobs({ content, refusal }: Logprobs): void {
    const all = (this.#logprobs ??= { content: null, refusal: null })
    for (const each of content ?? []) (all.content ??= []).push(each)
    for (const each of refusal ?? []) (all.refusal ??= []).push(each)
  }

  /** In the order of their indices. */
  get calls(): readonly ToolCall[] {
    return [...this.#calls]
      .sort(([one], [other]) => one - other)
      .map(([index, { id, name, arguments: given }]) => ({
        // Some servers give none, and a result has to name its call.
        id: id === '' ? `call_${index}` : id,
        type: 'function' as const,
        function: { name, arguments: given },
      }))
  }

  get message(): AssistantMessage {
    const { calls } = this
    return {
      role: 'assistant',
      content: this.#content,
      refusal: this.#refusal,
      ...(this.#reasoning !== null && { reasoning: this.#reasoning }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
      ...(this.#audio !== null && { audio: this.#audio }),
      ...(this.#images.length > 0 && { images: this.#images }),
      ...(this.#annotations.length > 0 && { annotations: this.#annotations }),
      ...(calls.length > 0 && { tool_calls: calls }),
    }
  }

  get completion(): Completion {
    const { reason, native, stopSequence } = this.finish ?? { reason: 'stop' as const, native: null }
    const ended = stopSequence === undefined ? {} : { stopSequence }
    const choice = {
      index: 0,
      message: this.message,
      finishReason: reason,
      native,
      ...ended,
      logprobs: this.#logprobs,
      ...(this.error !== null && { error: this.error }),
    }
    const told = this.#fingerprint === undefined ? {} : { fingerprint: this.#fingerprint }
    return { choices: [choice], usage: null, serviceTier: null, ...told }
  }
}

/** Members of a detail that come piece by piece. */
const GROWING: ReadonlySet<string> = new Set(['text', 'summary', 'data'])
const GROWING_SOUND: ReadonlySet<string> = new Set(['data', 'transcript'])

/** Nothing is added to what has been signed, nor to what is not read piece by piece. */
function isWhole({ type, signature, id }: ReasoningDetail): boolean {
  if (type === 'reasoning.server_tool_call') return true
  return typeof signature === 'string' && signature !== '' && id === undefined
}
