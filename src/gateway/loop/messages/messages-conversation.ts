/** A loop of server tools in the messages format (contract/tools 1): what each turn is asked, and what the caller sees. */
import { hash } from 'node:crypto'
import { type ChatRequest, NO_USAGE } from '../../formats/canonical.js'
import { contentText } from '../../formats/content-parts.js'
import { asObject, parseJson } from '../../formats/json-values.js'
import type {
  ContentBlock,
  MessagesAnswer,
  MessagesEvent,
  MessagesMessage,
  MessagesRequest,
  MessagesTool,
  MessagesToolChoice,
  MessagesUsage,
  StopInfo,
} from '../../formats/messages.js'
import { messagesFormat } from '../../metering/messages-format.js'
import type { CreatedFile, ToolFunction, UrlCitation } from '../../tools/port/tool.js'
import { placeOfAddress } from '../named-address.js'
import type {
  AnswerExtras,
  CallResult,
  Conversation,
  LoopContext,
  LoopEnd,
  OfferedFunction,
  TurnEnd,
  TurnFormat,
  TurnTools,
} from '../turn-format.js'
import { asChatRequest } from './as-chat.js'
import { citationOf } from './citations.js'
import { DeferredTools } from './deferred-tools.js'
import { messagesQuestion } from './messages-question.js'
import { MessagesTurn } from './messages-turn.js'
import { callBlock, resultBlock, type ShownCall, shownId } from './native-blocks.js'
import { leaveToProvider } from './native-choice.js'
import { resumeMessages } from './replay.js'
import { ShownBlocks } from './shown-blocks.js'

export const messagesTurns: TurnFormat<MessagesRequest, MessagesEvent, MessagesAnswer> = Object.freeze({
  format: messagesFormat,
  resume: resumeMessages,
  leaveToProvider,
  question: messagesQuestion,
  begin: (request: MessagesRequest, loop: LoopContext<MessagesEvent>) =>
    new MessagesConversation(request, loop),
})

const NO_STOP: StopInfo = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }

const NONCE_CHARS = 16

const MOST_CITED = 100

/** Blocks that say something of the model's own. */
const WORDS: ReadonlySet<string> = new Set(['text', 'tool_use', 'server_tool_use', 'mcp_tool_use'])

class MessagesConversation implements Conversation<MessagesRequest, MessagesEvent, MessagesAnswer> {
  readonly pausesAtLimit: boolean
  readonly oneCallATurn: boolean
  readonly #base: MessagesRequest
  readonly #loop: LoopContext<MessagesEvent>
  readonly #callerTools: ReadonlySet<string>
  readonly #deferred: DeferredTools
  readonly #shown: ShownBlocks
  /** What results of searches and the like have shown, by address. */
  readonly #sources = new Map<string, UrlCitation>()
  readonly #unshown: UrlCitation[] = []
  readonly #files: CreatedFile[] = []
  #messages: readonly MessagesMessage[]
  #turn: MessagesTurn | null = null
  #turns = 0
  #hidesCalls = false
  /** Calls of the turn under way that the caller has been shown, by the id that the model gave them, in order. */
  #calls = new Map<string, ShownCall>()
  readonly #shownIds = new Map<string, string>()
  /** Results of them that wait for those in front. */
  readonly #results = new Map<string, CallResult>()
  #stop = NO_STOP
  /** How the provider says it has served the turn before. */
  #service: MessagesUsage | null = null

  constructor(request: MessagesRequest, loop: LoopContext<MessagesEvent>) {
    const { tooling, ...base } = request
    this.#base = base
    this.#loop = loop
    this.#messages = request.messages
    const choice = request.tool_choice
    this.oneCallATurn =
      choice !== undefined && choice.type !== 'none' && choice.disable_parallel_tool_use === true
    this.pausesAtLimit = loop.tooling.tools.length > 0 && loop.tooling.tools.every(({ isNative }) => isNative)
    this.#callerTools = new Set((request.tools ?? []).map(({ name }) => name ?? ''))
    this.#deferred = new DeferredTools(request, loop.offered)
    this.#shown = new ShownBlocks(loop.emit, (text) => this.#citationsIn(text))
  }

