/** A whole chat answer in the messages format (contract/gateway 3 and 5.6). */
import type {
  AssistantMessage,
  ChatDelta,
  ChatEvent,
  ChatFinish,
  Completion,
  FinishReason,
  Usage,
} from '../../formats/canonical.js'
import { asObject, type JsonObject, nonEmptyText } from '../../formats/json-values.js'
import {
  blockEventJson,
  type ContentBlock,
  type MessagesAnswer,
  type MessagesEvent,
  type MessagesRequest,
  type MessagesUsage,
  type StopInfo,
} from '../../formats/messages.js'
import { malformedAnswer } from '../../providers/port/failure.js'
import {
  type ProviderCall,
  type ProviderFailure,
  StreamAdapter,
  type StreamReceiver,
} from '../../providers/port/provider.js'
import { toCitation } from '../citations.js'
import { servedTierForMessages, stopReasonFor, type Translation } from '../translation.js'
import { BlockWriter, parseToolInput, toolUseBlock } from './block-writer.js'
import { hidesThinking, toThinkingBlocks } from './reasoning.js'

/** The answer to a call, or the failure of its provider when it broke off or cannot be read. */
export function toMessagesAnswer(
  completion: Completion,
  { request, endpoint }: ProviderCall<MessagesRequest>,
  translation: Translation,
): MessagesAnswer | ProviderFailure {
  const provider = endpoint.provider.name
  const [first] = completion.choices
  const choice = first?.index === 0 ? first : (completion.choices.find(({ index }) => index === 0) ?? first)
  if (choice === undefined) return malformedChatAnswer('an answer without a choice', provider)
  const { message, finishReason: reason } = choice
  if (choice.error !== undefined) return { fault: choice.error, class: 'maybe-processed', status: 200 }
  if (completion.fingerprint !== undefined) translation.drop('answer.system_fingerprint')
  const wireUsage = completion.usage === null ? null : servedTierUsage(completion.serviceTier, translation)
  dropUnsupportedMembers(message, translation)
  const { content: text, refusal, tool_calls: calls = [] } = message
  const inputs = calls.map((call) => parseToolInput(call.function.arguments))
  const wrong = findDefect(reason, inputs.includes(null))
  if (wrong !== null) return malformedChatAnswer(wrong, provider)
  const { uploads, others } = toUploads(message.annotations)
  const citations = toCitations(others, text ? () => true : () => false, translation)
  const content = [
    ...toThinkingBlocks(message, hidesThinking(request)),
    ...(text ? [{ type: 'text', text, citations }] : []),
    ...calls.map((call, at) => toolUseBlock(call.id, call.function.name, inputs[at] ?? {})),
    ...uploads,
  ]
  const stop = toStopInfo(reason, choice, refusal ?? '', calls.length > 0, request)
  const { usage, serviceTier } = completion
  return serviceTier === null
    ? { content, stop, usage, wireUsage }
    : { content, stop, usage, wireUsage, ...untoldTier(serviceTier) }
}

/** The tier that served, where this format has a word for it. */
function servedTierUsage(tier: string | null, translation: Translation): MessagesUsage | null {
  if (tier === null) return null
  const word = servedTierForMessages(tier)
  if (word === null) translation.drop('answer.service_tier')
  return word === null ? null : { service_tier: word }
}

/** A tier that this format has no word for; it has its price all the same. */
function untoldTier(tier: string): { readonly serviceTier?: string } {
  return servedTierForMessages(tier) !== null ? {} : { serviceTier: tier }
}

/** What an assistant cannot say in this format. */
function dropUnsupportedMembers(
  { images, audio }: ChatDelta | AssistantMessage,
  translation: Translation,
): void {
  if (images !== undefined) translation.drop('answer.images')
  if (audio !== undefined) translation.drop('answer.audio')
}

/** Files that came with an answer are blocks here; the other annotations are citations. */
function toUploads(annotations: readonly JsonObject[] = []) {
  const uploads: ContentBlock[] = []
  const others = annotations.filter(({ type, file }) => {
    const id = type === 'file' ? nonEmptyText(asObject(file)?.file_id) : undefined
    if (id !== undefined) uploads.push({ type: 'container_upload', file_id: id })
    return id === undefined
  })
  return { uploads, others }
}

/** The citations that annotations are, those that `takes` lets in; the others are named. */
function toCitations(
  annotations: readonly JsonObject[] = [],
  takes: (citation: JsonObject) => boolean,
  translation: Translation,
): JsonObject[] {
  return annotations.flatMap((annotation) => {
    const citation = toCitation(annotation)
    if (citation !== null && takes(citation)) return [citation]
    translation.drop('answer.annotations')
    return []
  })
}

/** An answer that broke off is no answer here; a call that was cut off by the limit is one. In words for the log. */
function findDefect(reason: FinishReason, hasMalformedCall: boolean): string | null {
  if (reason === 'error') return 'an answer that ended with an error'
  return hasMalformedCall && reason !== 'length' ? 'a tool call whose arguments are no JSON object' : null
}

