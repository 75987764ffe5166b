/** Scripts of turns in the messages format for tests, and what a conversation makes of them without a loop. */
import { randomBytes } from 'node:crypto'
import type {
  ContentBlock,
  ContentBlockEvent,
  MessagesAnswer,
  MessagesEvent,
  MessagesRequest,
} from '../../../src/gateway/formats/messages.js'
import type { RequestedTool } from '../../../src/gateway/formats/tooling.js'
import { messagesTurns } from '../../../src/gateway/loop/messages/messages-conversation.js'
import { ReplaySeal } from '../../../src/gateway/loop/replay-seal.js'
import type { CallResult, LoopEnd, OfferedFunction, TurnCall } from '../../../src/gateway/loop/turn-format.js'
import { answerEvents } from '../../../src/gateway/providers/anthropic/message-reader.js'
import { CALLER, requested } from '../../support/tools/tool-call.js'

export const SEAL = new ReplaySeal(randomBytes(32))

export const ASKED: MessagesRequest = {
  model: 'sim/agent',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'go' }],
  tools: [{ name: 'lookup', input_schema: { type: 'object' } }],
}

export function offer(name: string, tool: Partial<RequestedTool> = {}, more: object = {}): OfferedFunction {
  const asked = { ...requested(name), ...tool }
  return { name, tool: asked, function: { name, description: name, parameters: { type: 'object' }, ...more } }
}

export const OFFERED: readonly OfferedFunction[] = [
  offer('web_search'),
  offer('web_fetch'),
  offer('datetime'),
  offer('bash'),
  offer(
    'sim__echo',
    { name: 'mcp', parameters: { server_label: 'sim' } },
    { origin: { server: 'sim', tool: 'echo' } },
  ),
]

/** What each tool answers with. */
export function resultOf(call: TurnCall, offered: OfferedFunction | null): CallResult {
  const base = { call, offered, isError: false, citations: [] }
  if (offered === null || call.arguments.includes('fail')) {
    return { ...base, content: { error: 'it failed' }, isError: true }
  }
  switch (offered.tool.name) {
    case 'web_search': {
      const citations = [{ url: 'https://a.example/', title: 'A', content: 'Words of A', pageAge: 'today' }]
      return { ...base, content: { results: citations }, citations }
    }
    case 'web_fetch': {
      const content = {
        url: 'https://a.example/',
        title: 'A',
        content: 'All of A',
        retrieved_at: '2026-01-01T00:00:00Z',
      }
      return { ...base, content }
    }
    case 'mcp':
      return { ...base, content: { origin: 'MCP server sim', text: 'said' } }
    default:
      return { ...base, content: { stdout: '1', exit_code: 0 } }
  }
}

export interface ScriptedTurn {
  readonly content: readonly ContentBlock[]
  readonly stop: string
}

/** The events of one turn. A text block comes in two pieces. */
function turnEvents({ content, stop }: ScriptedTurn): readonly MessagesEvent[] {
  const stopInfo = { stop_reason: stop, stop_sequence: null, stop_details: null, container: null }
  return answerEvents({ content, stop: stopInfo, usage: null, wireUsage: { input_tokens: 1 } }).flatMap(
    splitText,
  )
}

function splitText(event: MessagesEvent): readonly MessagesEvent[] {
  if (event.type !== 'block' || event.event.type !== 'content_block_delta') return [event]
  const { delta, index } = event.event
  if (delta.type !== 'text_delta' || String(delta.text).length < 2) return [event]
  const text = String(delta.text)
  return [text.slice(0, 1), text.slice(1)].map((piece) => {
    const part = { ...event.event, index, delta: { ...delta, text: piece } } as ContentBlockEvent
    return { type: 'block', event: part, data: JSON.stringify(part) }
  })
}

interface Played {
  readonly events: readonly MessagesEvent[]
  readonly answer: MessagesAnswer
  /** What each turn was asked. */
  readonly requests: readonly MessagesRequest[]
  readonly text: string
}

