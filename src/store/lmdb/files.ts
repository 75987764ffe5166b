/**
 * Files: their records in LMDB, their contents in `files` beside the database.
 *
 *     'f' id                 ->  record
 *     'w' workspace, id      ->  id       lists: ids sort by time
 */
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Fault } from '../../base/fault.js'
import type {
  FileListPage,
  FileListQuery,
  FileReader,
  FileRecord,
  FileStore,
  FileWriter,
  NewFileDetails,
  SweepResult,
} from '../file-store.js'
import { BlockPool } from '../files/block-writer.js'
import { ContentFolder, isFileId, newFileId } from '../files/content-folder.js'
import { ContentReader } from '../files/content-reader.js'
import { ContentWriter } from '../files/content-writer.js'
import type { KeyRange, LmdbByteTable, LmdbEnvironment } from './environment.js'
import { isId, ownerPrefix, RecordTable } from './record-table.js'

export const FILE_TABLE_NAME = 'files'

/** Sorts behind every id: they are ASCII. */
const LAST = Buffer.of(0xff)

/** Each change of a record is a transaction of its own. */
export class LmdbFileStore implements FileStore {
  readonly #env: LmdbEnvironment
  readonly #records: RecordTable
  /** The same table. */
  readonly #index: LmdbByteTable
  readonly #contents: ContentFolder
  readonly #blocks = new BlockPool()
  readonly #unixMs: () => number

  /** @param env opened with `FILE_TABLE_NAME` */
  constructor(env: LmdbEnvironment, dataDir: string, unixSeconds: () => number) {
    this.#env = env
    this.#records = new RecordTable(env, FILE_TABLE_NAME)
    this.#index = env.byteTable(FILE_TABLE_NAME)
    this.#contents = new ContentFolder(dataDir)
    this.#unixMs = () => Math.floor(unixSeconds() * 1000)
  }

  file(id: string): FileRecord | null {
    return isFileId(id) ? this.#env.inSnapshot(() => this.#read(id)) : null
  }

  filesOf(workspaceId: string, query: FileListQuery): FileListPage {
    if (!isId(workspaceId) || query.limit < 1) return { files: [], hasMore: false }
    return this.#env.inSnapshot(() => {
      const ids = this.#env.valuesInRange(this.#index, keyRangeOf(workspaceId, query))
      const kept = ids.slice(0, query.limit)
      // What stands before something is walked away from it.
      if (query.before !== null) kept.reverse()
      return { files: kept.map((id) => this.#read(id.toString())!), hasMore: ids.length > query.limit }
    })
  }

  async beginFile(): Promise<FileWriter> {
    const id = newFileId(this.#unixMs())
    const handle = await this.#contents.createIncoming(id).catch((cause: unknown) => {
      throw new Fault('unavailable', { detail: 'the disk refused a file', cause })
    })
    return new ContentWriter(id, handle, {
      contents: this.#contents,
      blocks: this.#blocks,
      record: (file) => this.#add(file),
      unixMs: this.#unixMs,
    })
  }

  async createFile(details: NewFileDetails, content: Uint8Array): Promise<FileRecord> {
    const writer = await this.beginFile()
    try {
      await writer.write(content)
      return await writer.commit(details)
    } finally {
      await writer.abandon()
    }
  }

  async removeFile(id: string): Promise<boolean> {
    if (!isFileId(id)) return false
    const removed = await this.#env.writeDurably(() => {
      const file = this.#read(id)
      if (file === null) return false
      this.#records.remove(recordKey(id))
      this.#records.remove(indexKey(file.workspaceId, id))
      return true
    })
    // What cannot be removed now has no record any more: a later start sets it aside.
    if (removed) await this.#contents.remove(id).catch(() => {})
    return removed
  }

  async isIntact({ id, sizeBytes }: FileRecord): Promise<boolean> {
    return (await this.#contents.sizeOf(id)) === sizeBytes
  }

  async openContent({ id }: FileRecord, start: number, length: number): Promise<FileReader> {
    return new ContentReader(await open(this.#contents.pathOf(id), 'r'), start, length)
  }

  async sweep(): Promise<SweepResult> {
    const incoming = await this.#contents.clearIncoming()
    let { setAside } = incoming
    const orphans = (await this.#contents.publishedIds()).filter((id) => this.file(id) === null)
    if (orphans.length > 0) {
      // Inside a transaction no record can be added while its content is being set aside.
      await this.#env.writeDurably(() => {
        for (const id of orphans) if (this.#read(id) === null && this.#contents.setAside(id)) setAside++
      })
    }
    let putBack = 0
    for (const id of await this.#contents.idsSetAside()) {
      if (this.file(id) !== null && (await this.#contents.putBack(id))) putBack++
    }
    return { removed: incoming.removed, setAside, putBack, asideFolder: this.#contents.asideFolder }
  }

  /** Looks for the content inside the transaction: a record never speaks of one that has gone meanwhile. */
  #add(file: FileRecord): Promise<void> {
    return this.#env.writeDurably(() => {
      if (!existsSync(this.#contents.pathOf(file.id))) {
        throw new Fault('unavailable', { detail: 'the content of a new file has gone' })
      }
      this.#records.put(recordKey(file.id), file)
      this.#index.put(indexKey(file.workspaceId, file.id), Buffer.from(file.id))
    })
  }

  #read(id: string): FileRecord | null {
    return this.#records.get(recordKey(id))
  }
}

function recordKey(id: string): Buffer {
  return Buffer.from(`f${id}`)
}

function indexKey(workspaceId: string, id: string): Buffer {
  return Buffer.concat([ownerPrefix('w', workspaceId)!, Buffer.from(id)])
}

/** One more than the page holds, to know whether there are more. */
function keyRangeOf(workspaceId: string, { newestFirst, after, before, limit }: FileListQuery): KeyRange {
  const oldest = ownerPrefix('w', workspaceId)!
  const newest = Buffer.concat([oldest, LAST])
  const id = after ?? before
  const from = id === null ? null : indexKey(workspaceId, id)
  // What stands before an id, in a list of newest first, is newer than it.
  const towardsNewer = newestFirst === (before !== null)
  return towardsNewer
    ? { start: from ?? oldest, end: newest, limit: limit + 1 }
    : { start: from ?? newest, end: oldest, limit: limit + 1 }
}
