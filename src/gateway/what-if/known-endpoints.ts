/** What the ledger has told of endpoints up to a moment: their histories, and the figures that routing sorts by. */
import type { Clock } from '../../base/clock.js'
import type { LedgerRow } from '../../store/ledger-store.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import { HealthRegistry } from '../health/health-registry.js'
import { SessionAffinity } from '../routing/session.js'
import { EndpointHistory, type PastCall } from './endpoint-history.js'
import { attemptsOf } from './known-attempts.js'
import { nameOfEndpoint } from './plan-again.js'

/** Rows of what is no call of a model. */
const FEES: ReadonlySet<string> = new Set(['tool', 'plugin'])

export const isFee = ({ detail }: LedgerRow): boolean => FEES.has(detail.api)

export class KnownEndpoints {
  readonly #random: () => number
  readonly #histories = new Map<string, EndpointHistory>()
  readonly #health: HealthRegistry
  readonly #sessions = new SessionAffinity(null)
  /** Endpoints of the configuration by the names that rows have for them. */
  readonly #endpoints = new Map<string, ModelEndpoint[]>()
  /** When the call that is being reckoned came. */
  #now = 0

  constructor({ models }: Catalog, random: () => number) {
    this.#random = random
    const clock: Clock = {
      unixSeconds: () => this.#now / 1000,
      monotonicMs: () => this.#now,
      runAfter: () => () => {},
    }
    this.#health = new HealthRegistry({ clock, random, broadcast: null })
    for (const { endpoints } of models) for (const endpoint of endpoints) this.#name(endpoint)
  }

  #name(endpoint: ModelEndpoint): void {
    const name = nameOfEndpoint(endpoint)
    this.#endpoints.set(name, [...(this.#endpoints.get(name) ?? []), endpoint])
  }

  set now(unixMs: number) {
    this.#now = unixMs
  }

  /** For planning. */
  get state() {
    return { health: this.#health, sessions: this.#sessions, random: this.#random }
  }

  /** Undefined where none of its calls is known. */
  historyOf(endpoint: ModelEndpoint): EndpointHistory | undefined {
    return this.#histories.get(nameOfEndpoint(endpoint))
  }

  /** What a call or a part of one tells. Who was left or overtaken has shown nothing. */
  learn(row: LedgerRow): void {
    if (isFee(row)) return
    const { promptTokens: prompt, completionTokens: completion, units, outcome, detail } = row
    const share = (tokens: number | undefined): number =>
      prompt === 0 ? 0 : Math.min(1, (tokens ?? 0) / prompt)
    for (const [name, { end, firstMs, totalMs }] of attemptsOf(row)) {
      if (end === 'left' || end === 'overtaken') continue
      // An answer that its caller left tells nothing of how long it would have been.
      if (end === 'answered' && outcome !== 'settled') continue
      const call: PastCall = {
        ...{ end, firstMs, totalMs, prompt, completion, streamed: detail.streamed },
        cachedShare: share(units.cached_tokens),
        writtenShare: share(units.cache_write_tokens),
      }
      this.#historyNamed(name).add(call, this.#random)
      if (end === 'answered') this.#tellHealth(name, call)
    }
  }

  #historyNamed(name: string): EndpointHistory {
    let history = this.#histories.get(name)
    if (history === undefined) {
      history = new EndpointHistory()
      this.#histories.set(name, history)
    }
    return history
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
