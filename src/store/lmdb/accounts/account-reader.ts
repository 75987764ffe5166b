import type { ApiKey, Organization, Workspace } from '../../account-store.js'
import type { LmdbByteTable, LmdbEnvironment } from '../environment.js'
import { ParsedRecords } from '../parsed-records.js'
import {
  type AccountTables,
  ALL_API_KEYS,
  apiKeyIndexPrefix,
  decodeRecord,
  EMPTY_PREFIX,
  HashKeyEncoder,
  idKey,
  workspaceIndexPrefix,
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
  readonly #env: LmdbEnvironment
  readonly #tables: AccountTables
  readonly #hashKey = new HashKeyEncoder()
  readonly #remembered = new Map<string, Remembered>()
  /** Organizations and workspaces. */
  readonly #parsedById = new ParsedRecords()

  constructor(env: LmdbEnvironment, tables: AccountTables) {
    this.#env = env
    this.#tables = tables
  }

  /**
   * The stored bytes are read every time, and only when they are the ones that were parsed before does the parsed
   * record serve again: it saves the parsing and can never be stale.
   */
  key(hash: string): ApiKey | null {
    const at = this.#hashKey.encode(hash)
    if (at === null) return null
    const bytes = this.#env.getUnbounded(this.#tables.keys, at)
    const record = bytes === undefined ? null : this.#parsed(hash, bytes)
    this.#env.releaseSnapshot()
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
    const record = decodeRecord<ApiKey>(bytes)
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
    return this.#recordsOfOwner(this.#tables.keys, organizationId, apiKeyIndexPrefix)
  }

  keys(): ApiKey[] {
    const keys = this.#inSnapshot(() => this.#recordsUnder<ApiKey>(this.#tables.keys, ALL_API_KEYS))
    return keys.sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1))
  }

  organization(id: string): Organization | null {
    return this.#readById(this.#tables.organizations, id)
  }

  organizations(): Organization[] {
    return this.#inSnapshot(() =>
      this.#env
        .valuesWithPrefix(this.#tables.organizations, EMPTY_PREFIX)
        .map((bytes) => decodeRecord<Organization>(bytes)),
    )
  }

  workspace(id: string): Workspace | null {
    return this.#readById(this.#tables.workspaces, id)
  }

  workspacesOf(organizationId: string): Workspace[] {
    return this.#recordsOfOwner(this.#tables.workspaces, organizationId, workspaceIndexPrefix)
  }

  #readById<T extends object>(table: LmdbByteTable, id: string): T | null {
    const at = idKey(id)
    if (at === null) return null
    const raw = this.#env.getUnbounded(table, at)
    const record = raw === undefined ? null : this.#parsedById.parse<T>(id, raw)
    this.#env.releaseSnapshot()
    return record
  }

  #recordsOfOwner<T extends object>(
    table: LmdbByteTable,
    organizationId: string,
    prefixOf: (organizationId: string) => Uint8Array,
  ): T[] {
    if (idKey(organizationId) === null) return []
    return this.#inSnapshot(() => this.#recordsUnder<T>(table, prefixOf(organizationId)))
  }

  /** The records that the belongings under a prefix lead to, in their order. */
  #recordsUnder<T extends object>(table: LmdbByteTable, prefix: Uint8Array): T[] {
    return this.#env
      .valuesWithPrefix(this.#tables.ownerIndex, prefix)
      .map((id) => decodeRecord<T>(this.#env.get(table, id)!))
  }

  /** All reads of one answer see the same snapshot. */
  #inSnapshot<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.#env.releaseSnapshot()
    }
  }
}
