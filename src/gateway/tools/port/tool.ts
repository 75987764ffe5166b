/**
 * The port of a server tool. One object per tool, in a folder of its own; the loop (src/gateway/loop) knows nothing of
 * any tool but what stands here. What goes wrong while a tool runs is a result for the model, never a fault.
 */
import type { MaybePromise } from '../../../base/maybe-promise.js'
import type { Principal } from '../../../base/principal.js'
import type { ChatRequest } from '../../formats/canonical.js'
import type { JsonObject } from '../../formats/json-values.js'
import type { RequestedTool } from '../../formats/tooling.js'

export interface ServerTool {
  /** Neutral name without a prefix. */
  readonly name: string
  /**
   * Readies the tool for one request: what of it the model is shown, or why it cannot be had. Before anything is
   * admitted or sent; a refusal is the caller's 400. Never rejects.
   */
  prepare(
    asked: RequestedTool,
    request: ToolRequest,
  ): PreparedTool | ToolRefusal | Promise<PreparedTool | ToolRefusal>
}

/** Why a request cannot have a tool; goes on from the member ("is not configured: set tools.web_search.backend"). */
export interface ToolRefusal {
  readonly refused: string
  /** Behind the place of the tool: `['parameters', 'engine']`. */
  readonly member?: readonly (string | number)[]
}

/** What a tool may know of the request that names it. */
export interface ToolRequest {
  readonly caller: Principal
  /** Whose models are simulated ones only: the simulated web and painter serve these without configuration. */
  readonly isSimulated: boolean
  /** Most tokens of a prompt for the model that is planned first. */
  readonly contextLength: number
  /** Texts of the conversation as the caller sent it, for rules that look there. */
  conversationTexts(): readonly string[]
}

/** A tool ready for one request. It may keep count of its uses: it lives as long as the request. */
export interface PreparedTool {
  /** What the model is offered. Usually one; a source of tools brings many. Names are unique in a request. */
  readonly functions: readonly ToolFunction[]
  /** What runs it, in a word, for `explain` and the pipeline: `searxng`, `simulated`, `sandbox`. */
  readonly backend: string
  /** Most nano-dollars that a call may be charged, set aside before it runs. 0 where it is free. Never throws. */
  fee(call: ToolCallInput): number
  /** Milliseconds that a call may take; 30 seconds where it is absent, and never beyond the deadline of the request. */
  readonly wallClockMs?: number
  /** Resolves also to what went wrong; never rejects. Ends within a second once `run.signal` is aborted. */
  run(call: ToolCallInput, run: ToolRun): Promise<ToolOutcome>
  /** After the last call of the request, whatever came of it. */
  close?(): void | Promise<void>
}

export interface ToolFunction {
  /** As the model calls it: letters, digits, `_` and `-`, at most 64. */
  readonly name: string
  readonly description: string
  /** JSON schema of its arguments. */
  readonly parameters: JsonObject
  /** Of an MCP server: its label, and the tool's own name there. */
  readonly origin?: { readonly server: string; readonly tool: string }
}

export interface ToolCallInput {
  /** Id of the call, as the model gave it. */
  readonly id: string
  readonly function: string
  /** Parsed; the loop answers a call whose arguments are no object by itself. */
  readonly arguments: JsonObject
}

/** What a tool is given for one call. */
export interface ToolRun {
  readonly caller: Principal
  /** Aborted when the caller leaves, when the call's wall clock has run out, or when the server ends. */
  readonly signal: AbortSignal
  /** `performance.now()` by which the call has to be over. */
  readonly deadlineAt: number
  /** 0 for a request of the caller; nested runs are 1 and 2. */
  readonly depth: number
  /** Nano-dollars that nested runs of this call may spend in all; Infinity where nothing limits it. */
  readonly budget: number
  /** The conversation of this turn, as a chat request. */
  readonly request: ChatRequest
  /** Functions that the model is not shown before a search has found them; absent where there are none. */
  readonly deferred?: readonly ToolFunction[]
  readonly files: ToolFiles
  /** Runs a model, or a loop, beneath this call. Its turns and tools are rows of the same generation. */
  nested(run: NestedRun): Promise<NestedAnswer>
}

export interface ToolOutcome {
  /** For the model, as JSON; `{error: …}` where it went wrong. */
  readonly content: unknown
  readonly isError: boolean
  /** The backend was asked: the call counts and pays (contract/tools 1.4). */
  readonly executed: boolean
  /** Nano-dollars that the caller is charged for this call itself, without its nested runs; at most the fee. */
  readonly charged: number
  /** Counted beside tokens: `web_searches`, `web_fetches`, `search_results`. */
  readonly units?: Readonly<Record<string, number>>
  /** What the answer is to cite (`annotations[].url_citation`). */
  readonly citations?: readonly UrlCitation[]
  /** Pictures for the answer: data URLs. */
  readonly images?: readonly string[]
  /** Files that the tool has made, for `annotations` of the answer. */
  readonly files?: readonly CreatedFile[]
  /** Hosts that it asked, for the audit: `example.com`, `example.com:8443`. */
  readonly reached?: readonly string[]
}

export interface UrlCitation {
  readonly url: string
  readonly title: string
  /** What of the page was shown to the model. */
  readonly content?: string
  /** When the page was changed or published, where the source says so. */
  readonly pageAge?: string | null
}

export interface CreatedFile {
  readonly id: string
  readonly filename: string
  readonly mimeType: string
  readonly sizeBytes: number
}

/** The files of the caller's workspace, and of no other. */
export interface ToolFiles {
  /**
   * What is known of a file; null where the workspace has no such one, whether another has or not. Like `list`, it fails
   * with `unavailable` where the store is away.
   */
  find(id: string): MaybePromise<CreatedFile | null>
  list(limit: number): MaybePromise<readonly (CreatedFile & { readonly createdAt: number })[]>
  /** Null where the workspace has no such file, where it is larger than `maxBytes`, or its bytes are gone. */
  read(id: string, maxBytes: number): Promise<{ readonly file: CreatedFile; readonly bytes: Buffer } | null>
  /**
   * At most `length` bytes from `offset` on; fewer at the end. Null where the workspace has no such file, or its bytes
   * are gone.
   */
  readPart(id: string, offset: number, length: number): Promise<Buffer | null>
  /** A server-created file, which `GET /files/{id}/content` delivers. Rejects with a `Fault` where there is no room. */
  create(filename: string, bytes: Uint8Array): Promise<CreatedFile>
  remove(id: string): Promise<boolean>
}

/** A run of a model beneath a tool. */
export interface NestedRun {
  /** What runs: `advisor`, `subagent`, `panel`, `judge`; the row of the ledger says so. */
  readonly purpose: string
  /** Without server tools of the outer request; its own `tooling` is stripped at depth 2. */
  readonly request: ChatRequest
  /** Nano-dollars. */
  readonly budget: number
  readonly signal: AbortSignal
}

export type NestedAnswer =
  | {
      readonly ok: true
      readonly text: string
      readonly reasoning: string
      readonly model: string
      readonly finish: string
      /** Nano-dollars of all its rows. */
      readonly charged: number
      readonly citations: readonly UrlCitation[]
      /** Pictures of the answer: data URLs, or links. */
      readonly images?: readonly string[]
      /** Files of this server that the answer names. */
      readonly files?: readonly CreatedFile[]
    }
  | {
      readonly ok: false
      /** Kind of the fault that ended it, or `budget`. */
      readonly reason: string
      readonly message: string
      readonly charged: number
      /** Whether it has come to a model, so that the call of the tool counts and pays. */
      readonly wasAsked: boolean
    }
