/**
 * What calls of an hour came to, told apart by who paid and who answered, in the table of the ledger's books. In the
 * order of time, so that old ones go in one range; of an hour, what belongs to an organization stands together.
 *
 *     'u' hour, organization, key, workspace, model, provider   ->  figures
 */
import { TurnSlices } from '../../base/turn-slices.js'
import { hourAt } from '../ledger/generation-time.js'
import type { UsageDelta } from '../ledger/ledger-batch.js'
import { isInScope, USAGE_FIGURES } from '../ledger/ledger-query.js'
import { rollupName } from '../ledger/line-names.js'
import { addFigures, noFigures, UsageTable } from '../ledger/usage-table.js'
import type { LedgerFilter, LedgerListQuery, UsageFigures, UsageLine, UsageQuery } from '../ledger-store.js'
import { KEY_END } from '../records/record-table.js'
import type { LmdbEnvironment } from './environment.js'
import { removeSomeRecords } from './ledger-sums.js'
import type { LmdbByteTable, TableEntry } from './table.js'

interface HourRecord extends UsageFigures {
  readonly hour: number
  readonly organizationId: string
  readonly keyHash: string
  readonly workspaceId: string | null
  readonly model: string
  readonly provider: string
}

const PREFIX = 'u'
const HOUR_DIGITS = 8
const FIGURE_BYTES = 8
/** Read at a time. */
const RECORDS = 500
/** Hours that are looked for in one turn. */
const HOURS = 24

export class LedgerHours {
  readonly #env: LmdbEnvironment
  readonly #table: LmdbByteTable

  constructor(env: LmdbEnvironment, table: LmdbByteTable) {
    this.#env = env
    this.#table = table
  }

  /** Inside a transaction. Each record is read and written once, however many calls it has grown by. */
  add(deltas: readonly UsageDelta[]): void {
    const grown = new Map<string, UsageFigures>()
    for (const delta of deltas) {
      const key = keyOf(delta)
      const figures = grown.get(key)
      if (figures === undefined) grown.set(key, addFigures(noFigures(), delta))
      else addFigures(figures, delta)
    }
    for (const [text, by] of grown) {
      const key = Buffer.from(text)
      const before = this.#env.get(this.#table, key)
      const sum = before === undefined ? by : addFigures(decodeFigures(before), by)
      this.#table.put(key, encodeFigures(sum))
    }
  }

  /** Removes a few sums of hours before that one. True when there may be more of them. */
  prune(hour: number): boolean {
    return removeSomeRecords(this.#table, Buffer.from(PREFIX), hourPrefix(hour))
  }

  /** See `LedgerReader.usage`. */
  async usage(query: UsageQuery): Promise<readonly UsageLine[]> {
    const { from, to, limit } = query
    const table = new UsageTable(query.by)
    const slices = new TurnSlices()
    const last = hourAt(to - 1)
    for (let after: Uint8Array = hourPrefix(Math.max(0, hourAt(from))); table.size <= limit; ) {
      const entries = this.#env.inSnapshot(() => this.#env.entriesAfter(this.#table, after, RECORDS))
      for (const entry of entries) {
        const record = decodeRecord(entry)
        if (record === null || record.hour > last) return table.lines
        if (isInScope(query.scope, record) && matches(query, record)) table.add(record)
      }
      if (entries.length < RECORDS) break
      after = entries.at(-1)!.key
      if (slices.isOver) await slices.next()
    }
    return table.lines
  }

  /** The latest hours up to one in which something may be that is looked for. */
  hoursOf(query: LedgerListQuery, upTo: number): { readonly found: number | null; readonly next: number } {
    let hour = upTo
    for (let looked = 0; looked < HOURS; looked++) {
      const latest = this.#latestHour(hour)
      if (latest === null || hourAt(query.from) > latest) return { found: null, next: -1 }
      if (this.#holds(query, latest)) return { found: latest, next: latest }
      hour = latest - 1
    }
    return { found: null, next: hour }
  }

  /** The latest hour up to one in which there was any call. */
  #latestHour(upTo: number): number | null {
    if (upTo < 0) return null
    // The end comes first: the range goes backwards.
    const range = { start: hourPrefix(upTo + 1), end: Buffer.from(PREFIX) }
    for (const { key } of this.#env.entriesBackwards(this.#table, range)) return hourOf(key)
    return null
  }

  #holds(query: LedgerListQuery, hour: number): boolean {
    const { scope, outcome, keyHash } = query
    // Where everything is looked for, going through the rows finds something soon.
    const { organizationId } = scope
    if (organizationId === null) return true
    const prefix = `${hourText(hour)}${organizationId}${KEY_END}${keyHash === null ? '' : keyHash + KEY_END}`
    for (const entry of this.#env.entriesWithPrefix(this.#table, Buffer.from(prefix))) {
      const record = decodeRecord(entry as TableEntry)
      if (record === null || record.calls === 0 || (outcome === 'failed' && record.failed === 0)) continue
      if (isInScope(scope, record) && matches(query, record)) return true
    }
    return false
  }
}

function matches({ keyHash, model, provider }: LedgerFilter, record: HourRecord): boolean {
  return (
    (keyHash === null || record.keyHash === keyHash) &&
    (model === null || record.model === rollupName(model)) &&
    (provider === null || record.provider === rollupName(provider))
  )
}

function hourText(hour: number): string {
  return `${PREFIX}${hour.toString(16).padStart(HOUR_DIGITS, '0')}`
}

function hourPrefix(hour: number): Buffer {
  return Buffer.from(hourText(hour))
}

function hourOf(key: Uint8Array): number {
  return Number.parseInt(Buffer.from(key).toString('latin1', 1, 1 + HOUR_DIGITS), 16)
}

function keyOf(delta: UsageDelta): string {
  const { hour, organizationId, keyHash, workspaceId, model, provider } = delta
  return `${hourText(hour)}${[organizationId, keyHash, workspaceId ?? '', model, provider].join(KEY_END)}`
}

/** Null behind the last of them. */
function decodeRecord({ key, value }: TableEntry): HourRecord | null {
  const text = Buffer.from(key).toString()
  if (!text.startsWith(PREFIX)) return null
  const fields = text.slice(1 + HOUR_DIGITS).split(KEY_END)
  const [organizationId, keyHash, workspaceId, model, provider] = fields as [
    string,
    string,
    string,
    string,
    string,
  ]
  const names = {
    organizationId,
    keyHash,
    workspaceId: workspaceId === '' ? null : workspaceId,
    model,
    provider,
  }
  return { hour: hourOf(key), ...names, ...decodeFigures(value) }
}

function decodeFigures(bytes: Uint8Array): UsageFigures {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const figures = noFigures()
  for (const [at, member] of USAGE_FIGURES.entries()) figures[member] = view.getFloat64(at * FIGURE_BYTES)
  return figures
}

function encodeFigures(figures: UsageFigures): Buffer {
  const bytes = Buffer.allocUnsafe(USAGE_FIGURES.length * FIGURE_BYTES)
  for (const [at, member] of USAGE_FIGURES.entries()) bytes.writeDoubleBE(figures[member], at * FIGURE_BYTES)
  return bytes
}
