import { Fault } from '../../base/fault.js'
import type { FileReader } from '../file-store.js'
import type { Database } from './database.js'
import { PIECE_BYTES } from './file-writer.js'

/** Two of them for each reader, the one that is sent and the next one: a slow reader costs no more. */
const SLICE_BYTES = 128 * 1024
const NOTHING = new Uint8Array(0)

/** The record is asked once, when the reading begins: a content that is deleted later is kept for a while. */
const FIRST = `
  SELECT substring(p.bytes FROM $3 FOR $4) AS bytes
  FROM sluice.files f LEFT JOIN sluice.file_pieces p ON p.file = f.id AND p.number = $2
  WHERE f.id = $1 AND f.record IS NOT NULL`
/** Of a value that is not compressed only the part is read that is asked for. */
const NEXT =
  'SELECT substring(bytes FROM $3 FOR $4) AS bytes FROM sluice.file_pieces WHERE file = $1 AND number = $2'

/** Reads a part of a content, a statement for each slice: nothing is held while the taker of a slice is slow. */
export async function openPieceReader(
  database: Database,
  id: string,
  start: number,
  length: number,
): Promise<FileReader> {
  const end = start + length
  let at = start

  const readSlice = async (sql: string): Promise<Uint8Array> => {
    const begins = at % PIECE_BYTES
    const most = Math.min(SLICE_BYTES, PIECE_BYTES - begins, end - at)
    const [row] = await database.query<{ bytes: Buffer | null }>(sql, [
      ...[id, Math.floor(at / PIECE_BYTES)],
      ...[begins + 1, most],
    ])
    if (row === undefined || (most > 0 && row.bytes?.length !== most)) throw contentGone()
    at += most
    return most > 0 ? row.bytes! : NOTHING
  }
  const readAhead = (): Promise<Uint8Array> => (at < end ? readSlice(NEXT) : Promise.resolve(NOTHING))

  let ahead = Promise.resolve(await readSlice(FIRST))
  let isClosed = false
  return {
    read: async () => {
      const slice = await ahead
      if (!isClosed) ahead = readAhead()
      // The next `read` hears of a failure.
      ahead.catch(() => {})
      return slice
    },
    close: () => {
      isClosed = true
    },
  }
}

function contentGone(): Fault {
  return new Fault('internal', { detail: 'the content of a file is not there' })
}
