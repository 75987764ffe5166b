/** Counts the calls of a worker for those who watch. While nobody does, it counts what is under way and nothing else. */
import { Histogram } from '../../base/histogram.js'
import { isPart } from '../../store/ledger/generation-time.js'
import type { ClosedLedgerEntry, OpenLedgerEntry } from '../../store/ledger-store.js'
import {
  type LiveReport,
  type LiveScope,
  parseScope,
  type ScopeName,
  type ScopeReport,
  type WorkerReport,
} from './live-report.js'

/** Latest calls that a scope's report has. */
export const MOST_ROWS = 10
/** Requests with turns and tools whose sums are kept until they end. */
const MOST_REQUESTS = 10_000

/** A call that has ended, with the figures of its turns and tools. */
type LiveRow = Omit<ClosedLedgerEntry, 'coverage' | 'units'>

interface LiveTapPorts {
  /** The JSON text of a row. */
  readonly encode: (row: LiveRow) => string
  /** Whose key it is; null for nobody's. */
  readonly ownerOf: (keyHash: string) => string | null
  readonly machine: WorkerFigures
}

/** What a worker says of itself, from when it begins to be watched on. */
interface WorkerFigures {
  begin(): void
  read(overhead: Histogram): WorkerReport
  end(): void
}

interface RowFigures {
  cost: number
  byokCost: number
  promptTokens: number
  completionTokens: number
  attempts: number
}

export class LiveTap {
  readonly #ports: LiveTapPorts
  /** By organization. */
  readonly #inFlight = new Map<string, number>()
  #open = 0
  #scopes = new Map<ScopeName, ScopeTap>()
  /** Of requests under way, by their ids: what their turns and tools came to. */
  readonly #parts = new Map<string, RowFigures>()
  #overhead: Histogram | null = null

  constructor(ports: LiveTapPorts) {
    this.#ports = ports
  }

  /** Whether somebody sees what the server's own time is. */
  get watchesOverhead(): boolean {
    return this.#overhead !== null
  }

  recordOverhead(ms: number): void {
    this.#overhead?.record(ms)
  }

  recordOpen({ id, organizationId }: OpenLedgerEntry): void {
    if (isPart(id)) return
    this.#open++
    this.#inFlight.set(organizationId, (this.#inFlight.get(organizationId) ?? 0) + 1)
  }

