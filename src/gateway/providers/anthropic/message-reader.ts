/** The events of a streamed message, read in their order (contract/gateway 5.8). */

import { RepeatedEvent } from '../../../upstream/repeated-event.js'
import { asObject, type JsonObject, nonEmptyText, parseJsonAnswer } from '../../formats/json-values.js'
import type {
  ContentBlock,
  ContentBlockEvent,
  MessagesAnswer,
  MessagesEvent,
  MessagesUsage,
  StopInfo,
} from '../../formats/messages.js'
import type { StreamDefect, StreamReader } from '../http/answer-format.js'
import { mergeFigures, parseMessagesUsage, plausibleFigures } from './usage.js'

export function isMessageStop(data: string): boolean {
  return asObject(parseJsonAnswer(data))?.type === 'message_stop'
}

/** Stands for the text of any other delta. */
const PROBE = 'probe'

/** Turns what the server sends into events, checks that blocks come one after the other, and remembers the end. */
export class MessageEventReader implements StreamReader<MessagesEvent> {
  private usageFigures: MessagesUsage | null = null
  private stop: StopInfo | null = null
  private started = false
  private begun = 0
  private open = false
  /** The block that deltas of the form that was asked for last belong to. */
  private repeatedIndex = 0

  constructor(private readonly tell: (event: MessagesEvent) => void) {}

  read(data: string): StreamDefect | 'end' | null {
    // Some servers end with a word of another format; `message_stop` is what counts.
    if (data === '[DONE]') return null
    const members = asObject(parseJsonAnswer(data))
    if (members === null) return { malformed: 'an event that is no JSON object' }
    if (members.type === 'message_stop') return 'end'
    if (members.type === 'error' || (members.type === undefined && members.error)) {
      return { error: members.error ?? members }
    }
    const malformed = this.readEvent(members, data)
    return malformed === null ? null : { malformed }
  }

  formOf(data: string, name: string): RepeatedEvent | null {
    const form = RepeatedEvent.of(name, data, 'text')
    if (form === null) return null
    const probe = asObject(parseJsonAnswer(form.dataWith(PROBE)))
    const index = this.begun - 1
    if (JSON.stringify(probe) !== JSON.stringify(textDelta(index, PROBE))) return null
    this.repeatedIndex = index
    return form
  }

  readRepeated({ text, data }: RepeatedEvent): void {
    this.tell({ type: 'block', data, event: textDelta(this.repeatedIndex, text) })
  }

  /** The text of an event goes on unchanged where it is part of a block. Events of unknown types are dropped. */
  private readEvent(members: JsonObject, data: string): string | null {
    switch (members.type) {
      case 'message_start':
        this.readMessageStart(asObject(members.message))
        return null
      case 'message_delta':
        this.addFigures(asObject(members.usage))
        this.stop = parseStopInfo(asObject(members.delta) ?? {}, members)
        return null
      case 'content_block_start':
      case 'content_block_delta':
      case 'content_block_stop': {
        const malformed = this.advanceBlocks(members)
        if (malformed !== null) return malformed
        const event = members as unknown as ContentBlockEvent
        this.tell({ type: 'block', data: replaceLineEnds(data), event })
        return null
      }
      default:
        return null
    }
  }

  /** What is wrong with an event at this place of the answer, or null: blocks come one after the other. */
  private advanceBlocks({ type, index, content_block, delta }: JsonObject): string | null {
    if (type === 'content_block_start') {
      if (parseBlock(content_block) === null || this.open || index !== this.begun)
        return 'a block out of its order'
      if (!this.started) this.readMessageStart(null)
      this.open = true
      this.begun++
      return null
    }
    const isOpen = this.open && index === this.begun - 1
    if (type === 'content_block_delta') {
      if (!isOpen) return 'a delta of no open block'
      return parseBlock(delta) === null ? 'a delta without a type' : null
    }
    if (!isOpen) return 'the end of no open block'
    this.open = false
    return null
  }

  close(): string | null {
    if (this.open) return 'a block without its end'
    if (this.stop === null) return 'a message without its end'
    this.tell({ type: 'stop', stop: this.stop })
    const usage = this.usage()
    if (usage !== null) this.tell(usage)
    return null
  }

  /** Only final figures, and only of content. */
  usageBeforeFailure(): MessagesEvent | null {
    return this.stop !== null && this.begun > 0 ? this.usage() : null
  }

  private usage(): MessagesEvent | null {
    const usage = parseMessagesUsage(this.usageFigures)
    return usage === null ? null : { type: 'usage', usage, wire: this.usageFigures }
  }

