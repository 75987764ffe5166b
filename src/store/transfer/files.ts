/** Files with their contents, piece by piece. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { FileRecord } from '../file-store.js'
import { ContentFolder } from '../files/content-folder.js'
import type { LmdbEnvironment } from '../lmdb/environment.js'
import { createFileRecords, type LmdbFileRecords } from '../lmdb/files.js'
import type { Query } from '../postgres/database.js'

import { PIECE_BYTES } from '../postgres/file-writer.js'

import { joinBytes } from './packed-bytes.js'
import type { TransferKind } from './transfer.js'

interface FileEntry {
  readonly id: string
  /** JSON, the same at both ends. */
  readonly record: Buffer
  /** Its bytes, as often as they are asked for; pieces of any size, borrowed until the next. */
  readonly content: () => AsyncIterable<Uint8Array>
}

const BATCH = 100
const READ_BYTES = 512 * 1024

export function storedFiles(env: LmdbEnvironment, dataDir: string, query: Query): TransferKind<FileEntry> {
  const folder = new ContentFolder(dataDir)
  const records = createFileRecords(env)
  return {
    name: 'files',
    tell: async ({ id, record, content }) => {
      const digest = createHash('sha256')
      for await (const piece of content()) digest.update(piece)
      return joinBytes(id, record, digest.digest())
    },
    embedded: {
      read: () => readEmbedded(records, folder),
      write: async (entries) => {
        for (const entry of entries) await writeContent(folder, entry)
        await records.restore(entries.map(({ record }) => parseRecord(record)))
      },
    },
    postgres: {
      read: () => readPostgres(query),
      write: async (entries) => {
        for (const entry of entries) await writePostgres(query, entry)
      },
      finish: async () => {
        await query(`INSERT INTO sluice.file_usage (organization, files, bytes)
          SELECT organization, count(*), sum(size) FROM sluice.files WHERE record IS NOT NULL GROUP BY organization`)
      },
    },
  }
}

const parseRecord = (record: Buffer): FileRecord => JSON.parse(record.toString()) as FileRecord

// ── Embedded ────────────────────────────────────────────────────────────────

function* readEmbedded(records: LmdbFileRecords, folder: ContentFolder): Generator<FileEntry[]> {
  for (const values of records.inBatches(BATCH)) {
    yield values.map((record) => {
      const { id } = parseRecord(record)
      return { id, record, content: () => readContent(folder.pathOf(id)) }
    })
  }
}

async function* readContent(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, READ_BYTES)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

async function writeContent(folder: ContentFolder, { id, content }: FileEntry): Promise<void> {
  const file = await folder.createIncoming(id)
  try {
    for await (const piece of content()) await file.writeFile(piece)
    await file.sync()
  } finally {
    await file.close()
  }
  await folder.publish(id)
}

// ── PostgreSQL ──────────────────────────────────────────────────────────────

async function* readPostgres(query: Query): AsyncGenerator<FileEntry[]> {
  for (let last = ''; ; ) {
    const rows = await query<{ id: string; record: Buffer }>(
      `SELECT id, record FROM sluice.files WHERE record IS NOT NULL AND id > $1 ORDER BY id LIMIT ${BATCH}`,
      [last],
    )
    if (rows.length === 0) return
    last = rows.at(-1)!.id
    yield rows.map(({ id, record }) => ({ id, record, content: () => readPieces(query, id) }))
  }
}

async function* readPieces(query: Query, id: string): AsyncGenerator<Uint8Array> {
  for (let number = 0; ; number++) {
    const [piece] = await query<{ bytes: Buffer }>(
      'SELECT bytes FROM sluice.file_pieces WHERE file = $1 AND number = $2',
      [id, number],
    )
    if (piece === undefined) return
    yield piece.bytes
  }
}

async function writePostgres(query: Query, { id, record, content }: FileEntry): Promise<void> {
  const { organizationId, workspaceId, sizeBytes } = parseRecord(record)
  await query(
    'INSERT INTO sluice.files (id, record, organization, workspace, size) VALUES ($1, $2, $3, $4, $5)',
    [id, record, organizationId, workspaceId, sizeBytes],
  )
  let number = 0
  for await (const bytes of inPiecesOf(PIECE_BYTES, content())) {
    await query('INSERT INTO sluice.file_pieces VALUES ($1, $2, $3)', [id, number++, bytes])
  }
}

/** The same bytes in pieces of one size, but for the last. */
async function* inPiecesOf(size: number, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(size)
  let filled = 0
  for await (const piece of pieces) {
    for (let at = 0; at < piece.byteLength; ) {
      const taken = Math.min(size - filled, piece.byteLength - at)
      buffer.set(piece.subarray(at, at + taken), filled)
      filled += taken
      at += taken
      if (filled < size) continue
      yield buffer
      filled = 0
    }
  }
  if (filled > 0) yield buffer.subarray(0, filled)
}
