/**
 * Calls of the ledger under another configuration: what they would have cost, how long they would have taken, which of
 * them would have been refused. A call that stays where it was is reckoned **exactly**, to the nano-dollar. One that
 * would go elsewhere is **estimated** from what that endpoint's calls had come to until then; a call of which nothing
 * tells is **unknown**, and no figure holds it. What comes later than a call is never used for it.
 */
import type { Clock } from '../../base/clock.js'
import { seededRandom } from '../../base/random.js'
import type { LedgerRow, LedgerScope } from '../../store/ledger-store.js'
import { usageOfRow } from '../accounting/ledger-rows.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import { HealthRegistry } from '../health/health-registry.js'
import { SessionAffinity } from '../routing/session.js'
import {
  type Course,
  costAt,
  type Elsewhere,
  type ExactCourse,
  endOfPlan,
  exactly,
  type Played,
  shifted,
  usageLike,
} from './course.js'
import { EndpointHistory, newResample, type PastCall } from './endpoint-history.js'
import { type LimitedCall, type LimitKind, LimitTrial, type SupposedLimits } from './limits.js'
import {
  attemptsOf,
  endpointName,
  isSamePlan,
  nameOfEndpoint,
  type PlanAgain,
  planAgain,
} from './plan-again.js'
import { type CallLabel, WhatIfSums } from './report.js'

interface WhatIfOptions {
  readonly catalog: Catalog
  readonly limits: SupposedLimits
  /** Unix milliseconds: what came before tells of endpoints and is not reckoned. */
  readonly since: number
  readonly replicates: number
  readonly seed: number
}

/** What is asked of a ledger: which of its calls are looked at, and how. */
export interface WhatIfQuestion extends WhatIfOptions {
  readonly scope: LedgerScope
  /** Unix milliseconds: calls before that. */
  readonly until: number
  /** From when on calls tell of endpoints; at most `since`. */
  readonly historySince: number
}

/** Rows of what is no call of a model. */
const FEES: ReadonlySet<string> = new Set(['tool', 'plugin'])

export class WhatIf {
  readonly #options: WhatIfOptions
  readonly #random: () => number
  readonly #histories = new Map<string, EndpointHistory>()
  readonly #resamples: readonly Float64Array[]
  readonly #limits: LimitTrial
  readonly #sums: WhatIfSums
  readonly #health: HealthRegistry
  readonly #sessions = new SessionAffinity(null)
  /** Endpoints of the configuration by the names that rows have for them. */
  readonly #endpoints = new Map<string, ModelEndpoint[]>()
  /** When the call that is being reckoned came. */
  #now = 0

  constructor(options: WhatIfOptions) {
    const { catalog, limits, replicates, seed } = options
    this.#options = options
    this.#random = seededRandom(seed)
    this.#resamples = Array.from({ length: replicates }, () => newResample(this.#random))
    this.#limits = new LimitTrial(limits, replicates)
    this.#sums = new WhatIfSums(replicates)
    const clock: Clock = {
      unixSeconds: () => this.#now / 1000,
      monotonicMs: () => this.#now,
      runAfter: () => () => {},
    }
    this.#health = new HealthRegistry({ clock, random: this.#random, broadcast: null })
    for (const { endpoints } of catalog.models) for (const endpoint of endpoints) this.#name(endpoint)
  }

