/** A whole answer of the messages format as a chat completion (contract/gateway 5.6 and 3). */
import type {
  AssistantMessage,
  ChatDelta,
  ChatEvent,
  Completion,
  ReasoningDetail,
  ToolCall,
} from '../../formats/canonical.js'
import { asList, type JsonObject, nonEmptyText, optionalMember } from '../../formats/json-values.js'
import {
  type ContentBlock,
  type ContentBlockEvent,
  type MessagesAnswer,
  type MessagesEvent,
  type StopInfo,
  servedTier,
} from '../../formats/messages.js'
import { StreamAdapter, type StreamReceiver } from '../../providers/port/provider.js'
import { resultAnnotations, toAnnotation } from '../citations.js'
import { finishReasonFor, servedTierForChat, type Translation, withoutUndefined } from '../translation.js'
import { encryptedDetail, textDetail } from './reasoning.js'

export function toCompletion(answer: MessagesAnswer, translation: Translation): Completion {
  const { stop, usage, wireUsage } = answer
  const tier = servedTier(wireUsage)
  const message = toAssistantMessage(answer.content, refusalText(stop), translation)
  return {
    choices: [
      {
        index: 0,
        message,
        finishReason: finishReasonFor(stop.stop_reason),
        native: stop.stop_reason,
        ...optionalMember('stopSequence', stop.stop_sequence ?? undefined),
        logprobs: null,
      },
    ],
    usage,
    serviceTier: tier === null ? null : servedTierForChat(tier),
  }
}

/** What the server says of its refusal, in words; null when it does not refuse, or says nothing. */
function refusalText({ stop_reason, stop_details }: StopInfo): string | null {
  return stop_reason === 'refusal' ? (nonEmptyText(stop_details?.explanation) ?? null) : null
}

/** Texts become one, in their order; thinking and calls stand beside it. */
function toAssistantMessage(
  content: readonly ContentBlock[],
  refusal: string | null,
  translation: Translation,
): AssistantMessage {
  let text = ''
  let reasoning = ''
  const details: ReasoningDetail[] = []
  const calls: ToolCall[] = []
  // In lists: one block of a server may hold more than a call takes arguments.
  const annotations: JsonObject[][] = []
  for (const block of content) {
    annotations.push(resultAnnotations(block, text.length))
    switch (block.type) {
      case 'text': {
        const start = text.length
        text += nonEmptyText(block.text) ?? ''
        annotations.push(toAnnotations(asList(block.citations), start, text.length, translation))
        break
      }
      case 'thinking':
        reasoning += nonEmptyText(block.thinking) ?? ''
        details.push(toTextDetail(block, details.length))
        break
      case 'redacted_thinking':
        details.push(encryptedDetail(details.length, nonEmptyText(block.data) ?? ''))
        break
      case 'tool_use':
        calls.push(toToolCall(block))
        break
      default:
        translation.dropKind('answer', block)
    }
  }
  const cited = annotations.flat()
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    refusal,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(cited.length === 0 ? {} : { annotations: cited }),
  }
}

function toTextDetail({ thinking, signature }: ContentBlock, index: number): ReasoningDetail {
  const told = { text: nonEmptyText(thinking), signature: nonEmptyText(signature) }
  return textDetail(index, withoutUndefined(told))
}

function toToolCall({ id, name, input }: ContentBlock): ToolCall {
  return {
    id: nonEmptyText(id) ?? '',
    type: 'function',
    function: { name: nonEmptyText(name) ?? '', arguments: JSON.stringify(input ?? {}) },
  }
}

/** Of the text from `start` to `end`. Chat has no place for a source without an address. */
function toAnnotations(
  citations: readonly unknown[],
  start: number,
  end: number,
  translation: Translation,
): JsonObject[] {
  return citations.flatMap((citation) => {
    const annotation = toAnnotation(citation, { start, end })
    if (annotation !== null) return [annotation]
    translation.drop('answer.citations')
    return []
  })
}

// ── Streams (contract/gateway 5.8 and 4) ───────────────────────────────────────

export class MessagesToChatStream extends StreamAdapter<MessagesEvent, ChatEvent> {
  readonly #translation: Translation
  #reasonings = 0
  #calls = 0
  /** The call under way has told arguments. */
  #hasArguments = false
  #block: ContentBlock | null = null
  /** Characters of text so far. */
  #length = 0
  /** Where the block under way begins in the text, and what it cites. */
  #blockStart = 0
  #citations: unknown[] | null = null

  constructor(receiver: StreamReceiver<ChatEvent>, translation: Translation) {
    super(receiver)
    this.#translation = translation
  }

