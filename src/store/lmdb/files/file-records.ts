import { Fault } from '../../../base/fault.js'
import type { FileListPage, FileListQuery, FileRecord } from '../../file-store.js'
import { isFileId } from '../../files/file-id.js'
import { decodeRecord, encodeRecord, idKey } from '../accounts/account-layout.js'
import type { KeyRange, LmdbByteTable, LmdbEnvironment } from '../environment.js'
import { fileKey, workspaceIndexEnd, workspaceIndexKey, workspaceIndexPrefix } from './file-layout.js'

/** Records of files: reads from a snapshot of their own, each change a transaction. */
export class FileRecords {
  readonly #env: LmdbEnvironment
  readonly #table: LmdbByteTable
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(env: LmdbEnvironment, table: LmdbByteTable) {
    this.#env = env
    this.#table = table
  }

  /** Resolves when everything is on disk, or refused. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  find(id: string): FileRecord | null {
    return isFileId(id) ? this.#inSnapshot(() => this.#read(id)) : null
  }

  list(workspaceId: string, page: FileListQuery): FileListPage {
    if (idKey(workspaceId) === null || page.limit < 1) return { files: [], hasMore: false }
    return this.#inSnapshot(() => {
      const ids = this.#env
        .valuesInRange(this.#table, keyRangeOf(workspaceId, page))
        .map((id) => id.toString())
      const kept = ids.slice(0, page.limit)
      // What stands before something is walked away from it.
      if (page.before !== null) kept.reverse()
      return { files: kept.map((id) => this.#read(id)!), hasMore: ids.length > page.limit }
    })
  }

  /** `present` is asked inside the transaction: a record never speaks of a content that has gone meanwhile. */
  add(file: FileRecord, present: () => boolean): Promise<void> {
    return this.#durably(() => {
      if (!present()) throw new Fault('unavailable', { detail: 'the content of a new file has gone' })
      this.#table.put(fileKey(file.id), encodeRecord(file))
      this.#table.put(workspaceIndexKey(file), Buffer.from(file.id))
    })
  }

  /** The record that was removed; null when there is none. */
  remove(id: string): Promise<FileRecord | null> {
    if (!isFileId(id)) return Promise.resolve(null)
    return this.#durably(() => {
      const file = this.#read(id)
      if (file === null) return null
      this.#table.remove(fileKey(id))
      this.#table.remove(workspaceIndexKey(file))
      return file
    })
  }

  /** Runs `orphan` for each id that has no record, where no record can be added meanwhile. */
  forEachMissing(ids: readonly string[], orphan: (id: string) => void): Promise<void> {
    return this.#durably(() => {
      for (const id of ids) if (this.#read(id) === null) orphan(id)
    })
  }

  #read(id: string): FileRecord | null {
    const bytes = this.#env.get(this.#table, fileKey(id))
    return bytes === undefined ? null : decodeRecord<FileRecord>(bytes)
  }

  /** All reads of one answer see the same snapshot. */
  #inSnapshot<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.#env.releaseSnapshot()
    }
  }

  #durably<T>(change: () => T): Promise<T> {
    const { committed, durable } = this.#env.write(change)
    // Whoever asked hears of a failure through `durable`; nobody waits for the other.
    committed.catch(() => {})
    this.#underWay.add(durable)
    const settled = (): void => void this.#underWay.delete(durable)
    durable.then(settled, settled)
    return durable
  }
}

/** One more than the page holds, to know whether there are more. */
function keyRangeOf(workspaceId: string, { newestFirst, after, before, limit }: FileListQuery): KeyRange {
  const oldest = workspaceIndexPrefix(workspaceId)
  const newest = workspaceIndexEnd(workspaceId)
  const id = after ?? before
  // What stands before an id, in a list of newest first, is newer than it.
  const towardsNewer = newestFirst === (before !== null)
  const from = id === null ? null : workspaceIndexKey({ workspaceId, id })
  return towardsNewer
    ? { start: from ?? oldest, end: newest, limit: limit + 1 }
    : { start: from ?? newest, end: oldest, limit: limit + 1 }
}
