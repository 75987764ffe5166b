/**
 * What the loop of server tools has to know of a wire format: how a conversation goes on from turn to turn, and which
 * events of a turn the caller sees. One object per format; a `Conversation` per loop.
 */
import type { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { ChatRequest, RoutedRequest } from '../formats/canonical.js'
import type { JsonObject } from '../formats/json-values.js'
import type { RequestedTool, Tooling } from '../formats/tooling.js'
import type { InferenceFormat } from '../metering/format.js'
import type { Question } from '../plugins/port/plugin.js'
import type { CreatedFile, ToolFunction, UrlCitation } from '../tools/port/tool.js'
import type { ReplaySeal } from './replay-seal.js'

/** Stateless; one frozen object per format. */
export interface TurnFormat<R extends RoutedRequest, E, A> {
  readonly format: InferenceFormat<R, E, A>
  /**
   * The request with what a loop before has left in its conversation turned back into calls and results, for whichever
   * provider serves; the request itself where there is none. Names what is forged in `dropped`. Also for requests that
   * name no tools.
   */
  resume(request: R, caller: Principal, seal: ReplaySeal, dropped: string[]): R
  /**
   * The request without those of its `tooling` that the provider planned first runs itself: `runsNative` tells whether
   * it speaks the names with a date (contract/tools 3.12). Gives the refusal of a tool that only such a provider runs.
   */
  leaveToProvider(request: R, runsNative: boolean): R | RequestRefusal
  /** For plugins. */
  question(request: R): Question
  /** The request as the first plan is made for it: with the functions, without what only the gateway reads. */
  begin(request: R, loop: LoopContext<E>): Conversation<R, E, A>
}

/** Why a request cannot be served as it is planned. */
export interface RequestRefusal {
  readonly place: readonly (string | number)[]
  readonly refused: string
}

export interface LoopContext<E> {
  readonly caller: Principal
  readonly seal: ReplaySeal
  readonly tooling: Tooling
  /** What the model is offered of server tools; names are unique, also among the caller's functions. */
  readonly offered: readonly OfferedFunction[]
  /** Hands an event to the caller. */
  readonly emit: (event: E) => void
}

/** A function of a server tool, under the name by which the model calls it. */
export interface OfferedFunction {
  readonly name: string
  readonly tool: RequestedTool
  readonly function: ToolFunction
}

/** `off`: no tool may be called, they stay in place; `gone`: they are taken out. */
export type TurnTools = 'on' | 'off' | 'gone'

/** What the calls of a loop are to its conversation, whatever its format. */
export interface CallView {
  /** The caller wants no calls in parallel: one a turn is run. */
  readonly oneCallATurn: boolean
  /** The id by which the caller knows a call; absent where that is the model's. */
  shownCallId?(id: string): string
  /** A call has its result; for formats that show it. Called as results come, which may be out of order. */
  callEnded?(result: CallResult): void
  /** What the answer is to show beside its text; before `end`. */
  annotate(extras: AnswerExtras): void
  /** The conversation as it stands, as a chat request without server tools. */
  asChat(): ChatRequest
  /** Functions that the model is shown once a search has found them; for `ToolRun.deferred`. */
  readonly deferred?: readonly ToolFunction[]
}

/** One loop in one format. The methods are called in the order in which they stand, `request` to `addResults` per turn. */
export interface Conversation<R extends RoutedRequest, E, A> extends CallView {
  /** A loop that stops at its limit is paused instead of closed with a last turn (contract/tools 1.2). */
  readonly pausesAtLimit?: boolean
  /**
   * The request of the next turn. A forced choice holds for the first one only. After a turn with `off` that called all
   * the same, `gone` asks again; what that turn called is forgotten.
   */
  request(tools: TurnTools): R
  /** Takes an event of the turn under way, and emits what the caller may see of it now. */
  take(event: E): void
  /** The turn under way has ended properly. */
  endTurn(): TurnEnd
  /** All results of the turn, in the order of its calls. */
  addResults(results: readonly CallResult[]): void
  /**
   * Nothing of the answer has been shown yet: emits all of it anew, with this text. `alone`: the text is of another
   * answer, and what else the model has said and called is left out.
   */
  restate(text: string, alone: boolean): void
  /** A last piece of text. */
  append(text: string): void
  /** No further turn: emits what was kept for the end, and why it ended. `fault`: what broke it. */
  end(how: LoopEnd, fault?: Fault): void
  /** Text of all turns that the caller has been shown. */
  text(): string
  /** The same with the calls that are shown, whose arguments are words as well. */
  words(): string
  /** The whole answer, of everything that was emitted. */
  answer(): A
}

/** `paused`: at a limit; `broken`: a later turn has failed. */
export type LoopEnd = 'answered' | 'handed-over' | 'paused' | 'broken'

/** What a turn came to. */
export interface TurnEnd {
  /** In the words of the format. */
  readonly finish: string
  /** It broke off or was filtered: nothing it called is run. */
  readonly isBroken: boolean
  /** Calls of server tools and of functions that nobody has, in order. */
  readonly calls: readonly TurnCall[]
  /** Names of the caller's functions that it called. */
  readonly callerCalls: readonly string[]
}

/** A call as the model made it. */
export interface TurnCall {
  readonly id: string
  readonly name: string
  /** JSON text, as it came. */
  readonly arguments: string
}

export interface CallResult {
  readonly call: TurnCall
  /** Null where nobody has such a function. */
  readonly offered: OfferedFunction | null
  /** For the model: JSON. */
  readonly content: unknown
  readonly isError: boolean
  readonly citations: readonly UrlCitation[]
}

export interface AnswerExtras {
  readonly citations?: readonly UrlCitation[]
  readonly images?: readonly string[]
  readonly files?: readonly CreatedFile[]
  /** Members of `annotations` as they stand on the wire. */
  readonly annotations?: readonly JsonObject[]
}
