/**
 * Texts of models in LMDB, each as its key, a zero byte and the text: a list does not have to read the keys.
 *
 *     't' workspace, key     ->  key and text
 *     'q' workspace          ->  {texts, bytes}
 */
import type { StoreLimits } from '../disk-reserve.js'
import {
  isTextKey,
  type KeyedTexts,
  LONGEST_TEXT,
  type MemoryStore,
  MOST_TEXT_BYTES,
  MOST_TEXTS,
} from '../memory-store.js'
import { idKey, ownerPrefix, RecordTable } from '../records/record-table.js'
import { WorkspaceTable } from '../records/workspaces.js'
import type { LmdbEnvironment } from './environment.js'
import type { LmdbByteTable } from './table.js'

interface Usage {
  readonly texts: number
  readonly bytes: number
}

const NOTHING: Usage = { texts: 0, bytes: 0 }
const KEY_AND_TEXT = 0

/** Texts are read at once. */
export interface LmdbMemoryStore extends MemoryStore {
  read<T>(workspaceId: string, work: (texts: KeyedTexts) => T): T
}

export function createLmdbMemoryStore(
  env: LmdbEnvironment,
  { takeRoom }: Pick<StoreLimits, 'takeRoom'>,
): LmdbMemoryStore {
  const records = new RecordTable(env, 'memory')
  const workspaces = new WorkspaceTable(env)
  return {
    read: (workspaceId, work) => env.inSnapshot(() => work(textsOf(env, records, workspaceId, takeRoom))),
    change: (workspaceId, work) =>
      env.writeDurably(() =>
        work(workspaces.isDeleted(workspaceId) ? NONE : textsOf(env, records, workspaceId, takeRoom)),
      ),
  }
}

/** For the inside of a change: removes all texts of a workspace. */
export function createTextRemoval(env: LmdbEnvironment): (workspaceId: string) => void {
  const records = new RecordTable(env, 'memory')
  return (workspaceId) => {
    const texts = textsOf(env, records, workspaceId, () => true)
    for (const { key } of texts.list()) texts.remove(key)
    const usageKey = idKey(workspaceId, 'q')
    if (usageKey !== null) records.remove(usageKey)
  }
}

function textsOf(
  env: LmdbEnvironment,
  records: RecordTable<LmdbByteTable>,
  workspaceId: string,
  takeRoom: StoreLimits['takeRoom'],
): KeyedTexts {
  const { table } = records
  const owner = ownerPrefix('t', workspaceId)
  const usageKey = idKey(workspaceId, 'q')
  if (owner === null || usageKey === null) return NONE
  const keyOf = (key: string): Buffer => Buffer.concat([owner, Buffer.from(key)])
  const stored = (key: string): Buffer | null => {
    const value = isTextKey(key) ? env.get(table, keyOf(key)) : undefined
    return value === undefined ? null : Buffer.from(value).subarray(key.length + 1)
  }
  const count = (texts: number, bytes: number): boolean => {
    const before = records.get<Usage>(usageKey) ?? NOTHING
    const after = { texts: before.texts + texts, bytes: before.bytes + bytes }
    if (texts > 0 && after.texts > MOST_TEXTS) return false
    if (bytes > 0 && (after.bytes > MOST_TEXT_BYTES || !takeRoom(bytes))) return false
    records.put(usageKey, after)
    return true
  }
  return {
    get: (key) => stored(key)?.toString() ?? null,
    list: () =>
      env.valuesWithPrefix(table, owner).map((value) => {
        const end = value.indexOf(KEY_AND_TEXT)
        return { key: value.toString('latin1', 0, end), bytes: value.length - end - 1 }
      }),
    put: (key, text) => {
      const bytes = Buffer.byteLength(text)
      if (!isTextKey(key) || bytes > LONGEST_TEXT) return false
      const before = stored(key)
      if (!count(before === null ? 1 : 0, bytes - (before?.length ?? 0))) return false
      table.put(keyOf(key), Buffer.from(`${key}\0${text}`))
      return true
    },
    remove: (key) => {
      const before = stored(key)
      if (before === null) return
      count(-1, -before.length)
      table.remove(keyOf(key))
    },
    move: (key, target) => {
      const text = stored(key)
      if (text === null || !isTextKey(target)) return
      table.remove(keyOf(key))
      table.put(keyOf(target), Buffer.concat([Buffer.from(`${target}\0`), text]))
    },
  }
}

/** Of what is no workspace. */
const NONE: KeyedTexts = {
  get: () => null,
  list: () => [],
  put: () => false,
  remove: () => {},
  move: () => {},
}
