import { Fault } from '../../../base/fault.js'
import type { FileList, FilePage, FileRecord } from '../../file-store.js'
import { isFileId } from '../../files/file-id.js'
import { decoded, encoded, idKey } from '../accounts/account-layout.js'
import type { ByteTable, Environment, Stretch } from '../environment.js'
import { behindWorkspace, belongingKey, fileKey, ofWorkspace } from './file-layout.js'

/** Records of files: reads from a snapshot of their own, each change a transaction. */
export class FileRecords {
  readonly #env: Environment
  readonly #table: ByteTable
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(env: Environment, table: ByteTable) {
    this.#env = env
    this.#table = table
  }

  /** Resolves when everything is on disk, or refused. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  find(id: string): FileRecord | null {
    return isFileId(id) ? this.#together(() => this.#read(id)) : null
  }

  list(workspaceId: string, page: FilePage): FileList {
    if (idKey(workspaceId) === null || page.limit < 1) return { files: [], more: false }
    return this.#together(() => {
      const ids = this.#env.walk(this.#table, stretchOf(workspaceId, page)).map((id) => id.toString())
      const kept = ids.slice(0, page.limit)
      // What stands before something is walked away from it.
      if (page.before !== null) kept.reverse()
      return { files: kept.map((id) => this.#read(id)!), more: ids.length > page.limit }
    })
  }

  /** `present` is asked inside the transaction: a record never speaks of a content that has gone meanwhile. */
  add(file: FileRecord, present: () => boolean): Promise<void> {
    return this.#durably(() => {
      if (!present()) throw new Fault('unavailable', { detail: 'the content of a new file has gone' })
      this.#table.put(fileKey(file.id), encoded(file))
      this.#table.put(belongingKey(file), Buffer.from(file.id))
    })
  }

  /** The record that was removed; null when there is none. */
  remove(id: string): Promise<FileRecord | null> {
    if (!isFileId(id)) return Promise.resolve(null)
    return this.#durably(() => {
      const file = this.#read(id)
      if (file === null) return null
      this.#table.remove(fileKey(id))
      this.#table.remove(belongingKey(file))
      return file
    })
  }

  /** Runs `orphan` for each id that has no record, where no record can be added meanwhile. */
  whereMissing(ids: readonly string[], orphan: (id: string) => void): Promise<void> {
    return this.#durably(() => {
      for (const id of ids) if (this.#read(id) === null) orphan(id)
    })
  }

  #read(id: string): FileRecord | null {
    const bytes = this.#env.get(this.#table, fileKey(id))
    return bytes === undefined ? null : decoded<FileRecord>(bytes)
  }

  /** All reads of one answer see the same snapshot. */
  #together<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.#env.release()
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
function stretchOf(workspaceId: string, { newestFirst, after, before, limit }: FilePage): Stretch {
  const oldest = ofWorkspace(workspaceId)
  const newest = behindWorkspace(workspaceId)
  const id = after ?? before
  // What stands before an id, in a list of newest first, is newer than it.
  const towardsNewer = newestFirst === (before !== null)
  const from = id === null ? null : belongingKey({ workspaceId, id })
  return towardsNewer
    ? { start: from ?? oldest, end: newest, limit: limit + 1 }
    : { start: from ?? newest, end: oldest, limit: limit + 1 }
}
