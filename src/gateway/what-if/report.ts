/** What is told of calls under another configuration, beside what they were. */
import { Histogram } from '../../base/histogram.js'
import type { LedgerRow } from '../../store/ledger-store.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import { LIMIT_KINDS, type LimitKind } from './limit-use.js'
import type { OddEntries } from './limits.js'
import { type Interval, type Quantiles, quantilesOf, ReplicatedSum, ReplicatedTimes } from './sums.js'
import { UnseenFailures } from './unseen-failures.js'

const CALL_LABELS = ['exact', 'estimated', 'unknown'] as const
export type CallLabel = (typeof CALL_LABELS)[number]

export const REFUSALS = ['no_endpoint', ...LIMIT_KINDS] as const
type Refusal = (typeof REFUSALS)[number]

const GROUPS = ['model', 'provider', 'key'] as const
type Group = (typeof GROUPS)[number]

/** Money in nano-dollars, before and after. Calls that are unknown are in neither. */
export interface WhatIfLine {
  readonly name: string
  readonly before: number
  readonly after: Interval
}

export interface WhatIfReport {
  readonly calls: Readonly<Record<'all' | CallLabel, number>>
  readonly refused: Readonly<Record<Refusal, Interval>>
  /** Calls that nobody answered, of those that are known. */
  readonly failed: { readonly before: number; readonly after: Interval }
  readonly money: {
    readonly before: number
    readonly after: Interval
    /** Of calls that are unknown. */
    readonly unknown: number
  }
  readonly firstEventMs: TimesReport
  readonly totalMs: TimesReport
  readonly by: Readonly<Record<Group, readonly WhatIfLine[]>>
  /** Entries of the limits that are not what they seem to be. */
  readonly limits: OddEntries
}

interface TimesReport {
  readonly before: Quantiles<number> | null
  readonly after: Quantiles<Interval> | null
}

/** Of an entry of limits. */
export const AMBIGUOUS = 'is the begin of the hashes of several keys: write more of it'

/** Of one dimension; what comes beyond them is one line. */
const MOST_LINES = 500
const OTHERS = 'others'

interface Line {
  before: number
  readonly after: ReplicatedSum
}

