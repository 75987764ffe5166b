/** Items in PostgreSQL, read and written through: every machine sees what any of them has acknowledged. */
import type { StoreLimits } from '../disk-reserve.js'
import { encodeItemHead, encodeItemTail, encodeTextRow, jsonArrayOf } from '../item-bytes.js'
import type { ItemFields, ItemStore } from '../store.js'
import type { Database } from './database.js'
import { ItemChanges } from './item-changes.js'
import { ItemReads } from './item-reads.js'
import { createItemScans } from './item-scans.js'

interface PostgresItemStore extends ItemStore {
  /** Resolves when no change waits or is under way. */
  idle(): Promise<void>
}

/** The rows before an offset are walked through in the index alone. */
const LIST = `
  SELECT string_agg(json, ',' ORDER BY id) AS rows FROM (
    SELECT id, json FROM sluice.items
    WHERE id >= (SELECT id FROM sluice.items ORDER BY id LIMIT 1 OFFSET $1) ORDER BY id LIMIT $2
  ) page`

const LAST_ID = 'SELECT last_id FROM sluice.item_counter'

/** `unixSeconds`: for `created_at`. */
export function createPostgresItemStore(
  database: Database,
  unixSeconds: () => number,
  { itemBytes }: Pick<StoreLimits, 'itemBytes'>,
): PostgresItemStore {
  const reads = new ItemReads(database)
  const changes = new ItemChanges(database, itemBytes)

  const newItem = (fields: ItemFields) => {
    const head = encodeItemHead(fields)
    return { id: null, head, texts: encodeTextRow(fields), createdAt: JSON.stringify(unixSeconds()) }
  }

  return {
    read: (id) => (isItemId(id) ? reads.read(id) : null),
    list: async (offset, limit) => {
      const [page] = await database.query<{ rows: Buffer | null }>(LIST, [offset, limit])
      return jsonArrayOf(page!.rows === null ? [] : [page!.rows])
    },
    search: createItemScans(database),
    create: async (fields) => {
      const item = newItem(fields)
      const { id } = (await changes.change(item))!
      return { id, json: Buffer.from(item.head + encodeItemTail(id, item.createdAt)) }
    },
    createNext: (after, fields) => changes.createNext(after, fields.map(newItem)),
    replace: async (id, fields) => {
      if (!isItemId(id)) return null
      const head = encodeItemHead(fields)
      const replaced = await changes.change({ id, head, texts: encodeTextRow(fields), createdAt: null })
      return replaced === null ? null : Buffer.from(head + encodeItemTail(id, replaced.createdAt))
    },
    remove: async (id) => isItemId(id) && (await changes.change({ id, head: null })) !== null,
    lastId: async () => {
      const [counter] = await database.query<{ last_id: number }>(LAST_ID)
      return counter!.last_id
    },
    idle: () => changes.idle(),
  }
}

/** Any integer is a valid question; one that no item can have needs no asking. */
function isItemId(id: number): boolean {
  return Number.isSafeInteger(id) && id >= 1
}
