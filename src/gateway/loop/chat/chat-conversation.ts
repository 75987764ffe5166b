/** A loop of server tools in the chat format (contract/tools 1): what each turn is asked, and what the caller sees. */
import type { Fault } from '../../../base/fault.js'
import { fileAnnotation } from '../../files/file-annotation.js'
import type {
  ChatDelta,
  ChatEvent,
  ChatMessage,
  ChatRequest,
  ChatTool,
  Completion,
  FinishReason,
  FunctionTool,
  ReasoningDetail,
  ToolChoice,
} from '../../formats/canonical.js'
import type { JsonObject } from '../../formats/json-values.js'
import { chatFormat } from '../../metering/format.js'
import type { UrlCitation } from '../../tools/port/tool.js'
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
import { ChatAssembly } from './chat-assembly.js'
import { chatQuestion } from './chat-question.js'
import { ChatTurn } from './chat-turn.js'
import { type ReplayedCall, resumeChat, toReplayDetail } from './replay.js'

export const chatTurns: TurnFormat<ChatRequest, ChatEvent, Completion> = Object.freeze({
  format: chatFormat,
  resume: resumeChat,
  // No chat provider speaks the names of another one's tools.
  leaveToProvider: (request: ChatRequest) => request,
  question: chatQuestion,
  begin: (request: ChatRequest, loop: LoopContext<ChatEvent>) => new ChatConversation(request, loop),
})

class ChatConversation implements Conversation<ChatRequest, ChatEvent, Completion> {
  readonly oneCallATurn: boolean
  readonly #base: ChatRequest
  readonly #loop: LoopContext<ChatEvent>
  readonly #callerFunctions: ReadonlySet<string>
  readonly #tools: readonly ChatTool[]
  /** What the caller has been shown. */
  readonly #shown = new ChatAssembly()
  readonly #replayed: ReplayedCall[] = []
  /** Made at the end: where in the answer something is cited is not known before. */
  readonly #annotations: (() => JsonObject)[] = []
  readonly #cited = new Set<string>()
  #messages: readonly ChatMessage[]
  #turn: ChatTurn | null = null
  #turns = 0
  #details = 0

  constructor(request: ChatRequest, loop: LoopContext<ChatEvent>) {
    const { tooling: _, ...base } = request
    this.#base = base
    this.#loop = loop
    this.#messages = request.messages
    this.oneCallATurn = request.parallel_tool_calls === false
    const own = request.tools ?? []
    this.#callerFunctions = new Set(own.filter(isFunction).map((tool) => tool.function.name))
    this.#tools = [...own, ...loop.offered.map(toFunctionTool)]
  }

