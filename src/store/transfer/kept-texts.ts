/** What models keep between conversations. */
import type { LmdbEnvironment } from '../lmdb/environment.js'
import { createLmdbMemoryStore } from '../lmdb/memory.js'
import type { LmdbByteTable } from '../lmdb/table.js'
import type { Query } from '../postgres/database.js'
import { KEY_END } from '../records/record-table.js'
import { joinBytes, packBytes } from './packed-bytes.js'
import type { TransferKind } from './transfer.js'

interface TextEntry {
  readonly workspace: string
  readonly key: string
  readonly text: Buffer
}

const BATCH = 100

export function keptTexts(env: LmdbEnvironment, query: Query): TransferKind<TextEntry> {
  const table = env.byteTable('memory')
  const memory = createLmdbMemoryStore(env, { takeRoom: () => true })
  return {
    name: 'texts of models',
    tell: ({ workspace, key, text }) => joinBytes(workspace, key, text),
    embedded: {
      read: () => readEmbedded(env, table),
      write: async (entries) => {
        for (const { workspace, key, text } of entries) {
          const isTaken = await memory.change(workspace, (texts) => texts.put(key, text.toString()))
          if (!isTaken) throw new Error(`there is no room for a text of the workspace ${workspace}`)
        }
      },
    },
    postgres: {
      read: () => readPostgres(query),
      write: (entries) => writePostgres(query, entries),
      finish: async () => {
        await query('INSERT INTO sluice.memories SELECT DISTINCT workspace FROM sluice.memory_texts')
      },
    },
  }
}

function* readEmbedded(env: LmdbEnvironment, table: LmdbByteTable): Generator<TextEntry[]> {
  for (const entries of env.entriesInBatches(table, BATCH)) {
    yield entries.flatMap(({ key: place, value }) => {
      const name = place.toString()
      if (!name.startsWith('t')) return []
      const end = value.indexOf(0)
      const workspace = name.slice(1, name.indexOf(KEY_END))
      return { workspace, key: value.toString('latin1', 0, end), text: value.subarray(end + 1) }
    })
  }
}

async function* readPostgres(query: Query): AsyncGenerator<readonly TextEntry[]> {
  let [workspace, key] = ['', '']
  for (;;) {
    const entries = await query<TextEntry>(
      `SELECT workspace, key, text FROM sluice.memory_texts WHERE (workspace, key) > ($1, $2)
       ORDER BY workspace, key LIMIT ${BATCH}`,
      [workspace, key],
    )
    if (entries.length === 0) return
    ;({ workspace, key } = entries.at(-1)!)
    yield entries
  }
}

async function writePostgres(query: Query, entries: readonly TextEntry[]): Promise<void> {
  const { content, begins, lengths } = packBytes(entries.map(({ text }) => text))
  await query(
    `INSERT INTO sluice.memory_texts (workspace, key, text)
     SELECT r.workspace, r.key, substring($1::bytea FROM r.begins FOR r.bytes)
     FROM unnest($2::text[], $3::text[], $4::int[], $5::int[]) AS r (workspace, key, begins, bytes)`,
    [content, entries.map((entry) => entry.workspace), entries.map((entry) => entry.key), begins, lengths],
  )
}