  #name(endpoint: ModelEndpoint): void {
    const name = nameOfEndpoint(endpoint)
    this.#endpoints.set(name, [...(this.#endpoints.get(name) ?? []), endpoint])
  }

  /** The next call, with its parts; in the order in which they were dispatched. */
  add(row: LedgerRow): void {
    this.#now = row.createdAt
    const parts = row.parts.length === 0 ? [row] : row.parts
    if (row.createdAt >= this.#options.since) this.#reckon(row, parts)
    for (const part of parts) this.#learn(part)
  }

  report() {
    return this.#sums.report()
  }

  // ── Reckoning ───────────────────────────────────────────────────────────────

  #reckon(row: LedgerRow, parts: readonly LedgerRow[]): void {
    const courses = parts.map((part) => this.#courseOf(part))
    const label = worstOf(courses)
    this.#sums.addBefore(row, parts, label)
    if (label === 'unknown') return
    const { createdAt: at, keyHash, organizationId } = row
    const tokens = parts.reduce((sum, part) => sum + part.promptTokens + part.completionTokens, 0)
    const limited = { keyHash, organizationId, at, endedAt: at + row.detail.durationMs, tokens }
    const refused = label === 'refused' ? 'no_endpoint' : this.#limits.refuses(limited)
    if (refused !== null) {
      this.#sums.refuse(refused, null)
      return
    }
    const bounded = this.#limits.boundsMoneyOf(limited)
    if (label === 'exact' && !bounded) {
      for (const [at, part] of parts.entries()) this.#addPlayed(row, part, courses[at] as ExactCourse, null)
      return
    }
    for (let replicate = 0; replicate < this.#resamples.length; replicate++) {
      const refusal = this.#playOnce(row, parts, courses, replicate, bounded ? limited : null)
      if (refusal !== null) this.#sums.refuse(refusal, replicate)
    }
  }

  /** One replicate of a call. */
  #playOnce(
    row: LedgerRow,
    parts: readonly LedgerRow[],
    courses: readonly Course[],
    replicate: number,
    limited: LimitedCall | null,
  ): LimitKind | null {
    for (const [at, part] of parts.entries()) {
      const course = courses[at]!
      const played =
        course.label === 'estimated' ? this.#play(part, course.elsewhere, replicate) : (course as ExactCourse)
      const refusal = limited === null ? null : this.#limits.spend(limited, replicate, played.cost)
      if (refusal !== null) return refusal
      this.#addPlayed(row, part, played, replicate)
    }
    return null
  }

  #addPlayed(
    row: LedgerRow,
    part: LedgerRow,
    played: Played & { readonly fails?: boolean },
    replicate: number | null,
  ) {
    const { endpoint, cost } = played
    this.#sums.charge(part, endpoint, cost, replicate)
    if (row !== part) return
    const { fails = endpoint === null } = played
    if (fails) this.#sums.fail(replicate)
    else if (row.outcome === 'settled' || row.outcome === 'failed') this.#sums.time(played, replicate)
  }

  /** Goes down a plan until an endpoint answers. */
  #play(row: LedgerRow, { plan, known, usage }: Elsewhere, replicate: number): Played {
    let elapsed = 0
    for (const endpoint of this.#drawOrder(plan)) {
      const name = nameOfEndpoint(endpoint)
      const seen = known.get(name)
      if (seen !== undefined) {
        if (seen.ok) return shifted(endpoint, costAt(endpoint, row, usage, true), seen, elapsed)
        elapsed += seen.totalMs
        continue
      }
      const history = this.#histories.get(name)
      // Nothing tells of it: the one behind it is taken.
      if (history === undefined) continue
      const like = { streamed: row.detail.streamed, prompt: usage.prompt, completion: usage.completion }
      const call = history.draw(like, this.#resamples[replicate]!, this.#random)
      if (call.ok) {
        const isSameModel = endpoint.model.id === row.detail.model
        return shifted(
          endpoint,
          costAt(endpoint, row, usageLike(usage, isSameModel, call), false),
          call,
          elapsed,
        )
      }
      elapsed += call.totalMs
    }
    return { endpoint: null, cost: 0, firstMs: elapsed, totalMs: elapsed }
  }

  /** Who comes first is drawn as routing draws it: each with its chance, and the others behind in the same way. */
  #drawOrder({ endpoints, chances }: PlanAgain): readonly ModelEndpoint[] {
    if (chances.size === 0) return endpoints
    const lots = endpoints.map((endpoint) => {
      const chance = chances.get(endpoint)
      return {
        endpoint,
        lot: chance === undefined ? Number.POSITIVE_INFINITY : -Math.log(1 - this.#random()) / chance,
      }
    })
    return lots
      .sort((one, other) => (one.lot < other.lot ? -1 : one.lot > other.lot ? 1 : 0))
      .map((lot) => lot.endpoint)
  }

  #courseOf(row: LedgerRow): Course {
    // On callers' own accounts nothing is charged but a fee, which is as it was.
    if (FEES.has(row.detail.api) || row.byokCost !== undefined) return exactly(row, null, row.cost)
    const { catalog } = this.#options
    const state = { health: this.#health, sessions: this.#sessions, random: this.#random }
    const plan = planAgain(row, catalog, state)
    if (plan === 'no-endpoint') return { label: 'refused' }
    if (plan === 'untold') return { label: 'unknown' }
    const known = attemptsOf(row)
    const usage = usageOfRow(row)
    const served = this.#servedBy(row, plan)
    const cost = served === null ? row.cost : costAt(served, row, usage, true)
    if (isSamePlan(plan, row)) return exactly(row, served, cost)
    const end = plan.chances.size < 2 ? endOfPlan(plan, known) : 'open'
    if (end !== 'open') return exactly(row, end === 'answered' ? served : null, cost)
    // What it asked for, and how long its answer would have been, stands nowhere.
    if (usage.prompt === 0 && usage.completion === 0) return { label: 'unknown' }
    const firsts = plan.chances.size === 0 ? plan.endpoints.slice(0, 1) : [...plan.chances.keys()]
    const isKnown = (endpoint: ModelEndpoint): boolean =>
      known.has(nameOfEndpoint(endpoint)) || this.#histories.has(nameOfEndpoint(endpoint))
    return firsts.every(isKnown)
      ? { label: 'estimated', elsewhere: { plan, known, usage } }
      : { label: 'unknown' }
  }

  /** The endpoint of the plan that has answered the call; null where it has none of it. */
  #servedBy({ detail }: LedgerRow, { endpoints }: PlanAgain): ModelEndpoint | null {
    const name = endpointName(detail.provider, detail.model)
    return endpoints.find((endpoint) => nameOfEndpoint(endpoint) === name) ?? null
  }

  // ── Learning ────────────────────────────────────────────────────────────────

  #learn(row: LedgerRow): void {
    if (FEES.has(row.detail.api)) return
    // A call that its caller left tells nothing of how long it would have been.
    const isWhole = row.outcome === 'settled' || row.outcome === 'failed'
    for (const [name, { ok, firstMs, totalMs }] of attemptsOf(row)) {
      if (ok && !isWhole) continue
      const { promptTokens: prompt, completionTokens: completion, units } = row
      const share = (tokens: number | undefined): number =>
        prompt === 0 ? 0 : Math.min(1, (tokens ?? 0) / prompt)
      const call: PastCall = {
        ...{ ok, firstMs, totalMs, prompt, completion, streamed: row.detail.streamed },
        cachedShare: share(units.cached_tokens),
        writtenShare: share(units.cache_write_tokens),
      }
      let history = this.#histories.get(name)
      if (history === undefined) {
        history = new EndpointHistory()
        this.#histories.set(name, history)
      }
      history.add(call, this.#random)
      if (ok) this.#tellHealth(name, call)
    }
  }

  /** Sorting by latency and throughput goes by what was measured until then. */
  #tellHealth(name: string, { firstMs, totalMs, completion }: PastCall): void {
    for (const endpoint of this.#endpoints.get(name) ?? []) {
      const health = this.#health.of(endpoint)
      health.latency.record(firstMs, this.#now)
      const ms = totalMs - firstMs
      if (completion >= 2 && ms > 0) health.throughput.record((completion / ms) * 1000, this.#now)
    }
  }
}

function worstOf(courses: readonly Course[]): CallLabel | 'refused' {
  for (const label of ['unknown', 'refused', 'estimated'] as const)
    if (courses.some((course) => course.label === label)) return label
  return 'exact'
}
