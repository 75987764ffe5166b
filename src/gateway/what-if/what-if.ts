/**
 * Calls of the ledger under another configuration: what they would have cost, how long they would have taken, which of
 * them would have been refused. A call that stays where it was is reckoned **exactly**, to the nano-dollar. One that
 * would go elsewhere is **estimated** from what that endpoint's calls had come to until then; a call of which nothing
 * tells is **unknown**, and no figure holds it. What comes later than a call is never used for it.
 */
import { seededRandom } from '../../base/random.js'
import type { LedgerRow, LedgerScope } from '../../store/ledger-store.js'
import { usageOfRow } from '../accounting/ledger-rows.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import type { Usage } from '../formats/usage.js'
import {
  asFarAsKnown,
  asItWent,
  type Course,
  costElsewhere,
  type Elsewhere,
  type ExactCourse,
  type Played,
  unanswered,
  usageLike,
} from './course.js'
import { newResample } from './endpoint-history.js'
import { attemptsOf, endOfPlan, type KnownAttempt } from './known-attempts.js'
import { isFee, KnownEndpoints } from './known-endpoints.js'
import type { LimitedUse } from './limit-use.js'
import { type LimitedCall, LimitTrial, type SupposedLimits } from './limits.js'
import { endpointName, isSamePlan, nameOfEndpoint, type PlanAgain, planAgain } from './plan-again.js'
import { type CallLabel, WhatIfSums } from './report.js'

/** How often estimated calls are played: enough for the ends of a range, few enough for a serving worker. */
export const REPLICATES = 400

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

export class WhatIf {
  readonly #options: WhatIfOptions
  readonly #random: () => number
  readonly #endpoints: KnownEndpoints
  readonly #resamples: readonly Float64Array[]
  readonly #limits: LimitTrial
  readonly #sums: WhatIfSums

  constructor(options: WhatIfOptions) {
    const { catalog, limits, replicates, seed } = options
    this.#options = options
    this.#random = seededRandom(seed)
    this.#resamples = Array.from({ length: replicates }, () => newResample(this.#random))
    this.#limits = new LimitTrial(limits, replicates)
    this.#sums = new WhatIfSums(replicates)
    this.#endpoints = new KnownEndpoints(catalog, this.#random)
  }