  recordClosed(row: ClosedLedgerEntry): void {
    const part = isPart(row.id)
    if (!part) this.#settle(row.organizationId)
    if (this.#scopes.size === 0) return
    if (part) this.#addPart(row)
    const whole = part ? null : this.#withParts(row)
    for (const scope of this.#scopes.values()) {
      if (this.#covers(scope.scope, row)) scope.add(row, whole)
    }
  }

  /** What has happened in these scopes since the report before; what is not among them is watched no more. */
  report(names: readonly ScopeName[]): LiveReport {
    const before = this.#scopes
    this.#scopes = new Map(names.map((name) => [name, before.get(name) ?? new ScopeTap(parseScope(name))]))
    const scopes: Record<ScopeName, ScopeReport> = {}
    for (const [name, tap] of this.#scopes)
      scopes[name] = tap.take(this.#inFlightOf(tap.scope), this.#ports.encode)
    return { scopes, worker: this.#reportWorker() }
  }

  /** Nobody watches any more. */
  rest(): void {
    this.#scopes = new Map()
    this.#parts.clear()
    this.#stopWorker()
  }

  #reportWorker(): WorkerReport | null {
    if (![...this.#scopes.values()].some(({ scope }) => scope.of === 'machine')) {
      this.#stopWorker()
      return null
    }
    if (this.#overhead === null) this.#ports.machine.begin()
    const overhead = this.#overhead ?? new Histogram()
    this.#overhead = new Histogram()
    return this.#ports.machine.read(overhead)
  }

  #stopWorker(): void {
    if (this.#overhead === null) return
    this.#overhead = null
    this.#ports.machine.end()
  }

  #settle(organizationId: string): void {
    this.#open--
    const left = (this.#inFlight.get(organizationId) ?? 1) - 1
    if (left > 0) this.#inFlight.set(organizationId, left)
    else this.#inFlight.delete(organizationId)
  }

  /** Calls are counted by organization only: of less nobody knows. */
  #inFlightOf(scope: LiveScope): number | null {
    if (scope.of === 'machine') return this.#open
    return scope.of === 'organization' ? (this.#inFlight.get(scope.organizationId) ?? 0) : null
  }

  #covers(scope: LiveScope, { organizationId, workspaceId, keyHash }: ClosedLedgerEntry): boolean {
    if (scope.of === 'machine') return true
    if (scope.organizationId !== organizationId) return false
    if (scope.of === 'organization') return true
    if (workspaceId === null) return false
    if (scope.adminOf.includes(workspaceId)) return true
    return scope.memberOf.includes(workspaceId) && this.#ports.ownerOf(keyHash) === scope.userId
  }

  #addPart(row: ClosedLedgerEntry): void {
    const root = row.id.slice(0, row.id.indexOf('.'))
    const sums = this.#parts.get(root) ?? {
      cost: 0,
      byokCost: 0,
      promptTokens: 0,
      completionTokens: 0,
      attempts: 0,
    }
    sums.cost += row.cost
    sums.byokCost += row.byokCost ?? 0
    sums.promptTokens += row.promptTokens
    sums.completionTokens += row.completionTokens
    sums.attempts += row.detail.attempts
    if (this.#parts.size < MOST_REQUESTS) this.#parts.set(root, sums)
  }

  /** The row itself where it has no parts. */
  #withParts(row: ClosedLedgerEntry): LiveRow {
    const parts = this.#parts.get(row.id)
    if (parts === undefined) return row
    this.#parts.delete(row.id)
    const { attempts, byokCost, ...sums } = parts
    return { ...row, ...sums, ...(byokCost > 0 && { byokCost }), detail: { ...row.detail, attempts } }
  }
}

/** The calls of one scope since the report before. */
class ScopeTap {
  #sums = noSums()
  #durationMs = new Histogram()
  #firstEventMs = new Histogram()
  #rows: LiveRow[] = []

  constructor(readonly scope: LiveScope) {}

  /** @param whole null for a part of a request */
  add(row: ClosedLedgerEntry, whole: LiveRow | null): void {
    const sums = this.#sums
    sums.cost += row.cost
    sums.byokCost += row.byokCost ?? 0
    sums.promptTokens += row.promptTokens
    sums.completionTokens += row.completionTokens
    if (whole === null) return
    const { outcome, detail } = row
    sums.calls++
    if (outcome === 'failed') {
      sums.failed++
      const kind = detail.fault ?? 'internal'
      sums.faults[kind] = (sums.faults[kind] ?? 0) + 1
    } else if (outcome !== 'settled') sums.aborted++
    this.#durationMs.record(detail.durationMs)
    if (detail.firstEventMs !== null) this.#firstEventMs.record(detail.firstEventMs)
    this.#rows.push(whole)
    // Seldom, so that it costs nothing to speak of per call.
    if (this.#rows.length >= 2 * MOST_ROWS) this.#rows = this.#rows.slice(-MOST_ROWS)
  }

  take(inFlight: number | null, encode: (row: LiveRow) => string): ScopeReport {
    const report = {
      ...this.#sums,
      durationMs: this.#durationMs.snapshot(),
      firstEventMs: this.#firstEventMs.snapshot(),
      inFlight,
      rows: this.#rows.slice(-MOST_ROWS).map(encode),
    }
    if (report.calls > 0) {
      this.#durationMs = new Histogram()
      this.#firstEventMs = new Histogram()
      this.#rows = []
    }
    this.#sums = noSums()
    return report
  }
}

function noSums() {
  const faults: Record<string, number> = {}
  return {
    calls: 0,
    failed: 0,
    aborted: 0,
    faults,
    promptTokens: 0,
    completionTokens: 0,
    cost: 0,
    byokCost: 0,
  }
}