  request(tools: TurnTools): ChatRequest {
    const { tools: _, tool_choice: choice, parallel_tool_calls: parallel, ...base } = this.#base
    const isFirst = this.#turns++ === 0
    this.#turn = new ChatTurn({
      callerFunctions: this.#callerFunctions,
      hidesCalls: tools !== 'on',
      textBefore: this.#shown.text,
      detailsBefore: this.#details,
      emit: (event) => this.#emit(event),
    })
    const request = { ...base, messages: this.#messages }
    if (tools === 'gone' || this.#tools.length === 0) return request
    const chosen = tools === 'off' ? 'none' : this.#choice(choice, isFirst)
    return {
      ...request,
      tools: this.#tools,
      ...(chosen !== undefined && { tool_choice: chosen }),
      ...(parallel !== undefined && { parallel_tool_calls: parallel }),
    }
  }

  /** A choice that forces a call holds for the first turn: it would be forced for ever. */
  #choice(choice: ToolChoice | undefined, isFirst: boolean): ToolChoice | undefined {
    if (choice === undefined || choice === 'none' || choice === 'auto') return choice
    if (!isFirst) return 'auto'
    if (typeof choice === 'string' || choice.type === 'function') return choice
    const wanted = this.#loop.offered.find(({ tool }) => choice.type === `service:${tool.name}`)
    return wanted === undefined ? 'auto' : { type: 'function', function: { name: wanted.name } }
  }

  #emit(event: ChatEvent): void {
    this.#shown.add(event)
    this.#loop.emit(event)
  }

  #emitDelta(delta: ChatDelta): void {
    this.#emit({ type: 'delta', choice: 0, delta })
  }

  take(event: ChatEvent): void {
    this.#turn?.take(event)
  }

  endTurn(): TurnEnd {
    const turn = this.#turn!
    this.#details += turn.said.detailCount
    return turn.end()
  }

  addResults(results: readonly CallResult[]): void {
    const { annotations: _, refusal, ...message } = this.#turn!.said.message
    const said = refusal === null ? message : { ...message, refusal }
    const texts = results.map(({ content }) => JSON.stringify(content ?? null))
    this.#messages = [
      ...this.#messages,
      said,
      ...results.map(
        ({ call }, at): ChatMessage => ({ role: 'tool', tool_call_id: call.id, content: texts[at]! }),
      ),
    ]
    for (const [at, { call }] of results.entries()) {
      const { id, name, arguments: given } = call
      // Which turn it stood in is known as soon as the last one is.
      this.#replayed.push({
        back: this.#turns,
        details: this.#details,
        id,
        name,
        arguments: given,
        result: texts[at]!,
      })
    }
  }

  annotate({ citations = [], images = [], files = [], annotations = [] }: AnswerExtras): void {
    for (const citation of citations) {
      if (this.#cited.has(citation.url)) continue
      this.#cited.add(citation.url)
      this.#annotations.push(() => this.#urlCitation(citation))
    }
    for (const annotation of [...files.map(fileAnnotation), ...annotations])
      this.#annotations.push(() => annotation)
    if (images.length > 0)
      this.#emitDelta({ images: images.map((url) => ({ type: 'image_url', image_url: { url } })) })
  }

  /** Where the answer names the address itself, that is what cites it; otherwise it is cited as a whole. */
  #urlCitation({ url, title, content }: UrlCitation): JsonObject {
    const at = placeOfAddress(this.#shown.text, url)
    const [start_index, end_index] = at < 0 ? [0, this.#shown.text.length] : [at, at + url.length]
    const body = { url, title, ...(content !== undefined && { content }), start_index, end_index }
    return { type: 'url_citation', url_citation: body }
  }

  restate(text: string, alone: boolean): void {
    this.#shown.replaceText(text, alone)
    const { role: _, content: __, tool_calls: calls, refusal, reasoning, ...extras } = this.#shown.message
    const told = {
      ...(typeof reasoning === 'string' && { reasoning }),
      ...(refusal !== null && { refusal }),
      ...(calls !== undefined && { tool_calls: calls.map((call, index) => ({ index, ...call })) }),
    }
    this.#loop.emit({ type: 'delta', choice: 0, delta: { ...extras, ...told, content: text } })
  }

  append(text: string): void {
    this.#emitDelta({ content: text })
  }

  end(how: LoopEnd, fault?: Fault): void {
    if (this.#annotations.length > 0)
      this.#emitDelta({ annotations: this.#annotations.map((make) => make()) })
    if (how === 'handed-over' && this.#replayed.length > 0)
      this.#emitDelta({ reasoning_details: this.#replayDetails() })
    if (fault !== undefined) this.#shown.error = fault
    const { reason, native, stopSequence } = this.#turn!.finish
    const ended = stopSequence === undefined ? {} : { stopSequence }
    const finish = how === 'broken' ? 'error' : isCalling(reason) ? ENDS[how] : reason
    this.#emit({ type: 'finish', choice: 0, reason: finish, native, ...ended })
  }

  #replayDetails(): ReasoningDetail[] {
    return this.#replayed.map((call, at) =>
      toReplayDetail(
        { ...call, back: this.#turns - call.back },
        this.#details + at,
        this.#loop.caller,
        this.#loop.seal,
      ),
    )
  }

  text(): string {
    return this.#shown.text
  }

  words(): string {
    const calls = this.#shown.calls.map(({ function: { name, arguments: given } }) => `${name}(${given})`)
    return [this.#shown.text, ...calls].join('\n')
  }

  answer(): Completion {
    return this.#shown.completion
  }

  asChat(): ChatRequest {
    const { tools: _, tool_choice: __, parallel_tool_calls: ___, ...base } = this.#base
    return { ...base, messages: this.#messages }
  }
}

/**
 * What a turn that called something or just stopped is told as: calls that are handed over are the caller's to answer,
 * and what the last turn called although tools were off nobody is going to run.
 */
const ENDS = { answered: 'stop', 'handed-over': 'tool_calls', paused: 'tool_calls' } as const

function isCalling(reason: FinishReason): boolean {
  return reason === 'tool_calls' || reason === 'stop'
}

function isFunction(tool: ChatTool): tool is FunctionTool {
  return tool.type === 'function'
}

function toFunctionTool({ name, function: offered }: OfferedFunction): FunctionTool {
  const { description, parameters } = offered
  return { type: 'function', function: { name, description, parameters } }
}
