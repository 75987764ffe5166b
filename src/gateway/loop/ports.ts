/** What a loop of server tools needs of the house, and whom it tells. */
import type { Clock } from '../../base/clock.js'
import type { Fault } from '../../base/fault.js'
import type { MaybePromise } from '../../base/maybe-promise.js'
import type { Principal } from '../../base/principal.js'
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import type { Tooling } from '../formats/tooling.js'
import type { CountTokens } from '../metering/format.js'
import type { Plugin } from '../plugins/port/plugin.js'
import type { Consumption, Generation } from '../run/generation.js'
import type { StreamListener } from '../run/ports.js'
import type { ServerTool, ToolFiles } from '../tools/port/tool.js'
import type { ReplaySeal } from './replay-seal.js'

export interface LoopPorts {
  readonly clock: Clock
  /** Total time of a call in milliseconds, over all turns and tools. */
  readonly deadlineMs: number
  readonly countTokens: CountTokens
  readonly tools: ReadonlyMap<string, ServerTool>
  readonly plugins: ReadonlyMap<string, Plugin>
  readonly seal: ReplaySeal
  readonly filesOf: (caller: Principal) => ToolFiles
  /** What of a request its organization and operator let run; the fault of a tool that is switched off. */
  readonly admitTooling: (caller: Principal, tooling: Tooling) => Tooling | Fault
  /** The tooling of a request that asks for nothing itself; null where nothing runs unasked for that caller. */
  readonly defaultTooling: (caller: Principal) => Tooling | null
  /** Whether the conversation is compressed although nobody has asked for it. */
  readonly isCompressedUnasked: (request: RoutedRequest) => boolean
  /** Milliseconds that a call of a tool may take, where the tool itself does not say. */
  readonly wallClockMs: (tool: string) => number
  /** Most calls of server tools in one loop, run or refused. */
  readonly mostCalls: () => number
  readonly openAccount: OpenLoopAccount
  /** Hears of an exception in a step that no caller awaits. */
  readonly onDefect: (error: unknown) => void
}

/**
 * Opens the account of a loop: its place among the calls and requests of its key. What it spends is taken part by part.
 * Throws, or rejects with, `rate-limited` or `unavailable`; then nothing is held. Its row is begun with the first part
 * that is admitted, so that a request that is refused leaves none.
 */
type OpenLoopAccount = (root: Generation<RoutedRequest>) => MaybePromise<LoopAccount>

/** The money of one loop, of the call that the caller sees; nested runs share it. */
export interface LoopAccount {
  /** The caller as its key stands now, before every turn and tool; the fault that ends the loop. */
  recheck(): MaybePromise<Principal | Fault>
  /**
   * Before a tool runs: sets its fee aside. Resolves to the fault that refuses; then nothing is held. `unauthenticated`,
   * a key that is gone, ends the loop; any other is a result for the model. Never rejects.
   */
  reserve(row: ToolRow): MaybePromise<ToolPermit | Fault>
  /** Nano-dollars of all parts that are settled, nested runs included. */
  readonly charged: number
  /**
   * All parts that are settled together, for `usage` of the answer. Turns are added when they are settled; what the root
   * says of tools that were asked for and run is a part of it.
   */
  consumption(): Consumption
  /**
   * The loop is over, with or without an answer: its row is closed, once. A promise keeps the end from the caller until it
   * resolves; never rejects. Null where nothing was ever admitted.
   */
  close(outcome: InferenceOutcome): Promise<void> | null
}

/** What is written down of one call of a tool, or of one step of a plugin. */
export interface ToolRow {
  /** Of the same kind as a turn's: the root's id, a point and a number. */
  readonly id: string
  readonly kind: 'tool' | 'plugin'
  readonly name: string
  readonly backend: string
  /** Nano-dollars, at most. */
  readonly fee: number
}

export interface ToolPermit {
  /** Once. Gives the whole nano-dollars that were charged. Never throws. */
  settle(spent: ToolSpending): number
}

/** What a call of a tool came to. */
export interface ToolSpending {
  /** Nano-dollars; no more than the fee is taken, and nothing of what was not executed. */
  readonly charged: number
  readonly executed: boolean
  readonly isError: boolean
  readonly units?: Readonly<Record<string, number>>
  readonly durationMs: number
  /** For the audit: hosts that it asked, and ids of files that it has made. */
  readonly reached?: readonly string[]
  readonly wrote?: readonly string[]
}

/** A tool of a loop on its way, for callers who watch (contract/tools 1.5). */
export interface ToolProgress {
  readonly state: 'started' | 'completed' | 'failed'
  /** Neutral name of the tool. */
  readonly name: string
  readonly callId: string
  /** How many calls have begun, and of how many at most. */
  readonly step: number
  readonly most: number
  /** As the model wrote them; where it begins. */
  readonly arguments?: string
  /** Nano-dollars; where it ends. */
  readonly cost?: number
}

/** Takes the answer of a loop; its `onEvent` brings the events of all turns as those of one answer. */
export interface LoopListener<R extends RoutedRequest, E, A> extends StreamListener<R, E, A> {
  onToolProgress?(progress: ToolProgress): void
}