  private readMessageStart(message: JsonObject | null): void {
    const usage = asObject(message?.usage)
    this.addFigures(usage)
    if (this.started) return
    this.started = true
    const container = asObject(message?.container)
    this.tell({ type: 'start', usage: plausibleFigures(usage), ...(container !== null && { container }) })
  }

  private addFigures(usage: JsonObject | null): void {
    if (usage !== null) this.usageFigures = mergeFigures(this.usageFigures, usage)
  }
}

function textDelta(index: number, text: string): ContentBlockEvent {
  return { type: 'content_block_delta', index, delta: { type: 'text_delta', text } }
}

/** Data over several lines is legal, and between the members of JSON a line end says no more than a space. */
function replaceLineEnds(data: string): string {
  return data.includes('\n') ? data.replaceAll('\n', ' ') : data
}

// ── Whole answers, and the same as the events of a stream (contract/gateway 5.6 to 5.8) ───

/** Null when the body is no message. Blocks are kept as they came, those of unknown kinds included. */
export function parseMessage(body: JsonObject): MessagesAnswer | null {
  if (body.role !== 'assistant' || !Array.isArray(body.content)) return null
  const content = body.content.map(parseBlock)
  if (!content.every((block) => block !== null)) return null
  const told = asObject(body.usage)
  const usage = parseMessagesUsage(told)
  return { content, stop: parseStopInfo(body, body), usage, wireUsage: plausibleFigures(told) }
}

/** Null for what is no block. */
function parseBlock(value: unknown): ContentBlock | null {
  const block = asObject(value)
  return block === null || nonEmptyText(block.type) === undefined ? null : (block as ContentBlock)
}

/** Why an answer ended. `around` is what `delta` stands in: it tells what was done to the context. */
function parseStopInfo(delta: JsonObject, around: JsonObject): StopInfo {
  const managed = asObject(around.context_management)
  return {
    stop_reason: nonEmptyText(delta.stop_reason) ?? null,
    stop_sequence: typeof delta.stop_sequence === 'string' ? delta.stop_sequence : null,
    stop_details: asObject(delta.stop_details),
    container: asObject(delta.container),
    ...(managed !== null && { context_management: managed }),
  }
}

// ── As events ───────────────────────────────────────────────────────────────

/** A whole answer as the events of a stream, for a server that does not stream when asked to. */
export function answerEvents(answer: MessagesAnswer): readonly MessagesEvent[] {
  const events: MessagesEvent[] = [{ type: 'start', usage: answer.wireUsage }]
  answer.content.forEach((block, index) => {
    for (const event of blockEvents(block, index)) {
      events.push({ type: 'block', data: JSON.stringify(event), event })
    }
  })
  events.push({ type: 'stop', stop: answer.stop })
  if (answer.usage !== null) events.push({ type: 'usage', usage: answer.usage, wire: answer.wireUsage })
  return events
}

/** A block begins empty and is filled by deltas; one of another kind begins as it is. */
function blockEvents(block: ContentBlock, index: number): readonly ContentBlockEvent[] {
  const { empty, deltas } = splitIntoDeltas(block)
  return [
    { type: 'content_block_start', index, content_block: { ...block, ...empty } },
    ...deltas.map((delta): ContentBlockEvent => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

interface SplitBlock {
  /** Members of the block that are empty in its beginning. */
  readonly empty: JsonObject
  readonly deltas: readonly ContentBlock[]
}

function splitIntoDeltas({ type, text, thinking, signature, citations, input }: ContentBlock): SplitBlock {
  if (type === 'text' && typeof text === 'string') {
    const delta: ContentBlock = { type: 'text_delta', text }
    if (!Array.isArray(citations)) return { empty: { text: '' }, deltas: [delta] }
    const cited = citations.map((citation) => ({ type: 'citations_delta', citation }))
    return { empty: { text: '', citations: [] }, deltas: [delta, ...cited] }
  }
  if (type === 'thinking' && typeof thinking === 'string') {
    const deltas: ContentBlock[] = [{ type: 'thinking_delta', thinking }]
    if (typeof signature === 'string') deltas.push({ type: 'signature_delta', signature })
    return { empty: { thinking: '', signature: '' }, deltas }
  }
  if (type === 'tool_use' || type === 'server_tool_use') {
    const partial_json = JSON.stringify(input ?? {})
    return { empty: { input: {} }, deltas: [{ type: 'input_json_delta', partial_json }] }
  }
  return { empty: {}, deltas: [] }
}
