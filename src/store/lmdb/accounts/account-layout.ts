/**
 * How accounts lie in their tables. A record is the JSON of its type, under its own id. Beside the records there
 * is one table of belongings, so that what belongs to an organization is found without visiting anybody else's:
 *
 *     'k' organization, creation time, hash   ->  hash         keys that are not deleted
 *     'w' organization, id                    ->  id           workspaces
 *
 * The order of its keys is the order of lists: oldest first (ids are UUID v7, which sort by time).
 */
import type { ApiKey, Workspace } from '../../account-store.js'
import type { LmdbByteTable } from '../environment.js'

export interface AccountTables {
  readonly keys: LmdbByteTable
  readonly organizations: LmdbByteTable
  readonly workspaces: LmdbByteTable
  readonly ownerIndex: LmdbByteTable
}

/** Bytes of a SHA-256. */
const HASH_BYTES = 32
const HASH_CHARS = 2 * HASH_BYTES

const KEY = 'k'
const WORKSPACE = 'w'
/** Ends the organization's id, so that no id is taken for the beginning of another. */
const END = '\0'

export const EMPTY_PREFIX = Buffer.alloc(0)
export const ALL_API_KEYS = Buffer.from(KEY)

/** Turns the hash of a key into the bytes its record lies under. They are good until the next call. */
export class HashKeyEncoder {
  readonly #bytes = Buffer.alloc(HASH_BYTES)

  /** Null for what is no hash in hex. */
  encode(hash: string): Uint8Array | null {
    if (hash.length !== HASH_CHARS) return null
    return this.#bytes.write(hash, 'hex') === HASH_BYTES ? this.#bytes : null
  }
}

/** Longest id that is looked up; ours have 36 characters. The store's keys have a limit, ids of callers have none. */
const LONGEST_ID = 100

/** The bytes a record lies under; null for what no id can be. */
export function idKey(id: string): Uint8Array | null {
  return id === '' || id.length > LONGEST_ID ? null : Buffer.from(id)
}

export function apiKeyIndexPrefix(organizationId: string): Buffer {
  return Buffer.from(`${KEY}${organizationId}${END}`)
}

export function apiKeyIndexKey(key: ApiKey): Buffer {
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(key.createdAt))
  return Buffer.concat([apiKeyIndexPrefix(key.organizationId), time, Buffer.from(key.hash, 'hex')])
}

export function workspaceIndexPrefix(organizationId: string): Buffer {
  return Buffer.from(`${WORKSPACE}${organizationId}${END}`)
}

export function workspaceIndexKey(workspace: Workspace): Buffer {
  return Buffer.concat([workspaceIndexPrefix(workspace.organizationId), Buffer.from(workspace.id)])
}

export function encodeRecord(record: object): Buffer {
  return Buffer.from(JSON.stringify(record))
}

/** A record from its stored bytes, frozen. */
export function decodeRecord<T extends object>(bytes: Uint8Array): Readonly<T> {
  return Object.freeze(JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()))
}
