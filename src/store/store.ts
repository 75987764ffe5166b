/**
 * The ports of the store. Implementations run one shared suite (test/conformance). What reads answers at once where the
 * store is embedded, and with a promise where it is elsewhere.
 */
import type { MaybePromise } from '../base/maybe-promise.js'
import type { AccountStore } from './account-store.js'
import type { DirectoryStore } from './directory-store.js'
import type { FederationStore } from './federation-store.js'
import type { FileStore } from './file-store.js'
import type { MemoryStore } from './memory-store.js'
import type { ProviderKeyStore } from './provider-key-store.js'
import type { ScimStore } from './scim-store.js'
import type { SessionStore } from './session-store.js'

export type { AccountStore }

/** What a caller may set on an item. */
export interface ItemFields {
  readonly name: string
  readonly description: string
  readonly price: number
}

/** Something that can lose interest in an answer; a `Call` is one. */
export interface ScanCaller {
  readonly aborted: boolean
}

export interface SearchResult {
  /** JSON array of the matching items, ordered by id. */
  readonly items: Uint8Array
  /** How many items were visited, matching or not. */
  readonly scanned: number
}

/**
 * Items, stored as the bytes of their JSON answer. Reads see every change that was acknowledged before the read
 * began, by any process. Changes resolve only after they are on disk. Fails with `unavailable` when the store is away.
 */
export interface ItemStore {
  /** JSON of one item, or null. The bytes are borrowed: use them before the turn ends in which they were told. */
  read(id: number): MaybePromise<Uint8Array | null>
  /** JSON array of up to `limit` items after the first `offset`, ordered by id. */
  list(offset: number, limit: number): MaybePromise<Uint8Array>
  /** Visits every item; returns those whose name or description contains `needle` (UTF-8, not empty). */
  search(needle: Uint8Array, limit: number, caller: ScanCaller): MaybePromise<SearchResult>
  /** Takes the next id and returns it with the new item's JSON. */
  create(fields: ItemFields): Promise<{ readonly id: number; readonly json: Uint8Array }>
  /**
   * Creates items with the ids behind `after`, if that is the last id given: how many there was room for, and 0 if it is
   * not. For many items that are to be created once, whoever else is about to. Rejects where there is room for none.
   */
  createNext(after: number, fields: readonly ItemFields[]): Promise<number>
  /** Replaces all fields, keeps id and creation time; null when there is no such item. */
  replace(id: number, fields: ItemFields): Promise<Uint8Array | null>
  /** True when this call removed the item. */
  remove(id: number): Promise<boolean>
  /** Number of ids given so far; the last id. */
  lastId(): MaybePromise<number>
}

export interface Store {
  readonly items: ItemStore
  readonly accounts: AccountStore
  readonly federation: FederationStore
  readonly files: FileStore
  readonly memory: MemoryStore
  readonly providerKeys: ProviderKeyStore
  readonly scim: ScimStore
  readonly sessions: SessionStore
  readonly directory: DirectoryStore
  /** Whether a change is on its way to the disk; a process that exits meanwhile has to be ended by a signal. */
  isWriting(): boolean
  /** Waits for changes under way, then releases the files. */
  close(): Promise<void>
}