/** `replicate` of its methods: null where something holds for all of them. */
export class WhatIfSums {
  readonly #replicates: number
  readonly #calls = { all: 0, exact: 0, estimated: 0, unknown: 0 }
  readonly #before = { money: 0, unknown: 0, failed: 0, first: new Histogram(), total: new Histogram() }
  readonly #money: ReplicatedSum
  readonly #failed: ReplicatedSum
  readonly #unseen = new UnseenFailures()
  readonly #refused: Readonly<Record<Refusal, ReplicatedSum>>
  readonly #first: ReplicatedTimes
  readonly #total: ReplicatedTimes
  readonly #lines: Readonly<Record<Group, Map<string, Line>>> = {
    ...{ model: new Map(), provider: new Map(), key: new Map() },
  }

  constructor(replicates: number) {
    this.#replicates = replicates
    this.#money = new ReplicatedSum(replicates)
    this.#failed = new ReplicatedSum(replicates)
    this.#refused = Object.fromEntries(
      REFUSALS.map((kind) => [kind, new ReplicatedSum(replicates)] as const),
    ) as Record<Refusal, ReplicatedSum>
    this.#first = new ReplicatedTimes(replicates)
    this.#total = new ReplicatedTimes(replicates)
  }

  /** A call as it was. One that would be refused is known for sure. */
  addBefore(row: LedgerRow, parts: readonly LedgerRow[], label: CallLabel | 'refused'): void {
    this.#calls.all++
    this.#calls[label === 'refused' ? 'exact' : label]++
    const cost = parts.reduce((sum, part) => sum + part.cost, 0)
    if (label === 'unknown') {
      this.#before.unknown += cost
      return
    }
    this.#before.money += cost
    for (const part of parts) {
      const { model, provider } = part.detail
      this.#lineOf('model', model).before += part.cost
      this.#lineOf('provider', provider).before += part.cost
      this.#lineOf('key', part.keyHash).before += part.cost
    }
    if (row.outcome === 'failed') this.#before.failed++
    if (!isTimed(row)) return
    this.#before.first.record(row.detail.firstEventMs ?? row.detail.durationMs)
    this.#before.total.record(row.detail.durationMs)
  }

  /** Draws decide what becomes of a call, and which of these limits refuses it. */
  markDrawn(parts: readonly LedgerRow[], limits: readonly LimitKind[]): void {
    const lines = parts.flatMap(({ detail, keyHash }) => [
      this.#lineOf('model', detail.model).after,
      this.#lineOf('provider', detail.provider).after,
      this.#lineOf('key', keyHash).after,
    ])
    const refused = limits.map((kind) => this.#refused[kind])
    for (const figure of [this.#money, this.#failed, this.#first, this.#total, ...lines, ...refused])
      figure.markDrawn()
  }

  /** A call was drawn of an endpoint of which so many calls are known and no failure. */
  addUnseen(name: string, known: number): void {
    this.#unseen.add(name, known)
  }

  /** What a part of a call would be charged; `endpoint`: who would answer it, null where that is as it was. */
  charge(part: LedgerRow, endpoint: ModelEndpoint | null, cost: number, replicate: number | null): void {
    add(this.#money, cost, replicate)
    add(this.#lineOf('model', endpoint?.model.id ?? part.detail.model).after, cost, replicate)
    add(this.#lineOf('provider', endpoint?.provider.name ?? part.detail.provider).after, cost, replicate)
    add(this.#lineOf('key', part.keyHash).after, cost, replicate)
  }

  /** Nobody would have answered. */
  fail(replicate: number | null): void {
    add(this.#failed, 1, replicate)
  }

  refuse(kind: Refusal | LimitKind, replicate: number | null): void {
    add(this.#refused[kind], 1, replicate)
  }

  /** How long a call would have taken. */
  time(
    { firstMs, totalMs }: { readonly firstMs: number; readonly totalMs: number },
    replicate: number | null,
  ): void {
    if (replicate === null) {
      this.#first.addToAll(firstMs)
      this.#total.addToAll(totalMs)
    } else {
      this.#first.addTo(replicate, firstMs)
      this.#total.addTo(replicate, totalMs)
    }
  }

  report(): Omit<WhatIfReport, 'limits'> {
    const { money, unknown, failed, first, total } = this.#before
    return {
      calls: this.#calls,
      refused: Object.fromEntries(
        REFUSALS.map((kind) => [kind, this.#refused[kind].interval()] as const),
      ) as WhatIfReport['refused'],
      failed: { before: failed, after: this.#failedAfter() },
      money: { before: money, after: this.#money.interval(), unknown },
      firstEventMs: { before: quantilesOf(first), after: this.#first.intervals() },
      totalMs: { before: quantilesOf(total), after: this.#total.intervals() },
      by: Object.fromEntries(
        GROUPS.map((group) => [group, linesOf(this.#lines[group])] as const),
      ) as unknown as WhatIfReport['by'],
    }
  }

  #failedAfter(): Interval {
    const { high, ...rest } = this.#failed.interval()
    return { ...rest, high: high + this.#unseen.most(this.#replicates) }
  }

  #lineOf(group: Group, name: string): Line {
    const lines = this.#lines[group]
    const known = lines.get(name)
    if (known !== undefined) return known
    if (lines.size >= MOST_LINES && name !== OTHERS) return this.#lineOf(group, OTHERS)
    const line = { before: 0, after: new ReplicatedSum(this.#replicates) }
    lines.set(name, line)
    return line
  }
}

function add(sum: ReplicatedSum, amount: number, replicate: number | null): void {
  if (replicate === null) sum.addToAll(amount)
  else sum.addTo(replicate, amount)
}

/** Whether its times are compared: those of whole answers of one turn. */
function isTimed({ outcome, parts }: LedgerRow): boolean {
  return outcome === 'settled' && parts.length === 0
}

function linesOf(lines: ReadonlyMap<string, Line>): WhatIfLine[] {
  return [...lines]
    .map(([name, { before, after }]) => ({ name, before, after: after.interval() }))
    .sort((one, other) => other.after.value - one.after.value || other.before - one.before)
}