  get deferred(): readonly ToolFunction[] {
    return this.#deferred.functions
  }

  // ── What a turn is asked ──────────────────────────────────────────────────

  request(tools: TurnTools): MessagesRequest {
    const { tools: _, tool_choice: choice, ...base } = this.#base
    const isFirst = this.#turns++ === 0
    this.#hidesCalls = tools !== 'on'
    this.#calls = new Map()
    this.#turn = new MessagesTurn({
      callerTools: this.#callerTools,
      hidesCalls: this.#hidesCalls,
      shown: this.#shown,
    })
    const offered = tools === 'gone' ? [] : this.#offeredTools()
    if (offered.length === 0) return { ...base, messages: this.#messages }
    const chosen = tools === 'off' ? ({ type: 'none' } as const) : this.#choice(choice, isFirst)
    return {
      ...base,
      messages: this.#messages,
      tools: offered,
      ...(chosen !== undefined && { tool_choice: chosen }),
    }
  }

  #offeredTools(): readonly MessagesTool[] {
    return [
      ...(this.#base.tools ?? [])
        .filter(({ name }) => this.#deferred.isLoaded(name ?? ''))
        .map((tool) => this.#deferred.toLoaded(tool)),
      ...this.#loop.offered.filter(({ name }) => this.#deferred.isLoaded(name)).map(toMessagesTool),
    ]
  }

  /** A choice that forces a call holds for the first turn: it would be forced for ever. */
  #choice(choice: MessagesToolChoice | undefined, isFirst: boolean): MessagesToolChoice | undefined {
    if (choice === undefined || choice.type === 'none' || choice.type === 'auto') return choice
    const single = choice.disable_parallel_tool_use === true ? { disable_parallel_tool_use: true } : {}
    if (!isFirst) return { type: 'auto', ...single }
    if (choice.type !== 'tool' || this.#callerTools.has(choice.name)) return choice
    const own = this.#loop.offered.find(({ name, tool }) =>
      [name, tool.name, tool.calledName].includes(choice.name),
    )
    return own === undefined ? choice : { ...choice, name: own.name }
  }

  // ── What a turn says ──────────────────────────────────────────────────────

  take(event: MessagesEvent): void {
    if (event.type === 'start') {
      if (this.#turns === 1) this.#loop.emit(event)
    } else if (event.type === 'usage') this.#service = serviceOf(event.wire)
    else this.#turn!.take(event)
  }

  endTurn(): TurnEnd {
    const turn = this.#turn!
    const end = turn.end()
    this.#stop = turn.stop ?? NO_STOP
    if (!this.#hidesCalls && !end.isBroken) for (const call of end.calls) this.#showCall(call)
    return end
  }

  /** All calls of a turn stand in front of their results: so the turns can be told apart when they come back. */
  #showCall({ id, name, arguments: written }: TurnEnd['calls'][number]): void {
    const offered = this.#loop.offered.find((each) => each.name === name)
    if (offered === undefined || this.#calls.has(id)) return
    const input = asObject(parseJson(written)) ?? {}
    // Some servers number their calls from 0 in every answer: within a conversation the place tells them apart.
    const place = JSON.stringify([this.#messages.length, id, name, written])
    const call = {
      id: shownId(offered, hash('sha256', place, 'base64url').slice(0, NONCE_CHARS)),
      offered,
      input,
    }
    this.#calls.set(id, call)
    this.#shownIds.set(id, call.id)
    this.#shown.whole(callBlock(call))
  }

  shownCallId(id: string): string {
    return this.#shownIds.get(id) ?? id
  }

  callEnded(result: CallResult): void {
    const { id } = result.call
    if (!this.#calls.has(id)) return
    for (const citation of result.citations) this.#sources.set(citation.url, citation)
    this.#results.set(id, result)
    for (const [next, call] of this.#calls) {
      const due = this.#results.get(next)
      if (due === undefined) return
      this.#calls.delete(next)
      this.#results.delete(next)
      this.#shown.whole(resultBlock(call, due, (parts) => this.#loop.seal.mark(this.#loop.caller, parts)))
    }
  }

  addResults(results: readonly CallResult[]): void {
    const told: ContentBlock[] = []
    for (const result of results) {
      this.callEnded(result)
      this.#deferred.load(result)
      told.push({
        type: 'tool_result',
        tool_use_id: result.call.id,
        content: JSON.stringify(result.content ?? null),
        ...(result.isError && { is_error: true }),
      })
    }
    this.#messages = [
      ...this.#messages,
      { role: 'assistant', content: this.#turn!.message() },
      { role: 'user', content: told },
    ]
  }

  // ── What the answer shows beside ──────────────────────────────────────────

  /** Sources that a text names by their address. */
  #citationsIn(text: string): ContentBlock[] {
    const cited: ContentBlock[] = []
    for (const source of this.#sources.values()) {
      if (cited.length === MOST_CITED) break
      if (placeOfAddress(text, source.url) >= 0) cited.push(citationOf(source))
    }
    return cited
  }

  /** Kept for the end of the answer: what no block shows is cited by its last text as a whole. */
  annotate({ citations = [], files = [] }: AnswerExtras): void {
    for (const citation of citations) if (!this.#sources.has(citation.url)) this.#unshown.push(citation)
    this.#files.push(...files)
  }

  restate(text: string, alone: boolean): void {
    this.#shown.restate(text, alone)
  }

  append(text: string): void {
    this.#shown.append(text)
  }

  // ── The end ───────────────────────────────────────────────────────────────

  end(how: LoopEnd): void {
    this.#closeCalls()
    if (this.#shown.hasOpenText)
      for (const citation of this.#unshown) this.#shown.citation(citationOf(citation))
    this.#shown.closeText()
    for (const { id } of this.#files) this.#shown.whole({ type: 'container_upload', file_id: id })
    const { stop_reason: told } = this.#stop
    // The last turn was asked to call nothing; what it called all the same nobody is going to run.
    const answered = told === 'tool_use' ? 'end_turn' : told
    const reason = STOP_REASONS[how] ?? answered
    this.#stop = { ...this.#stop, stop_reason: how === 'broken' ? null : reason }
    this.#loop.emit({ type: 'stop', stop: this.#stop })
    // The figures are the sum of all turns, which the account knows; how the last one was served stands beside them.
    if (this.#service !== null) this.#loop.emit({ type: 'usage', usage: NO_USAGE, wire: this.#service })
  }

  /** A call that was shown has a result, also where the loop broke off before it ran. */
  #closeCalls(): void {
    for (const [id, { offered }] of this.#calls) {
      const call = { id, name: offered.name, arguments: '{}' }
      this.callEnded({ call, offered, content: { error: 'was not run' }, isError: true, citations: [] })
    }
  }

  text(): string {
    return this.#shown.text
  }

  words(): string {
    return contentText(this.#shown.blocks().filter(({ type }) => WORDS.has(type)))
  }

  answer(): MessagesAnswer {
    return { content: this.#shown.blocks(), stop: this.#stop, usage: null, wireUsage: this.#service }
  }

  asChat(): ChatRequest {
    return asChatRequest(this.#base, this.#messages)
  }
}

/** What is no figure. */
function serviceOf(wire: MessagesUsage | null): MessagesUsage | null {
  if (wire === null) return null
  const { service_tier, inference_geo, speed } = wire
  return { service_tier, inference_geo, ...(speed !== undefined && { speed }) }
}

/** What a loop ends with where that does not follow from its last turn. */
const STOP_REASONS: Readonly<Partial<Record<LoopEnd, string>>> = {
  'handed-over': 'tool_use',
  paused: 'pause_turn',
}

function toMessagesTool({ name, function: { description, parameters } }: OfferedFunction): MessagesTool {
  return { name, description, input_schema: parameters }
}
