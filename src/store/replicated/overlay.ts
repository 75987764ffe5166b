/**
 * What a group of changes has written so far, above the replica they read. Each change is a layer: what it has written
 * goes when it throws, and stays for those behind it when it does not.
 */
import type { AuditEntry, RecordEntry } from './change-log.js'
import { type ReplicaTable, textOf } from './replica.js'

/** Keys as Latin-1, which keeps the order of bytes; null for what was removed. */
type WrittenKeys = Map<string, Buffer | null>

interface Layer {
  readonly tables: Map<ReplicaTable, WrittenKeys>
  readonly audit: AuditEntry[]
}

const newLayer = (): Layer => ({ tables: new Map(), audit: [] })

export class Overlay {
  readonly #kept = newLayer()
  #layer = newLayer()

  put(table: ReplicaTable, key: Uint8Array, value: Uint8Array | null): void {
    let written = this.#layer.tables.get(table)
    if (written === undefined) this.#layer.tables.set(table, (written = new Map()))
    written.set(textOf(key), value === null ? null : Buffer.from(value))
  }

  audit(rows: readonly AuditEntry[]): void {
    this.#layer.audit.push(...rows)
  }

  /** Null for what was removed, undefined where nothing was written. */
  get(table: ReplicaTable, key: Uint8Array): Buffer | null | undefined {
    const text = textOf(key)
    const written = this.#layer.tables.get(table)?.get(text)
    return written === undefined ? this.#kept.tables.get(table)?.get(text) : written
  }

  /** What was written under a prefix, from a key on if one is named, by key. */
  withPrefix(
    table: ReplicaTable,
    prefix: Uint8Array,
    from: Uint8Array = prefix,
  ): ReadonlyMap<string, Buffer | null> {
    const [start, first] = [textOf(prefix), textOf(from)]
    const found: WrittenKeys = new Map()
    for (const { tables } of [this.#kept, this.#layer]) {
      for (const [key, value] of tables.get(table) ?? [])
        if (key.startsWith(start) && key >= first) found.set(key, value)
    }
    return found
  }

  /** Ends the layer of a change. */
  keepLayer(): void {
    const { tables, audit } = this.#layer
    for (const [table, written] of tables) {
      const kept = this.#kept.tables.get(table)
      if (kept === undefined) this.#kept.tables.set(table, written)
      else for (const [key, value] of written) kept.set(key, value)
    }
    this.#kept.audit.push(...audit)
    this.#layer = newLayer()
  }

  /** As if the change had not run. */
  dropLayer(): void {
    this.#layer = newLayer()
  }

  /** What differs from the records as `current` has them. */
  entries(current: (table: ReplicaTable, key: Buffer) => Uint8Array | undefined): RecordEntry[] {
    const entries: RecordEntry[] = []
    for (const [table, written] of this.#kept.tables) {
      for (const [text, value] of written) {
        const key = Buffer.from(text, 'latin1')
        const before = current(table, key)
        const isSame = value === null ? before === undefined : before !== undefined && value.equals(before)
        if (!isSame) entries.push({ space: table.name, key, value })
      }
    }
    return entries
  }

  get auditRows(): readonly AuditEntry[] {
    return this.#kept.audit
  }
}

/** The values of two maps by key, the second above the first, in the order of the keys. */
export function mergeByKey(
  below: ReadonlyMap<string, Buffer>,
  above: ReadonlyMap<string, Buffer | null>,
): Buffer[] {
  const merged = new Map<string, Buffer | null>([...below, ...above])
  return [...merged]
    .filter((entry): entry is [string, Buffer] => entry[1] !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, value]) => value)
}
