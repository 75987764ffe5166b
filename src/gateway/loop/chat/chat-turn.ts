/** One turn of a chat conversation as it is streamed: what of it the caller sees, and what it comes to. */
import type {
  ChatDelta,
  ChatEvent,
  ChatFinish,
  ReasoningDetail,
  ToolCallDelta,
} from '../../formats/canonical.js'
import { asCount } from '../../formats/json-values.js'
import type { TurnCall, TurnEnd } from '../turn-format.js'
import { ChatAssembly } from './chat-assembly.js'

/** A call as far as it has come; who runs it is known as soon as its name is. */
interface OpenCall {
  /** Its number among the caller's calls; -1 where it is held back. */
  shownAs: number | null
  readonly held: ToolCallDelta[]
}

interface TurnView {
  /** Names of the functions that the caller runs itself. */
  readonly callerFunctions: ReadonlySet<string>
  /** No call may be shown: tools are off. */
  readonly hidesCalls: boolean
  /** What the turns before have said. */
  readonly textBefore: string
  /** Details of reasoning in the turns before. */
  readonly detailsBefore: number
  readonly emit: (event: ChatEvent) => void
}

export class ChatTurn {
  /** The whole of it, for the turns that follow. */
  readonly said = new ChatAssembly()
  readonly #view: TurnView
  readonly #calls = new Map<number, OpenCall>()
  #shown = 0
  #hasSpoken = false

  constructor(view: TurnView) {
    this.#view = view
  }

  take(event: ChatEvent): void {
    // Of several choices the first one goes on; a request for more than one is refused at the edge.
    if ('choice' in event && event.choice !== 0) return
    this.said.add(event)
    if (event.type === 'fingerprint') this.#view.emit(event)
    else if (event.type === 'delta') this.#show(event)
  }

  #show(event: ChatEvent & { readonly type: 'delta' }): void {
    const { content, tool_calls: calls, reasoning_details: details } = event.delta
    if (!this.#hasSpoken && content) this.#beginText(content)
    if (calls === undefined && details === undefined) {
      this.#view.emit(event)
      return
    }
    const { tool_calls: _, reasoning_details: __, ...rest } = event.delta
    const shown: ChatDelta = {
      ...rest,
      ...(details !== undefined && { reasoning_details: details.map((each) => this.#renumber(each)) }),
    }
    const visible = calls === undefined ? [] : calls.flatMap((call) => this.#visible(call))
    const delta = visible.length > 0 ? { ...shown, tool_calls: visible } : shown
    if (Object.keys(delta).length > 0) this.#view.emit({ ...event, delta })
  }

  /** What turns say is one text: where no white space parts them, a blank line does. */
  #beginText(piece: string): void {
    this.#hasSpoken = true
    const { textBefore, emit } = this.#view
    if (/\S$/.test(textBefore.slice(-1)) && /^\S/.test(piece))
      emit({ type: 'delta', choice: 0, delta: { content: '\n\n' } })
  }

  /** Clients join details of the same index: those of another turn get others. */
  #renumber(detail: ReasoningDetail): ReasoningDetail {
    const index = asCount(detail.index)
    return index === undefined ? detail : { ...detail, index: index + this.#view.detailsBefore }
  }

  #visible(delta: ToolCallDelta): readonly ToolCallDelta[] {
    if (this.#view.hidesCalls) return []
    let call = this.#calls.get(delta.index)
    if (call === undefined) {
      call = { shownAs: null, held: [] }
      this.#calls.set(delta.index, call)
    }
    if (call.shownAs === null) {
      const { name } = delta.function
      if (name === undefined) {
        call.held.push(delta)
        return []
      }
      call.shownAs = this.#view.callerFunctions.has(name) ? this.#shown++ : -1
    }
    if (call.shownAs === -1) return []
    const index = call.shownAs
    const told = [...call.held, delta].map((each) => ({ ...each, index }))
    call.held.length = 0
    return told
  }

  get finish(): ChatFinish {
    return this.said.finish ?? { reason: 'stop', native: null }
  }

  end(): TurnEnd {
    const { reason } = this.finish
    const calls: TurnCall[] = []
    const callerCalls: string[] = []
    for (const { id, function: called } of this.said.calls) {
      if (this.#view.callerFunctions.has(called.name)) callerCalls.push(called.name)
      else calls.push({ id, name: called.name, arguments: called.arguments })
    }
    return { finish: reason, isBroken: reason === 'error' || reason === 'content_filter', calls, callerCalls }
  }
}