  onEvent(event: MessagesEvent): void {
    switch (event.type) {
      case 'block':
        this.#blockEvent(event.event)
        break
      case 'stop':
        this.#emitFinish(event.stop)
        break
      case 'usage': {
        const tier = servedTier(event.wire)
        if (tier !== null) this.emit({ type: 'tier', serviceTier: servedTierForChat(tier) })
        this.emit({ type: 'usage', usage: event.usage })
        break
      }
      case 'start':
        break
    }
  }

  #emitDelta(delta: ChatDelta): void {
    this.emit({ type: 'delta', choice: 0, delta })
  }

  #blockEvent(event: ContentBlockEvent): void {
    if (event.type === 'content_block_delta') this.#readBlockDelta(event.delta)
    else if (event.type === 'content_block_start') this.#startBlock(event.content_block)
    else this.#endBlock()
  }

  #startBlock(block: ContentBlock): void {
    this.#block = block
    this.#blockStart = this.#length
    this.#emitAnnotations(resultAnnotations(block, this.#length))
    switch (block.type) {
      case 'text':
        if (nonEmptyText(block.text) !== undefined) this.#emitText(block.text as string)
        this.#citations = asList(block.citations).length === 0 ? null : [...asList(block.citations)]
        break
      case 'thinking':
        this.#reasonings++
        if (nonEmptyText(block.thinking) !== undefined) this.#emitThought(block.thinking as string)
        break
      case 'redacted_thinking':
        this.#emitDelta({
          reasoning_details: [encryptedDetail(this.#reasonings++, nonEmptyText(block.data) ?? '')],
        })
        break
      case 'tool_use':
        this.#hasArguments = false
        this.#emitToolCall(block)
        break
      default:
        this.#translation.dropKind('answer', block)
    }
  }

  #emitText(content: string): void {
    this.#length += content.length
    this.#emitDelta({ content })
  }

  #emitAnnotations(annotations: readonly JsonObject[]): void {
    if (annotations.length > 0) this.#emitDelta({ annotations })
  }

  #emitToolCall({ id, name }: ContentBlock): void {
    const called = { name: nonEmptyText(name) ?? '', arguments: '' }
    this.#emitDelta({
      tool_calls: [{ index: this.#calls++, id: nonEmptyText(id) ?? '', type: 'function', function: called }],
    })
  }

  #readBlockDelta(delta: ContentBlock): void {
    switch (delta.type) {
      case 'text_delta':
        if (nonEmptyText(delta.text) !== undefined) this.#emitText(delta.text as string)
        break
      case 'input_json_delta':
        this.#emitArguments(nonEmptyText(delta.partial_json) ?? '')
        break
      case 'thinking_delta':
        if (nonEmptyText(delta.thinking) !== undefined) this.#emitThought(delta.thinking as string)
        break
      case 'signature_delta': {
        const signature = nonEmptyText(delta.signature) ?? ''
        this.#emitDelta({ reasoning_details: [textDetail(this.#reasonings - 1, { signature })] })
        break
      }
      case 'citations_delta':
        this.#citations ??= []
        this.#citations.push(delta.citation)
        break
    }
  }

  #emitThought(text: string): void {
    this.#emitDelta({ reasoning: text, reasoning_details: [textDetail(this.#reasonings - 1, { text })] })
  }

  /** Arguments of tools that the server runs itself are dropped: chat knows no such calls. */
  #emitArguments(json: string): void {
    if (json === '' || this.#block?.type !== 'tool_use') return
    this.#hasArguments = true
    this.#emitDelta({ tool_calls: [{ index: this.#calls - 1, function: { arguments: json } }] })
  }

  /** A call without arguments streams none, and chat wants the empty object all the same. */
  #endBlock(): void {
    const block = this.#block
    if (block?.type === 'tool_use' && !this.#hasArguments)
      this.#emitArguments(JSON.stringify(block.input ?? {}))
    this.#block = null
    if (this.#citations === null) return
    // Only now it is known how far the text goes that they stand for.
    const cited = toAnnotations(this.#citations, this.#blockStart, this.#length, this.#translation)
    this.#citations = null
    this.#emitAnnotations(cited)
  }

  #emitFinish(stop: StopInfo): void {
    const refusal = refusalText(stop)
    if (refusal !== null) this.#emitDelta({ refusal })
    const native = stop.stop_reason
    const stopSequence = stop.stop_sequence ?? undefined
    const reason = finishReasonFor(native)
    this.emit({
      type: 'finish',
      choice: 0,
      reason,
      native,
      ...optionalMember('stopSequence', stopSequence),
    })
  }
}
