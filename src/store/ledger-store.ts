/**
 * The ledger: what every inference came to. Rows are written once, when an inference is over; sums by key and by
 * organization are kept beside them. Money is in integer nano-dollars, times are Unix milliseconds.
 */
import type { MaybePromise } from '../base/maybe-promise.js'
import type { CalendarPeriod } from '../base/utc-period.js'

/**
 * How an inference ended. `settled`: with a whole answer. `failed`: without one, or broken off by the provider.
 * `aborted-confirmed`: the caller left, and the figures are the provider's, or no provider was ever asked.
 * `aborted-estimated`: the caller left or the process died, and the figures are an estimate of ours.
 */
export const LEDGER_OUTCOMES = ['settled', 'failed', 'aborted-confirmed', 'aborted-estimated'] as const
export type LedgerOutcome = (typeof LEDGER_OUTCOMES)[number]

/** Which limits an inference has reserved from; its cost has left their leases and must not be counted again. */
export interface LimitCoverage {
  /** Period of the key's spending limit; null when it had none. */
  readonly key: CalendarPeriod | 'never' | null
  readonly organization: boolean
  /** What goes on the caller's own accounts at providers counts in the key's limit as well; absent where it does not. */
  readonly byok?: true
}

export const NO_LIMIT_COVERAGE: LimitCoverage = Object.freeze({ key: null, organization: false })

/** What is known of an inference when it is dispatched. */
export interface OpenLedgerEntry
  extends Pick<LedgerRow, 'id' | 'keyHash' | 'organizationId' | 'workspaceId' | 'coverage'> {
  /** What is charged when the process dies before the end. */
  readonly estimate: number
  /** What the provider is reckoned to ask the caller's own account then; absent where it would go on the operator's. */
  readonly byokEstimate?: number
  readonly model: string
  /** Short name of the provider. */
  readonly provider: string
  /** As in `RowDetail`. */
  readonly api: string
}

/** One inference, over. */
export interface LedgerRow {
  readonly id: string
  readonly keyHash: string
  readonly organizationId: string
  readonly workspaceId: string | null
  /** When it was dispatched, as its id says; its cost belongs to the periods of this moment, however long it runs. */
  readonly createdAt: number
  readonly coverage: LimitCoverage
  readonly outcome: LedgerOutcome
  /** What was charged. */
  readonly cost: number
  /**
   * What the provider asks the caller's own account for it, no part of `cost`; absent where it went on the operator's
   * (contract/decisions 61).
   */
  readonly byokCost?: number
  readonly promptTokens: number
  readonly completionTokens: number
  /**
   * What else was counted, by name: `cached_tokens`, `reasoning_tokens`; of other kinds of work
   * `audio_milliseconds`, `input_characters`. Whole numbers; kinds that are 0 are absent.
   */
  readonly units: Readonly<Record<string, number>>
  readonly detail: LedgerRowDetail
  /** Its attempts that came to nothing and may cost something upstream, in their order. */
  readonly lost: readonly LostAttemptOfRow[]
  /**
   * Rows of its turns and tools, in the order of their ids; empty where the inference is one turn. What they cost is no
   * part of this row. A part says what it is of in `detail.api`; what it has lost stands with the whole.
   */
  readonly parts: readonly LedgerRow[]
}

/** What only a reader of the single row wants to know. */
interface LedgerRowDetail {
  /** The model that answered, or the first one planned. */
  readonly model: string
  /** As the caller named it. */
  readonly requested: string
  readonly provider: string
  /** Public name of the kind of work: `completions`, `tts`, `stt`. */
  readonly api: string
  readonly streamed: boolean
  readonly attempts: number
  /** From arrival to the end, and to the first event; null when there was none. */
  readonly durationMs: number
  readonly firstEventMs: number | null
  readonly sessionId: string | null
  /** The figures are ours, not the provider's. */
  readonly estimated: boolean
  /** Nor were they counted: they follow from lengths. */
  readonly guessed: boolean
  /** Kind of the fault that ended it; null when none did. */
  readonly fault: string | null
  /** Why the answer ended, in the words of its format and in the provider's own; null when it did not. */
  readonly finish: string | null
  readonly nativeFinish: string | null
  readonly serviceTier: string | null
  /** Parts of the question that are no text, and those of them that are sound. */
  readonly mediaParts: number
  readonly audioParts: number
  readonly why: RowWhy
}

