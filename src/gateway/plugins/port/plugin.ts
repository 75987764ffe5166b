/**
 * The port of a plugin: what is done once per request, before the first turn or after the last. One object per plugin,
 * in a folder of its own.
 */
import type { Fault } from '../../../base/fault.js'
import type { Principal } from '../../../base/principal.js'
import type { ChatRequest, RoutedRequest } from '../../formats/canonical.js'
import type { JsonObject } from '../../formats/json-values.js'
import type { RequestedPlugin, RequestedTool } from '../../formats/tooling.js'
import type {
  CreatedFile,
  NestedAnswer,
  NestedRun,
  ToolFiles,
  ToolRefusal,
  UrlCitation,
} from '../../tools/port/tool.js'

export interface Plugin {
  readonly id: string
  /** Before anything is admitted; a refusal is the caller's 400. Never rejects. */
  prepare(asked: RequestedPlugin, request: PluginRequest): PreparedPlugin | ToolRefusal
}

/** What a plugin may know of a request before it runs. */
export interface PluginRequest {
  readonly caller: Principal
  readonly isSimulated: boolean
  readonly request: RoutedRequest
}

/** A plugin ready for one request. Each step is optional; they are taken in this order. */
export interface PreparedPlugin {
  /** Chooses the model, before the plan is made. Synchronous where it can be: it stands before every first byte. */
  route?(run: PluginRun): Promise<RouteChoice | Fault> | RouteChoice | Fault
  /** Server tools that it adds to the request. */
  readonly tools?: readonly RequestedTool[]
  /** Changes the question before the first turn. Gives the fault that ends the call, where it has to end. */
  before?(question: Question, run: PluginRun): Promise<QuestionChange | Fault>
  /**
   * Judges or mends the whole text of the answer, after the last turn. In a stream the text has gone out already, except
   * where `holdsAnswer`; then only `append` has an effect.
   */
  after?(answer: FinalAnswer, run: PluginRun): Promise<AnswerChange | Fault>
  /** Nothing of the answer is shown before `after` has judged it. */
  readonly holdsAnswer?: boolean
}

export interface PluginRun {
  readonly caller: Principal
  readonly signal: AbortSignal
  readonly files: ToolFiles
  /** Most tokens of a prompt for the model that is planned first. */
  readonly contextLength: number
  /** Estimated by the tokenizer of the pool. */
  countTokens(texts: readonly string[]): Promise<readonly number[]>
  nested(run: NestedRun): Promise<NestedAnswer>
  /** Sets a fee aside and writes it down as a row of the generation; null where limits or credit refuse it. */
  charge(row: {
    readonly name: string
    readonly charged: number
    readonly units?: Readonly<Record<string, number>>
    /** What does it: `searxng`; the name where nothing is said. */
    readonly backend?: string
    /** Hosts that are asked, for the audit. */
    readonly reached?: readonly string[]
  }): Promise<boolean>
}

export interface RouteChoice {
  /** Models in the order of trial; they replace `model` and `models`. */
  readonly models: readonly string[]
  /** Word of `service_metadata.strategy`: `auto`, `pareto`. */
  readonly strategy: string
  /** One sentence for the pipeline; `''` where `before` decides and tells. */
  readonly reason: string
}

/** The question in whichever format it was asked. */
export interface Question {
  readonly request: RoutedRequest
  /** The same as a chat request, to read. */
  asChat(): ChatRequest
  /** Text of the latest message of the user, without what plugins have put there. */
  readonly latestText: string
  /** The request with a text put before the latest message of the user, as quoted data. */
  withContext(text: string): RoutedRequest
}

export interface QuestionChange {
  /** The request as it is to go on; the same where nothing changed. */
  readonly request: RoutedRequest
  readonly citations?: readonly UrlCitation[]
  /** `annotations` members for the answer, as they stand on the wire. */
  readonly annotations?: readonly JsonObject[]
  readonly files?: readonly CreatedFile[]
  readonly pipeline?: PipelineEntry
}

export interface FinalAnswer {
  readonly request: RoutedRequest
  readonly text: string
  /** The text, and the calls that the caller is shown. */
  readonly words: string
  readonly finish: string
  readonly isStreamed: boolean
  /** Asks once more, behind the text that was answered before, with a further instruction; what it costs is a row. */
  retry(said: string, instruction: string): Promise<string | Fault>
}

export interface AnswerChange {
  /** The whole text anew; only where the answer was held or comes whole. */
  readonly text?: string
  /** The text is of another answer: what the first one thought and called is not shown. */
  readonly isAnew?: boolean
  /** A last piece for a stream. */
  readonly append?: string
  readonly annotations?: readonly JsonObject[]
  readonly pipeline?: PipelineEntry
}

/** A stage that changed something (contract/gateway 3.4). */
export interface PipelineEntry {
  readonly type: 'guardrail' | 'plugin' | 'server_tools' | 'response_healing' | 'context_compression'
  readonly name: string
  readonly summary?: string
  readonly data?: JsonObject
  /** Nano-dollars; shown as `cost_usd`. */
  readonly cost?: number
}
