import type { ApiKey, Organization, Workspace } from '../../account-store.js'
import type { ByteTable, Environment } from '../environment.js'
import { ParsedRecords } from '../parsed-records.js'
import {
  type AccountTables,
  ALL_KEYS,
  decoded,
  EVERYTHING,
  HashKey,
  idKey,
  keysOfPrefix,
  workspacesOfPrefix,
} from './account-layout.js'

/** Keys in use at a time whose parsed record is worth keeping; beyond it the oldest goes. About 1.5 KB each. */
const REMEMBERED = 10_000

interface Remembered {
  /** What the store said when the record was parsed. */
  readonly bytes: Buffer
  readonly record: ApiKey
}

/** Reads of accounts, each from a snapshot of its own. */
export class AccountReader {
  readonly #env: Environment
  readonly #tables: AccountTables
  readonly #hashKey = new HashKey()
  readonly #remembered = new Map<string, Remembered>()
  /** Organizations and workspaces. */
  readonly #parsedById = new ParsedRecords()

  constructor(env: Environment, tables: AccountTables) {
    this.#env = env
    this.#tables = tables
  }

  /**
   * The stored bytes are read every time, and only when they are the ones that were parsed before does the parsed
   * record serve again: it saves the parsing and can never be stale.
   */
  key(hash: string): ApiKey | null {
    const at = this.#hashKey.of(hash)
    if (at === null) return null
    const bytes = this.#env.raw(this.#tables.keys, at)
    const record = bytes === undefined ? null : this.#parsed(hash, bytes)
    this.#env.release()
    return record
  }

  /** `raw` is borrowed, and its underlying buffer is larger than it says: it may only be compared with bounds. */
  #parsed(hash: string, raw: Buffer): ApiKey | null {
    const { length } = raw
    const before = this.#remembered.get(hash)
    if (
      before !== undefined &&
      before.bytes.length === length &&
      before.bytes.compare(raw, 0, length) === 0
    ) {
      return before.record
    }
    const bytes = Buffer.from(raw.subarray(0, length))
    const record = decoded<ApiKey>(bytes)
    // Hex in capitals names the same bytes, but no key of ours.
    if (record.hash !== hash) return null
    this.#remember(hash, { bytes, record })
    return record
  }

  #remember(hash: string, parsed: Remembered): void {
    if (this.#remembered.size >= REMEMBERED) {
      const { value: oldest } = this.#remembered.keys().next()
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.set(hash, parsed)
  }

  keysOf(organizationId: string): ApiKey[] {
    return this.#belonging(this.#tables.keys, organizationId, keysOfPrefix)
  }

  keys(): ApiKey[] {
    const keys = this.#together(() => this.#recordsOf<ApiKey>(this.#tables.keys, ALL_KEYS))
    return keys.sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1))
  }

  organization(id: string): Organization | null {
    return this.#one(this.#tables.organizations, id)
  }

  organizations(): Organization[] {
    return this.#together(() =>
      this.#env.range(this.#tables.organizations, EVERYTHING).map((bytes) => decoded<Organization>(bytes)),
    )
  }

  workspace(id: string): Workspace | null {
    return this.#one(this.#tables.workspaces, id)
  }

  workspacesOf(organizationId: string): Workspace[] {
    return this.#belonging(this.#tables.workspaces, organizationId, workspacesOfPrefix)
  }

  #one<T extends object>(table: ByteTable, id: string): T | null {
    const at = idKey(id)
    if (at === null) return null
    const raw = this.#env.raw(table, at)
    const record = raw === undefined ? null : this.#parsedById.of<T>(id, raw)
    this.#env.release()
    return record
  }

  #belonging<T extends object>(
    table: ByteTable,
    organizationId: string,
    prefixOf: (organizationId: string) => Uint8Array,
  ): T[] {
    if (idKey(organizationId) === null) return []
    return this.#together(() => this.#recordsOf<T>(table, prefixOf(organizationId)))
  }

  /** The records that the belongings under a prefix lead to, in their order. */
  #recordsOf<T extends object>(table: ByteTable, prefix: Uint8Array): T[] {
    return this.#env.range(this.#tables.belongings, prefix).map((id) => decoded<T>(this.#env.get(table, id)!))
  }

  /** All reads of one answer see the same snapshot. */
  #together<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.#env.release()
    }
  }
}