/** An endpoint that could have answered. */
export interface RowCandidate {
  /** Display name of the provider. */
  readonly provider: string
  readonly model: string
  /** In the order of trial, from 1; 0 for one that was excluded. */
  readonly place: number
  /** That the draw put it first, where one decided; null where none did. */
  readonly chance: number | null
  readonly why: readonly string[]
}

/** A call of an endpoint. */
export interface RowAttempt extends Pick<LostAttemptRow, 'provider' | 'model' | 'status' | 'durationMs'> {
  /** Kind of the fault that ended it; null where it answered. */
  readonly fault: string | null
  /** From the arrival of the call to its begin, as two may run at a time; absent in rows of before. */
  readonly startMs?: number
}

/** What of a request decides who may answer it; a member that was not sent is absent. */
export interface RowAsked {
  readonly models?: readonly string[]
  /** As it was sent. */
  readonly provider?: Readonly<Record<string, unknown>>
  readonly route?: string
  readonly modalities?: readonly string[]
  readonly serviceTier?: string
  /** Names of members that not every endpoint takes. */
  readonly needs?: readonly string[]
}

/** How a row came about. */
export interface RowWhy {
  /** Null where nothing but the model decides; `untold` in rows of before. */
  readonly asked: RowAsked | 'untold' | null
  /** Versions of the configuration and of the prices that it was charged by; null in rows of before. */
  readonly configVersion: string | null
  readonly priceVersion: string | null
  /** Where the endpoint that answered stands, as the configuration says. */
  readonly region: string | null
  /** For a connection and for making one, of the attempt that answered, and for limits and credit. */
  readonly queueMs: number
  readonly connectMs: number
  readonly admitMs: number
  /** Empty where there was nothing to choose. */
  readonly candidates: readonly RowCandidate[]
  /** How many more there were. */
  readonly unlisted: number
  /** The calls that were made; empty where there was one, and it answered. */
  readonly attempts: readonly RowAttempt[]
  /** Who asked: the end user and what the caller says of itself in headers. */
  readonly user: string | null
  readonly referer: string | null
  readonly agent: string | null
  readonly title: string | null
  /** What caches have saved, in nano-dollars; less than 0 where writing to them cost more. */
  readonly cacheDiscount: number
  /** As the request has them. */
  readonly metadata: Readonly<Record<string, string>> | null
  readonly trace: Readonly<Record<string, unknown>> | null
}

/** Of rows that say nothing of it. */
export const NOTHING_TOLD: RowWhy = Object.freeze({
  asked: 'untold',
  ...{ configVersion: null, priceVersion: null, region: null, queueMs: 0, connectMs: 0, admitMs: 0 },
  ...{ candidates: [], unlisted: 0, attempts: [], cacheDiscount: 0 },
  ...{ user: null, referer: null, agent: null, title: null, metadata: null, trace: null },
})

/** A row without who pays for it, and without its time, which its id tells. */
export type LedgerRowContent = Omit<ClosedLedgerEntry, 'keyHash' | 'organizationId' | 'workspaceId'>

/** A row as it is written. */
export type ClosedLedgerEntry = Omit<LedgerRow, 'createdAt' | 'lost' | 'parts'>

/**
 * A row of its own: a call of a provider that came to nothing and may cost something there. It is charged to nobody,
 * so that no sum holds it.
 */
export interface LostAttemptRow {
  readonly model: string
  /** Display name of the provider. */
  readonly provider: string
  /** What the provider answered with; 0 when it did not. */
  readonly status: number
  /** Kind of the fault that ended it. */
  readonly fault: string
  readonly upstreamCost: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** The figures are ours, not the provider's. */
  readonly estimated: boolean
  readonly durationMs: number
  /** It went on the caller's own account at the provider; absent where it went on the operator's. */
  readonly byok?: true
}

/** As it is read: with the id of the row that has lost it, a turn's where there are turns. */
export type LostAttemptOfRow = LostAttemptRow & Pick<LedgerRow, 'id'>

export interface LostAttemptEntry
  extends LostAttemptOfRow,
    Pick<LedgerRow, 'keyHash' | 'organizationId' | 'workspaceId'> {}

/** What has been spent, in all and since the begin of the running UTC day, week (Monday) and month. */
export interface Spending {
  readonly total: number
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
}

/** A key by its hash, or an organization by its id; of a key apart, what went on the caller's own accounts. */
export type LedgerPayer = `k${string}` | `o${string}` | `b${string}`
/** Of a key both together: what was charged to it and what went on the caller's own accounts. */
export type InclusivePayer = `i${string}`

