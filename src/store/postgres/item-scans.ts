import { jsonArrayOf } from '../item-bytes.js'
import type { ItemStore, ScanCaller, SearchResult } from '../store.js'
import type { Database } from './database.js'
import { Turns } from './turns.js'

/** Items of one statement: some tens of milliseconds, far within the deadline of a statement. */
const ITEMS_PER_SLICE = 20_000
/** Of this process, at a time. */
const SCANS = 2

/**
 * Visits a slice of the items, in the order of their ids. `position` compares bytes, whatever the collation. Rows of
 * those that match are looked up once it is known which ones are wanted.
 */
const SLICE = `
  WITH slice AS MATERIALIZED (
    SELECT id, position($2::bytea IN texts) > 0 AS matches FROM sluice.items
    WHERE id > $1 ORDER BY id LIMIT ${ITEMS_PER_SLICE}
  ), found AS (
    SELECT id FROM slice WHERE matches ORDER BY id LIMIT $3
  )
  SELECT
    (SELECT count(*) FROM slice) AS scanned,
    (SELECT max(id) FROM slice) AS last,
    count(*) AS matches,
    string_agg(json, ',' ORDER BY id) AS rows
  FROM sluice.items WHERE id IN (SELECT id FROM found)`

interface SliceRow {
  readonly scanned: number
  readonly last: number | null
  readonly matches: number
  readonly rows: Buffer | null
}

/**
 * Full scans in slices, a statement each: none holds a connection for long, and one whose caller has left ends with the
 * slice under way. Some scans run at a time, the others wait for their turn, as many as calls are under way. Each slice
 * reads the newest state: every item is visited once, as it is when its turn comes.
 */
export function createItemScans(database: Database): ItemStore['search'] {
  const turns = new Turns(SCANS)

  const scan = async (needle: Uint8Array, limit: number, caller: ScanCaller): Promise<SearchResult> => {
    const found: Buffer[] = []
    let matches = 0
    let scanned = 0
    for (let last: number | null = 0; last !== null && !caller.aborted; ) {
      const rows: readonly SliceRow[] = await database.query(SLICE, [last, needle, limit - matches])
      const slice = rows[0]!
      scanned += slice.scanned
      matches += slice.matches
      if (slice.rows !== null) found.push(slice.rows)
      last = slice.scanned < ITEMS_PER_SLICE ? null : slice.last
    }
    return { items: jsonArrayOf(found), scanned }
  }

  return (needle, limit, caller) => turns.run(() => scan(needle, limit, caller))
}