/** Only a stop sequence that was asked for is one: servers have other words under its name. */
function toStopInfo(
  reason: FinishReason,
  { native, stopSequence = '' }: Omit<ChatFinish, 'reason'>,
  refusal: string,
  calls: boolean,
  { stop_sequences: stops = [] }: MessagesRequest,
): StopInfo {
  const meant = refusal !== '' ? 'content_filter' : reason === 'error' ? 'stop' : reason
  const stop_reason = stopReasonFor(meant, native, calls, stops.includes(stopSequence) ? stopSequence : null)
  const explanation = refusal === '' ? null : refusal
  return {
    stop_reason,
    stop_sequence: stop_reason === 'stop_sequence' && stopSequence !== '' ? stopSequence : null,
    stop_details: meant === 'content_filter' ? { type: 'refusal', category: null, explanation } : null,
    container: null,
  }
}

function malformedChatAnswer(detail: string, provider: string): ProviderFailure {
  return malformedAnswer(detail, { name: provider, secrets: [] }, 200)
}

// ── Streams (contract/gateway 4 and 5.8) ───────────────────────────────────────

/** Annotations that may come before the text. */
const MOST_EARLY = 1_000

export class ChatToMessagesStream extends StreamAdapter<ChatEvent, MessagesEvent> {
  readonly #target: ProviderCall<MessagesRequest>
  readonly #translation: Translation
  readonly #blocks: BlockWriter
  #started = false
  #finish: ChatFinish = { reason: 'stop', native: null }
  #usage: Usage | null = null
  #tier: string | null = null
  #refusal = ''
  #early: JsonObject[] = []
  /** Blocks that stand behind all others. */
  readonly #uploads: ContentBlock[] = []

  /** `target`: the call that this answers. */
  constructor(
    receiver: StreamReceiver<MessagesEvent>,
    target: ProviderCall<MessagesRequest>,
    translation: Translation,
  ) {
    super(receiver)
    this.#target = target
    this.#translation = translation
    this.#blocks = new BlockWriter(
      (event) => this.emit({ type: 'block', data: blockEventJson(event), event }),
      hidesThinking(target.request),
    )
  }

  onEvent(event: ChatEvent): void {
    switch (event.type) {
      case 'delta':
        if (event.choice === 0) this.#readDelta(event.delta)
        break
      case 'finish':
        if (event.choice === 0) this.#finish = event
        break
      case 'usage':
        this.#usage = event.usage
        break
      case 'tier':
        this.#tier = event.serviceTier
        break
      case 'fingerprint':
        this.#translation.drop('answer.system_fingerprint')
        break
    }
  }

  #readDelta(delta: ChatDelta): void {
    if (!this.#started) {
      this.#started = true
      this.emit({ type: 'start', usage: null })
    }
    if (delta.refusal !== undefined) this.#refusal += delta.refusal
    dropUnsupportedMembers(delta, this.#translation)
    this.#blocks.add(delta)
    if (delta.annotations !== undefined || (this.#early.length > 0 && delta.content)) {
      const { uploads, others } = toUploads(delta.annotations)
      this.#uploads.push(...uploads)
      this.#cite([...this.#early.splice(0), ...others])
    }
  }

  /** What comes before the text that it stands for waits for that. */
  #cite(annotations: readonly JsonObject[]): void {
    if (!this.#blocks.hasText && annotations.length <= MOST_EARLY) this.#early = [...annotations]
    else toCitations(annotations, (citation) => this.#blocks.cite(citation), this.#translation)
  }

  override onEnd(): void {
    if (this.#early.length > 0) this.#translation.drop('answer.annotations')
    this.#blocks.close()
    for (const upload of this.#uploads) this.#blocks.emitWhole(upload)
    const wrong = findDefect(this.#finish.reason, this.#blocks.hasMalformedCall)
    if (wrong !== null) {
      this.onFailure(malformedChatAnswer(wrong, this.#target.endpoint.provider.name))
      return
    }
    const stop = toStopInfo(
      this.#finish.reason,
      this.#finish,
      this.#refusal,
      this.#blocks.callCount > 0,
      this.#target.request,
    )
    this.emit({ type: 'stop', stop })
    this.#emitUsage()
    if (!this.cancelled) this.receiver.onEnd()
  }

  /** Figures are content here, and may only be told of an answer that has begun. */
  override onFailure(failure: ProviderFailure): void {
    if (this.#blocks.blockCount > 0) this.#emitUsage()
    this.receiver.onFailure(failure)
  }

  #emitUsage(): void {
    if (this.#usage === null) return
    const wire = servedTierUsage(this.#tier, this.#translation)
    this.emit({ type: 'usage', usage: this.#usage, wire, ...(this.#tier !== null && untoldTier(this.#tier)) })
  }
}