export const keyPayer = (hash: string): LedgerPayer => `k${hash}`
export const byokPayer = (hash: string): LedgerPayer => `b${hash}`
export const inclusivePayer = (hash: string): InclusivePayer => `i${hash}`

/** The payers whose sums make up what a payer has spent. */
export function payersWithin(payer: LedgerPayer | InclusivePayer): readonly LedgerPayer[] {
  if (!payer.startsWith('i')) return [payer as LedgerPayer]
  const hash = payer.slice(1)
  return [keyPayer(hash), byokPayer(hash)]
}
export const organizationPayer = (id: string): LedgerPayer => `o${id}`

// ── Many rows ───────────────────────────────────────────────────────────────

/** Whose rows may be read. */
export interface LedgerScope {
  /** Null: of all organizations. */
  readonly organizationId: string | null
  /** Only what ran in these workspaces, and what these keys did; null: all of the organization. */
  readonly only: { readonly workspaces: readonly string[]; readonly keys: readonly string[] } | null
}

/** Members that are null let everything through. */
export interface LedgerFilter {
  readonly scope: LedgerScope
  /** From this moment on, and before that one. */
  readonly from: number
  readonly to: number
  readonly keyHash: string | null
  readonly model: string | null
  /** Display name of the provider. */
  readonly provider: string | null
}

export interface LedgerListQuery extends LedgerFilter {
  readonly outcome: LedgerOutcome | null
  readonly sessionId: string | null
  /** Only rows whose ids come before this one; null: from the newest on. */
  readonly before: string | null
  readonly limit: number
}

export interface LedgerPage {
  /** Calls with their parts, without what they have lost; the newest first. */
  readonly rows: readonly LedgerRow[]
  /** Before which id the next page goes on, whether a row has it or not, and its time; null when there is no more. */
  readonly next: { readonly before: string; readonly at: number } | null
}

export const USAGE_DIMENSIONS = ['day', 'hour', 'key', 'model', 'provider'] as const
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number]

export interface UsageQuery extends LedgerFilter {
  /** By what sums are told apart; only these members of the lines are set. */
  readonly by: readonly UsageDimension[]
  /** More lines than that are not told: one more is answered instead, which says so. */
  readonly limit: number
}

/** What calls of an hour came to, or of a group of hours. Money is in nano-dollars. */
export interface UsageFigures {
  cost: number
  promptTokens: number
  completionTokens: number
  calls: number
  failed: number
  byok: number
}

export interface UsageLine extends UsageFigures {
  /** When the day or the hour begins; null where sums are not told apart by time. */
  readonly at: number | null
  readonly keyHash: string | null
  readonly model: string | null
  readonly provider: string | null
}

/**
 * Reads of the ledger, by any process. They see what has been brought into it; see `UsageLedger.sync`. The embedded
 * ledger answers at once, the one that machines share with a promise that may fail with `unavailable`.
 */
export interface LedgerReader {
  row(id: string): MaybePromise<LedgerRow | null>
  /** What each of these has spent in the periods that `now` lies in, in their order. */
  spending(payers: readonly LedgerPayer[], now: number): MaybePromise<readonly Spending[]>
  /** What was spent in one period: of that name and number (see utc-period.ts), or in all. */
  spentIn(
    payer: LedgerPayer | InclusivePayer,
    period: { readonly name: CalendarPeriod; readonly number: number } | null,
  ): MaybePromise<number>
  /** A page of calls. It may end before it is full, when much had to be passed over. Null where `before` is no place. */
  list(query: LedgerListQuery): Promise<LedgerPage | null>
  /** Sums by hour, day, key, model or provider, in the order of these; hours are as far as rows go back. */
  usage(query: UsageQuery): Promise<readonly UsageLine[]>
}

/** As the operations on usage see it. */
export interface UsageLedger extends LedgerReader {
  /**
   * Resolves when everything that was answered before, by any worker, is in the ledger; what a machine has answered that
   * cannot be asked is there within a second. Fails with `unavailable` when that takes too long.
   */
  sync(): Promise<void>
}

/** Where inferences are written down as they happen. */
export interface LedgerJournal {
  /** Whether there is room for one more call besides those that are open. */
  hasRoomFor(openCalls: number): boolean
  recordOpen(entry: OpenLedgerEntry): void
  recordLost(entry: LostAttemptEntry): void
  /** Resolves when the row outlives this process. Never rejects. */
  recordClosed(row: ClosedLedgerEntry): Promise<void>
}
