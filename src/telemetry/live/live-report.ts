/** What workers tell the supervisor for the live feed: plain data, of the time since they were asked before. */
import type { HistogramSnapshot } from '../../base/histogram.js'

/** Whose calls a reader of the feed sees. */
export type LiveScope =
  /** All, with the figures of the machine: the operator's. */
  | { readonly of: 'machine' }
  | { readonly of: 'organization'; readonly organizationId: string }
  /** Those of workspaces where somebody is an admin, and its own of those where it is a member. */
  | {
      readonly of: 'person'
      readonly organizationId: string
      readonly userId: string
      readonly adminOf: readonly string[]
      readonly memberOf: readonly string[]
    }

/** The text that a scope is known by between processes. */
export type ScopeName = string

/** The calls of one scope that have ended. Money in nano-dollars. */
export interface ScopeReport {
  /** Requests; their turns and tools add to the figures below only. */
  readonly calls: number
  readonly failed: number
  /** Callers that have left. */
  readonly aborted: number
  /** Of those that failed, by kind. */
  readonly faults: Readonly<Record<string, number>>
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cost: number
  readonly byokCost: number
  readonly durationMs: HistogramSnapshot
  readonly firstEventMs: HistogramSnapshot
  /** Calls under way; null where nobody counts them. */
  readonly inFlight: number | null
  /** The latest calls as JSON texts, oldest first. */
  readonly rows: readonly string[]
}

/** What a worker says of itself. Shares are from 0 to 1, times in milliseconds. */
export interface WorkerReport {
  readonly pid: number
  readonly uptimeS: number
  readonly connections: number
  /** Requests of any operation without an answer. */
  readonly requests: number
  /** Answers by the first digit of their status: `[1xx, …, 5xx]`. */
  readonly answers: readonly number[]
  readonly loop: {
    readonly utilization: number
    readonly lag: { readonly p50: number; readonly p99: number; readonly max: number }
  }
  readonly pool: { readonly threads: number; readonly queue: number; readonly queuedRounds: number }
  readonly rss: number
  /** Of one core. */
  readonly cpu: number
  /** What was the server's own of the time until callers got the first of an answer. */
  readonly overheadMs: HistogramSnapshot
  readonly breakers: readonly LiveBreaker[]
}

/** An endpoint that is not called as usual. */
export interface LiveBreaker {
  readonly endpoint: string
  readonly state: 'open' | 'half-open' | 'cooling'
}

export interface LiveReport {
  readonly scopes: Readonly<Record<ScopeName, ScopeReport>>
  /** Null where nobody asks for the machine. */
  readonly worker: WorkerReport | null
}

/** Why no more readers are taken: the caller has as many as one may have, or the server has. */
export type LiveRefusal = 'caller' | 'server'

/** Equal scopes have the same name. */
export function scopeName(scope: LiveScope): ScopeName {
  return JSON.stringify(scope)
}

export function parseScope(name: ScopeName): LiveScope {
  return JSON.parse(name)
}
