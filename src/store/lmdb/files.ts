/**
 * Files: their records in LMDB, their contents in `files` beside the database.
 *
 *     'f' id                 ->  record
 *     'w' workspace, id      ->  id       lists: ids sort by time
 *     'q' and 'counted'      ->           see FileUsage
 */
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Fault } from '../../base/fault.js'
import type { StoreLimits } from '../disk-reserve.js'
import type { FileListPage, FileListQuery, FileRecord, FileStore, FileWriter } from '../file-store.js'
import { BlockPool } from '../files/block-writer.js'
import { ContentFolder, isFileId, newFileId } from '../files/content-folder.js'
import { createContentReader } from '../files/content-reader.js'
import { createContentWriter } from '../files/content-writer.js'
import { isId, ownerPrefix, RecordTable } from '../records/record-table.js'
import { WorkspaceTable, workspaceGone } from '../records/workspaces.js'
import type { LmdbEnvironment } from './environment.js'
import { FileUsage } from './file-usage.js'
import type { KeyRange } from './table.js'

/** Begins the keys of records. */
const RECORDS = Buffer.from('f')
/** Sorts behind every id: they are ASCII. */
const LAST = Buffer.of(0xff)

/** Records are read at once. */
export interface LmdbFileStore extends FileStore {
  file(id: string): FileRecord | null
  filesOf(workspaceId: string, page: FileListQuery): FileListPage
  requireRoom(organizationId: string): void
}

/** Each change of a record is a transaction of its own. */
export function createLmdbFileStore(
  env: LmdbEnvironment,
  dataDir: string,
  unixSeconds: () => number,
  { files: mostFiles, fileBytes, takeRoom }: StoreLimits,
): LmdbFileStore {
  const records = new RecordTable(env, 'files')
  const index = records.table
  const workspaces = new WorkspaceTable(env)
  const usage = new FileUsage(records, { files: mostFiles, bytes: fileBytes }, () => records.list(RECORDS))
  const contents = new ContentFolder(dataDir)
  const blocks = new BlockPool()
  const unixMs = (): number => Math.floor(unixSeconds() * 1000)

  const read = (id: string): FileRecord | null => records.get(recordKey(id))

  /** Looks for the content inside the transaction: a record never speaks of one that has gone meanwhile. */
  const record = async (file: FileRecord): Promise<void> => {
    const fits = await env.writeDurably(() => {
      if (!usage.hasRoom(file.organizationId, file.sizeBytes)) return false
      if (workspaces.isDeleted(file.workspaceId)) throw workspaceGone()
      if (!existsSync(contents.pathOf(file.id))) {
        throw new Fault('unavailable', { detail: 'the content of a new file has gone' })
      }
      usage.count(file, 1)
      records.put(recordKey(file.id), file)
      index.put(indexKey(file.workspaceId, file.id), Buffer.from(file.id))
      return true
    })
    if (fits) return
    await contents.remove(file.id)
    throw tooManyFiles()
  }

  const tooManyFiles = (): Fault =>
    new Fault('forbidden', {
      note: `An organization may store ${mostFiles} files with ${fileBytes} bytes in all: delete some first`,
    })

  const beginFile = (): FileWriter =>
    createContentWriter(newFileId(unixMs()), { contents, blocks, record, unixMs, takeRoom })

  return {
    file: (id) => (isFileId(id) ? env.inSnapshot(() => read(id)) : null),
    filesOf: (workspaceId, query) => {
      if (!isId(workspaceId) || query.limit < 1) return { files: [], hasMore: false }
      return env.inSnapshot(() => {
        const ids = env.valuesInRange(index, keyRangeOf(workspaceId, query))
        const kept = ids.slice(0, query.limit)
        // What stands before something is walked away from it.
        if (query.before !== null) kept.reverse()
        return { files: kept.map((id) => read(id.toString())!), hasMore: ids.length > query.limit }
      })
    },
    requireRoom: (organizationId) => {
      if (!env.inSnapshot(() => usage.hasRoom(organizationId))) throw tooManyFiles()
    },
    beginFile,
    createFile: async (details, content) => {
      const writer = beginFile()
      try {
        await writer.write(content)
        return await writer.commit(details)
      } finally {
        await writer.abandon()
      }
    },
    removeFile: async (id) => {
      if (!isFileId(id)) return false
      const removed = await env.writeDurably(() => {
        const file = read(id)
        if (file === null) return false
        usage.count(file, -1)
        records.remove(recordKey(id))
        records.remove(indexKey(file.workspaceId, id))
        return true
      })
      // What cannot be removed now has no record any more: a later start sets it aside.
      if (removed) await contents.remove(id).catch(() => {})
      return removed
    },
    isIntact: async ({ id, sizeBytes }) => (await contents.sizeOf(id)) === sizeBytes,
    openContent: async ({ id }, start, length) =>
      createContentReader(await open(contents.pathOf(id), 'r'), start, length),
    sweep: () => sweepContents(env, contents, read),
  }
}

/** For the inside of a change: whether a workspace has any files. */
export function createFileFinder(env: LmdbEnvironment): (workspaceId: string) => boolean {
  const { table } = new RecordTable(env, 'files')
  return (workspaceId) => {
    const prefix = ownerPrefix('w', workspaceId)
    return prefix !== null && env.valuesOfPage(table, prefix, { offset: 0, limit: 1 }).length > 0
  }
}

/** Records of files as they go to another store, and come from one. */
export interface LmdbFileRecords {
  /** All records, as JSON, in the order of their ids. */
  inBatches(size: number): Iterable<Buffer[]>
  /** Puts records of files whose contents are in their places; no limit holds for them. */
  restore(files: readonly FileRecord[]): Promise<void>
}

export function createFileRecords(env: LmdbEnvironment): LmdbFileRecords {
  const records = new RecordTable(env, 'files')
  const unlimited = { files: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
  const usage = new FileUsage(records, unlimited, () => records.list(RECORDS))
  return {
    *inBatches(size) {
      for (const entries of env.entriesInBatches(records.table, size)) {
        yield entries.filter(({ key }) => key[0] === RECORDS[0]).map(({ value }) => value)
      }
    },
    restore: (files) =>
      env.writeDurably(() => {
        for (const file of files) {
          usage.count(file, 1)
          records.put(recordKey(file.id), file)
          records.table.put(indexKey(file.workspaceId, file.id), Buffer.from(file.id))
        }
      }),
  }
}

async function sweepContents(
  env: LmdbEnvironment,
  contents: ContentFolder,
  read: (id: string) => FileRecord | null,
): ReturnType<FileStore['sweep']> {
  const isKnown = (id: string): boolean => env.inSnapshot(() => read(id) !== null)
  const incoming = await contents.clearIncoming()
  let { setAside } = incoming
  const orphans = (await contents.publishedIds()).filter((id) => !isKnown(id))
  if (orphans.length > 0) {
    // Inside a transaction no record can be added while its content is being set aside.
    await env.writeDurably(() => {
      for (const id of orphans) if (read(id) === null && contents.setAside(id)) setAside++
    })
  }
  let putBack = 0
  for (const id of await contents.idsSetAside()) {
    if (isKnown(id) && (await contents.putBack(id))) putBack++
  }
  return { removed: incoming.removed, setAside, putBack, asideFolder: contents.asideFolder }
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