export interface PlayOptions {
  readonly request?: MessagesRequest
  readonly offered?: readonly OfferedFunction[]
  readonly end?: LoopEnd
  /** The last turn may call nothing; where there are several, this is so. */
  readonly isLastOff?: boolean
  /** Results come from the last call to the first. */
  readonly isReversed?: boolean
  readonly answerTo?: typeof resultOf
}

/** Plays turns as the loop does: calls of ours are answered, calls of the caller hand over. */
export function play(turns: readonly ScriptedTurn[], options: PlayOptions = {}): Played {
  const { request = ASKED, offered = OFFERED, isReversed = false, answerTo = resultOf } = options
  const { isLastOff = turns.length > 1 && options.end === undefined } = options
  const events: MessagesEvent[] = []
  const requests: MessagesRequest[] = []
  const tools = offered.map(({ tool }) => tool)
  const tooling = { tools, plugins: [], disabled: [], stopWhen: null, maxToolCalls: 30 }
  const emit = (event: MessagesEvent): number => events.push(event)
  const conversation = messagesTurns.begin(request, { caller: CALLER, seal: SEAL, tooling, offered, emit })
  let how: LoopEnd = 'answered'
  for (const [at, turn] of turns.entries()) {
    requests.push(conversation.request(at === turns.length - 1 && isLastOff ? 'off' : 'on'))
    for (const event of turnEvents(turn)) conversation.take(event)
    const { calls, callerCalls, isBroken } = conversation.endTurn()
    if (isBroken || (calls.length === 0 && callerCalls.length === 0)) break
    const results = calls.map((call) =>
      answerTo(call, offered.find(({ name }) => name === call.name) ?? null),
    )
    for (const result of isReversed ? results.toReversed() : results) conversation.callEnded?.(result)
    if (results.length > 0) conversation.addResults(results)
    if (callerCalls.length === 0 || (isLastOff && at === turns.length - 1)) continue
    how = 'handed-over'
    break
  }
  conversation.end(options.end ?? how)
  return { events, requests, answer: conversation.answer(), text: conversation.text() }
}

/** The blocks that the events of an answer make, with the rules of their order checked as they come. */
export function assembled(events: readonly MessagesEvent[]): ContentBlock[] {
  const blocks: Record<string, unknown>[] = []
  let open = false
  for (const [at, { type, ...rest }] of events.entries()) {
    if (type === 'start' && at > 0) throw new Error('a second start')
    if (type === 'stop' && (open || at !== events.length - 1)) throw new Error('an end in the middle')
    if (type !== 'block') continue
    const { event, data } = rest as { event: ContentBlockEvent; data: string }
    if (data !== JSON.stringify(event) && JSON.stringify(JSON.parse(data)) !== JSON.stringify(event))
      throw new Error(`the text of an event says something else: ${data}`)
    const isStart = event.type === 'content_block_start'
    if (isStart === open) throw new Error(`${event.type} out of order`)
    if (event.index !== (isStart ? blocks.length : blocks.length - 1)) throw new Error('a gap')
    if (isStart) blocks.push({ ...event.content_block })
    open = event.type !== 'content_block_stop'
    if (event.type === 'content_block_delta') apply(blocks.at(-1)!, event.delta)
  }
  return blocks.map(({ json, ...block }) => {
    return (json === undefined
      ? block
      : { ...block, input: JSON.parse(String(json)) }) as unknown as ContentBlock
  })
}

function apply(block: Record<string, unknown>, delta: ContentBlock): void {
  const grow = (member: string, piece: unknown): void => {
    block[member] = String(block[member] ?? '') + String(piece)
  }
  if (delta.type === 'text_delta') grow('text', delta.text)
  else if (delta.type === 'thinking_delta') grow('thinking', delta.thinking)
  else if (delta.type === 'signature_delta') grow('signature', delta.signature)
  else if (delta.type === 'input_json_delta') grow('json', delta.partial_json)
  else if (delta.type === 'citations_delta')
    block.citations = [...((block.citations ?? []) as readonly unknown[]), delta.citation]
  else throw new Error(`unknown delta ${delta.type}`)
}