  /** The next call, with its parts; in the order in which they were dispatched. */
  add(row: LedgerRow): void {
    this.#endpoints.now = row.createdAt
    const parts = row.parts.length === 0 ? [row] : row.parts
    if (row.createdAt >= this.#options.since) this.#reckon(row, parts)
    for (const part of parts) this.#endpoints.learn(part)
  }

  report() {
    return { ...this.#sums.report(), limits: this.#limits.oddEntries() }
  }

  // ── Reckoning ───────────────────────────────────────────────────────────────

  #reckon(row: LedgerRow, parts: readonly LedgerRow[]): void {
    const courses = parts.map((part) => this.#courseOf(part))
    const label = worstOf(courses)
    const limited = { keyHash: row.keyHash, organizationId: row.organizationId, at: row.createdAt }
    this.#limits.meet(limited)
    const isDrawn = label === 'estimated' || (label === 'exact' && !this.#limits.isSame(limited))
    this.#sums.addBefore(row, parts, isDrawn ? 'estimated' : label)
    if (label === 'unknown') return
    if (label === 'refused') {
      this.#sums.refuse('no_endpoint', null)
      return
    }
    if (!isDrawn) {
      this.#take(row, parts, courses as readonly ExactCourse[], limited, null)
      return
    }
    this.#sums.markDrawn(parts, this.#limits.kindsOf(limited))
    for (let replicate = 0; replicate < this.#resamples.length; replicate++) {
      const played = courses.map((course, at) => this.#playCourse(parts[at]!, course, replicate))
      this.#take(row, parts, played, limited, replicate)
    }
  }

  /** One replicate of a call, or all of them. */
  #take(
    row: LedgerRow,
    parts: readonly LedgerRow[],
    played: readonly Played[],
    limited: LimitedCall,
    replicate: number | null,
  ): void {
    const refused = this.#limits.admit(limited, useOf(row, parts, played), replicate)
    if (refused !== null) {
      this.#sums.refuse(refused, replicate)
      return
    }
    for (const [at, part] of parts.entries()) {
      const { endpoint, cost } = played[at]!
      this.#sums.charge(part, endpoint, cost, replicate)
    }
    if (fails(row, parts, played)) this.#sums.fail(replicate)
    // Times are compared of calls of one turn.
    else if (row.parts.length === 0 && (row.outcome === 'settled' || row.outcome === 'failed'))
      this.#sums.time(played[0]!, replicate)
  }

  #playCourse(part: LedgerRow, course: Course, replicate: number): Played {
    return course.label === 'estimated'
      ? this.#play(part, course.elsewhere, replicate)
      : (course as ExactCourse)
  }

  /** Goes down a plan until an endpoint answers. `row`: a call, or a part of one. */
  #play(row: LedgerRow, { plan, known, usage }: Elsewhere, replicate: number): Played {
    let elapsed = 0
    const order = this.#drawOrder(plan)
    for (const [place, endpoint] of order.entries()) {
      const seen = known.get(nameOfEndpoint(endpoint))
      if (seen?.end === 'failed') elapsed += seen.totalMs
      else if (seen !== undefined && seen.end !== 'overtaken')
        return shifted(asItWent(row, endpoint, usage), seen, elapsed)
      else {
        const history = this.#endpoints.historyOf(endpoint)
        // Nothing tells of it: the one behind it is taken.
        if (history === undefined) continue
        const like = { streamed: row.detail.streamed, prompt: usage.prompt, completion: usage.completion }
        const call = history.draw(like, this.#resamples[replicate]!, this.#random)
        if (decides(row) && history.isFlawless && !this.#rescues(order.slice(place + 1), known))
          this.#sums.addUnseen(nameOfEndpoint(endpoint), history.size)
        if (call.end === 'failed') elapsed += call.totalMs
        else {
          const isAsLong = call.end === 'answered' && endpoint.model.id === row.detail.model
          return shifted(playedAt(endpoint, row, usageLike(usage, isAsLong, call), call), call, elapsed)
        }
      }
    }
    return unanswered(elapsed)
  }

  /** Whether one of these is known to answer where those before it fail. */
  #rescues(endpoints: readonly ModelEndpoint[], known: ReadonlyMap<string, KnownAttempt>): boolean {
    return endpoints.some((endpoint) => {
      const seen = known.get(nameOfEndpoint(endpoint))
      return seen === undefined
        ? this.#endpoints.historyOf(endpoint)?.tells === true
        : seen.end === 'answered'
    })
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

  // ── Where a call would go ───────────────────────────────────────────────────

  #courseOf(row: LedgerRow): Course {
    const usage = usageOfRow(row)
    // On callers' own accounts nothing is charged but a fee, which is as it was.
    if (isFee(row) || row.byokCost !== undefined) return asItWent(row, null, usage)
    const plan = planAgain(row, this.#options.catalog, this.#endpoints.state)
    if (plan === 'no-endpoint') return { label: 'refused' }
    if (plan === 'untold') return { label: 'unknown' }
    if (isSamePlan(plan, row)) return asItWent(row, servedBy(row, plan), usage)
    const known = attemptsOf(row)
    const end = plan.chances.size < 2 ? endOfPlan(plan, known) : null
    if (end !== null) return asFarAsKnown(row, end, usage)
    // What it asked for, and how long its answer would have been, stands nowhere.
    if (usage.prompt === 0 && usage.completion === 0) return { label: 'unknown' }
    return this.#isTold(plan, known)
      ? { label: 'estimated', elsewhere: { plan, known, usage } }
      : { label: 'unknown' }
  }

  /** Enough is known of each endpoint that may be asked first. */
  #isTold({ endpoints, chances }: PlanAgain, known: Elsewhere['known']): boolean {
    const isKnown = (endpoint: ModelEndpoint): boolean => {
      const seen = known.get(nameOfEndpoint(endpoint))
      if (seen !== undefined && seen.end !== 'overtaken') return true
      return this.#endpoints.historyOf(endpoint)?.tells === true
    }
    if (chances.size > 0) return [...chances.keys()].every(isKnown)
    // Those that have failed for the call lead to the one that decides.
    const first = endpoints.find((endpoint) => known.get(nameOfEndpoint(endpoint))?.end !== 'failed')
    return first !== undefined && isKnown(first)
  }
}

/** The endpoint of the plan that has answered the call; null where it has none of it. */
function servedBy({ detail }: LedgerRow, { endpoints }: PlanAgain): ModelEndpoint | null {
  const name = endpointName(detail.provider, detail.model)
  return endpoints.find((endpoint) => nameOfEndpoint(endpoint) === name) ?? null
}

function playedAt(
  endpoint: ModelEndpoint,
  row: LedgerRow,
  usage: Usage,
  { end, firstMs, totalMs }: { readonly end: string; readonly firstMs: number; readonly totalMs: number },
): Played {
  const tokens = usage.prompt + usage.completion
  const cost = costElsewhere(endpoint, row, usage)
  return { endpoint, cost, tokens, firstMs, totalMs, fails: end === 'broken' }
}

function shifted(played: Played, times: Pick<Played, 'firstMs' | 'totalMs'>, by: number): Played {
  return { ...played, firstMs: times.firstMs + by, totalMs: times.totalMs + by }
}

/** What a call takes of its limits: as long as it took, but for what its parts take more or less. */
function useOf(row: LedgerRow, parts: readonly LedgerRow[], played: readonly Played[]): LimitedUse {
  let { durationMs: totalMs } = row.detail
  let tokens = 0
  let cost = 0
  for (const [at, part] of parts.entries()) {
    const one = played[at]!
    totalMs += one.totalMs - part.detail.durationMs
    tokens += one.tokens
    cost += one.cost
  }
  return { totalMs: Math.max(0, totalMs), tokens, cost }
}

/** Parts whose failure a call can outlive: its tools, and models that they ask, which tell it that they have failed. */
const OUTLIVED: ReadonlySet<string> = new Set([
  'tool',
  'plugin',
  'advisor',
  'subagent',
  'panel',
  'judge',
  'painter',
])

/** Whether a call fails with this part of it; one without parts is its own. */
const decides = ({ detail }: LedgerRow): boolean => !OUTLIVED.has(detail.api)

/**
 * Whether a call ends without an answer: where a part that decides fails which had not, and where the call had failed
 * and none of the parts that it failed with would be answered. What ended it beside its parts ends it again.
 */
function fails(row: LedgerRow, parts: readonly LedgerRow[], played: readonly Played[]): boolean {
  let isRescued = false
  for (const [at, part] of parts.entries()) {
    if (!decides(part)) continue
    const [failed, failsNow] = [part.outcome === 'failed', played[at]!.fails]
    if (failsNow && !failed) return true
    if (failed && !failsNow) isRescued = true
  }
  return row.outcome === 'failed' && !isRescued
}

function worstOf(courses: readonly Course[]): CallLabel | 'refused' {
  for (const label of ['unknown', 'refused', 'estimated'] as const)
    if (courses.some((course) => course.label === label)) return label
  return 'exact'
}
