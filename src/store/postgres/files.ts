/**
 * Files in PostgreSQL: records beside their contents, which stand there in pieces. A content on its way holds neither a
 * connection nor a snapshot between two pieces, however slow its sender or its reader is.
 */
import type { Clock } from '../../base/clock.js'
import { unixMs } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import type { StoreLimits } from '../disk-reserve.js'
import type { FileListPage, FileListQuery, FileRecord, FileStore, FileWriter } from '../file-store.js'
import { BlockPool } from '../files/block-writer.js'
import { isFileId, newFileId } from '../files/content-folder.js'
import type { Database } from './database.js'
import { UnfinishedBytes, WaitingBytes } from './file-bytes.js'
import { openPieceReader } from './file-reader.js'
import { FileSweeper } from './file-sweeper.js'
import { createPieceWriter, PIECE_BYTES } from './file-writer.js'

export interface PostgresFileStore extends FileStore {
  /** Ends what it does by itself; waits for what is under way. */
  close(): Promise<void>
}

interface FileStoreOptions {
  readonly clock: Clock
  readonly limits: Pick<StoreLimits, 'files' | 'fileBytes'>
  /** How often it looks for contents that nobody needs any more, milliseconds; 0: never by itself. */
  readonly sweepMs: number
}

/** Of an organization's deleted contents: kept for an hour for those who read them. */
const MOST_KEPT_BYTES = 1024 * 1024 * 1024

const RECORD = 'SELECT record FROM sluice.files WHERE id = $1 AND record IS NOT NULL'
const USAGE = 'SELECT files, bytes FROM sluice.file_usage WHERE organization = $1'
const REMOVE = 'SELECT sluice.remove_file($1, $2) AS removed'
const OLDER = `
  SELECT record FROM sluice.files WHERE workspace = $1 AND record IS NOT NULL AND id < $2
  ORDER BY id DESC LIMIT $3`
const NEWER = `
  SELECT record FROM sluice.files WHERE workspace = $1 AND record IS NOT NULL AND id > $2
  ORDER BY id LIMIT $3`
/** The sizes of pieces are known without reading them. */
const INTACT = `
  SELECT count(*) = $2 AND coalesce(sum(octet_length(bytes)), 0) = $3 AS intact
  FROM sluice.file_pieces WHERE file = (SELECT id FROM sluice.files WHERE id = $1 AND record IS NOT NULL)`
/** Sorts behind every id: they are ASCII. */
const LAST = '\u007f'

export function createPostgresFileStore(
  database: Database,
  { clock, limits, sweepMs }: FileStoreOptions,
): PostgresFileStore {
  const { files: mostFiles, fileBytes } = limits
  const sweeper = new FileSweeper(database, clock, sweepMs)
  const blocks = new BlockPool()
  const waiting = new WaitingBytes()
  const unfinished = new UnfinishedBytes(fileBytes)

  const tooManyFiles = (): Fault =>
    new Fault('forbidden', {
      note: `An organization may store ${mostFiles} files with ${fileBytes} bytes in all: delete some first`,
    })

  const beginFile = (organizationId: string): FileWriter =>
    createPieceWriter(newFileId(unixMs(clock)), {
      ...{ organizationId, database, blocks, waiting, unfinished, sweeper, tooManyFiles },
      limits: { files: bounded(mostFiles), bytes: bounded(fileBytes) },
      unixMs: () => unixMs(clock),
    })

  return {
    file: (id) => (isFileId(id) ? readRecord(database, id) : null),
    filesOf: (workspaceId, query) =>
      query.limit < 1 ? { files: [], hasMore: false } : listRecords(database, workspaceId, query),
    requireRoom: async (organizationId) => {
      const [usage] = await database.query<{ files: number; bytes: number }>(USAGE, [organizationId])
      if (usage !== undefined && (usage.files >= mostFiles || usage.bytes >= fileBytes)) throw tooManyFiles()
    },
    beginFile,
    createFile: async (details, content) => {
      const writer = beginFile(details.organizationId)
      try {
        await writer.write(content)
        return await writer.commit(details)
      } finally {
        await writer.abandon()
      }
    },
    removeFile: async (id) => {
      if (!isFileId(id)) return false
      const [row] = await database.query<{ removed: boolean }>(REMOVE, [id, MOST_KEPT_BYTES])
      if (row!.removed) sweeper.soon()
      return row!.removed
    },
    isIntact: async ({ id, sizeBytes }) => {
      const pieces = Math.ceil(sizeBytes / PIECE_BYTES)
      const [row] = await database.query<{ intact: boolean }>(INTACT, [id, pieces, sizeBytes])
      return row!.intact && (await readRecord(database, id)) !== null
    },
    openContent: ({ id }, start, length) => openPieceReader(database, id, start, length),
    sweep: async () => ({ removed: await sweeper.sweep(), setAside: 0, putBack: 0, asideFolder: '' }),
    close: () => sweeper.close(),
  }
}

async function readRecord(database: Database, id: string): Promise<FileRecord | null> {
  const [row] = await database.query<{ record: Buffer }>(RECORD, [id])
  return row === undefined ? null : decodeRecord(row.record)
}

async function listRecords(
  database: Database,
  workspaceId: string,
  { newestFirst, after, before, limit }: FileListQuery,
): Promise<FileListPage> {
  const from = after ?? before
  // What stands before an id, in a list of newest first, is newer than it.
  const towardsNewer = newestFirst === (before !== null)
  // One more than the page holds, to know whether there are more.
  const rows = await (towardsNewer
    ? database.query<{ record: Buffer }>(NEWER, [workspaceId, from ?? '', limit + 1])
    : database.query<{ record: Buffer }>(OLDER, [workspaceId, from ?? LAST, limit + 1]))
  const kept = rows.slice(0, limit)
  // What stands before something is walked away from it.
  if (before !== null) kept.reverse()
  return { files: kept.map(({ record }) => decodeRecord(record)), hasMore: rows.length > limit }
}

function decodeRecord(bytes: Buffer): FileRecord {
  return Object.freeze(JSON.parse(bytes.toString()))
}

/** As a number that PostgreSQL has as well. */
function bounded(limit: number): number {
  return Math.min(limit, Number.MAX_SAFE_INTEGER)
}
