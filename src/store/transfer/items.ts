/** Items of the practice API: the bytes of their answers, the same at both ends, and the last id that was given. */
import { encodeTextRow } from '../item-bytes.js'
import type { LmdbItemStore } from '../lmdb/items/item-store.js'
import type { Query } from '../postgres/database.js'
import type { ItemFields } from '../store.js'
import { joinBytes, packBytes } from './packed-bytes.js'
import type { TransferKind } from './transfer.js'

interface ItemEntry {
  readonly id: number
  /** The answer to a read. */
  readonly json: Buffer
}

const BATCH = 2_000

export function practiceItems(items: LmdbItemStore, query: Query): TransferKind<ItemEntry> {
  return {
    name: 'items',
    tell: ({ id, json }) => joinBytes(String(id), json),
    embedded: { read: () => readEmbedded(items), write: (entries) => items.restore(entries) },
    postgres: {
      read: () => readPostgres(query),
      write: (entries) => writePostgres(query, entries),
      finish: async () => {
        await query(`UPDATE sluice.item_counter
          SET bytes = (SELECT coalesce(sum(octet_length(json)), 0) FROM sluice.items)`)
      },
    },
  }
}

/** Ids are never given twice, those of items that were deleted last included. Behind the items. */
export function lastItemId(items: LmdbItemStore, query: Query): TransferKind<number> {
  return {
    name: 'last ids of items',
    tell: String,
    embedded: {
      read: () => [[items.lastId()]],
      write: async ([id]) => items.restoreLastId(id!),
    },
    postgres: {
      read: () => readLastId(query),
      write: async ([id]) => {
        await query('UPDATE sluice.item_counter SET last_id = $1', [id])
      },
    },
  }
}

function* readEmbedded(items: LmdbItemStore): Generator<ItemEntry[]> {
  const last = items.lastId()
  for (let first = 1; first <= last; first += BATCH) {
    const entries: ItemEntry[] = []
    for (let id = first; id < first + BATCH && id <= last; id++) {
      const json = items.read(id)
      // Borrowed until the next read.
      if (json !== null) entries.push({ id, json: Buffer.from(json) })
    }
    yield entries
  }
}

async function* readPostgres(query: Query): AsyncGenerator<readonly ItemEntry[]> {
  for (let last = 0; ; ) {
    const entries = await query<ItemEntry>(
      `SELECT id, json FROM sluice.items WHERE id > $1 ORDER BY id LIMIT ${BATCH}`,
      [last],
    )
    if (entries.length === 0) return
    last = entries.at(-1)!.id
    yield entries
  }
}

async function* readLastId(query: Query): AsyncGenerator<number[]> {
  const [counter] = await query<{ last_id: number }>('SELECT last_id FROM sluice.item_counter')
  yield [counter!.last_id]
}

/** The time stands in the answer as this program writes numbers, which no other does alike. */
const CREATED_AT = /"created_at":([^,}]+)\}$/

async function writePostgres(query: Query, entries: readonly ItemEntry[]): Promise<void> {
  const answers = packBytes(entries.map(({ json }) => json))
  const texts = packBytes(entries.map(({ json }) => encodeTextRow(JSON.parse(json.toString()) as ItemFields)))
  await query(
    `INSERT INTO sluice.items (id, json, texts, created_at)
     SELECT r.id, substring($1::bytea FROM r.json_at FOR r.json_bytes), substring($2::bytea FROM r.texts_at FOR r.texts_bytes), r.made
     FROM unnest($3::bigint[], $4::int[], $5::int[], $6::int[], $7::int[], $8::text[])
       AS r (id, json_at, json_bytes, texts_at, texts_bytes, made)`,
    [
      ...[answers.content, texts.content, entries.map(({ id }) => id)],
      ...[answers.begins, answers.lengths, texts.begins, texts.lengths],
      entries.map(({ json }) => CREATED_AT.exec(json.toString('latin1', Math.max(0, json.length - 64)))![1]),
    ],
  )
}
