/** Accounts, keys, directories, federation, groups and sign-in: keys and values, the same at both ends but for the seals of secrets. */
import type { SigningKeyRing } from '../federation-store.js'
import type { LmdbEnvironment } from '../lmdb/environment.js'
import type { LmdbByteTable } from '../lmdb/table.js'
import type { Query } from '../postgres/database.js'
import { providerKeyPurpose } from '../provider-key-store.js'
import { PROVIDER_KEYS_TABLE, type ProviderKeysRecord } from '../records/provider-key-record.js'
import type { SignInProvider } from '../session-store.js'
import { joinBytes, packBytes } from './packed-bytes.js'
import type { TransferKind } from './transfer.js'

interface RecordEntry {
  /** Name of its table. */
  readonly space: string
  readonly key: Buffer
  /** Where there is a seal in it, with what is under the seal. */
  readonly value: Buffer
}

/** All tables of managed records. */
export const MANAGED_TABLES = [
  'account-belongings',
  'account-keys',
  'account-organizations',
  'account-workspaces',
  'directory',
  'federation-belongings',
  'federation-records',
  PROVIDER_KEYS_TABLE,
  'scim-records',
  'scim-stamps',
  'session-belongings',
  'session-records',
] as const

const BATCH = 500

/** Of one end. */
export interface TransferSealer {
  seal(plain: Uint8Array, purpose: string): string
  open(sealed: string, purpose: string): Buffer | null
}

interface RecordTransferOptions {
  readonly env: LmdbEnvironment
  readonly query: Query
  /** What seals secrets, at either end. */
  readonly sealers: { readonly embedded: TransferSealer; readonly postgres: TransferSealer }
}

export function managedRecords({ env, query, sealers }: RecordTransferOptions): TransferKind<RecordEntry> {
  const tables = new Map<string, LmdbByteTable>(MANAGED_TABLES.map((name) => [name, env.byteTable(name)]))
  return {
    name: 'records of accounts, directories, federation, groups and sign-in',
    tell: ({ space, key, value }) => joinBytes(space, key, value),
    embedded: {
      read: () => readEmbedded(env, tables, sealers.embedded),
      write: (entries) =>
        env.writeDurably(() => {
          for (const { space, key, value } of sealAll(entries, sealers.embedded))
            tables.get(space)!.put(key, value)
        }),
    },
    postgres: {
      read: () => readPostgres(query, sealers.postgres),
      write: (entries) => writePostgres(query, sealAll(entries, sealers.postgres)),
      finish: () => tellChange(query),
    },
  }
}

function* readEmbedded(
  env: LmdbEnvironment,
  tables: ReadonlyMap<string, LmdbByteTable>,
  sealer: TransferSealer,
): Generator<RecordEntry[]> {
  for (const [space, table] of tables) {
    for (const entries of env.entriesInBatches(table, BATCH)) {
      yield entries.map((entry) => unsealed({ space, ...entry }, sealer))
    }
  }
}

async function* readPostgres(query: Query, sealer: TransferSealer): AsyncGenerator<RecordEntry[]> {
  let last: Pick<RecordEntry, 'space' | 'key'> = { space: '', key: Buffer.alloc(0) }
  for (;;) {
    const entries = await query<RecordEntry>(
      `SELECT space, key, value FROM sluice.records WHERE value IS NOT NULL AND (space, key) > ($1, $2)
       ORDER BY space, key LIMIT ${BATCH}`,
      [last.space, last.key],
    )
    if (entries.length === 0) return
    last = entries.at(-1)!
    yield entries.map((entry) => unsealed(entry, sealer))
  }
}

async function writePostgres(query: Query, entries: readonly RecordEntry[]): Promise<void> {
  const keys = packBytes(entries.map(({ key }) => key))
  const values = packBytes(entries.map(({ value }) => value))
  await query(
    `INSERT INTO sluice.records (space, key, value, version)
     SELECT r.space, substring($1::bytea FROM r.key_at FOR r.key_bytes), substring($2::bytea FROM r.value_at FOR r.value_bytes),
            (SELECT version + 1 FROM sluice.change_head)
     FROM unnest($3::text[], $4::int[], $5::int[], $6::int[], $7::int[])
       AS r (space, key_at, key_bytes, value_at, value_bytes)`,
    [
      ...[keys.content, values.content, entries.map(({ space }) => space)],
      ...[keys.begins, keys.lengths, values.begins, values.lengths],
    ],
  )
}

/** All of them are one change of the log. */
async function tellChange(query: Query): Promise<void> {
  await query(
    `WITH told AS (
       INSERT INTO sluice.changes (version, id) SELECT version + 1, gen_random_uuid() FROM sluice.change_head
       RETURNING version, id)
     UPDATE sluice.change_head SET version = told.version, change = told.id FROM told`,
  )
}

// ── Seals ───────────────────────────────────────────────────────────────────

type ChangeSeal = (sealed: string, purpose: string) => string

/** Records that hold something under a seal. */
interface SealedRecords {
  readonly space: (typeof MANAGED_TABLES)[number]
  /** How their keys begin. */
  readonly prefix: string
  readonly withSeals: (record: object, change: ChangeSeal) => object
}

const SEALED: readonly SealedRecords[] = [
  {
    space: 'federation-records',
    prefix: 's',
    withSeals: (record, change) => {
      const ring = record as SigningKeyRing
      return { ...ring, keys: ring.keys.map((key) => ({ ...key, sealed: change(key.sealed, key.kid) })) }
    },
  },
  {
    space: PROVIDER_KEYS_TABLE,
    prefix: '',
    withSeals: (record, change) => {
      const { keys, ...rest } = record as ProviderKeysRecord
      return {
        ...rest,
        keys: keys.map((key) => ({ ...key, sealed: change(key.sealed, providerKeyPurpose(key)) })),
      }
    },
  },
  {
    space: 'session-records',
    prefix: 'p',
    withSeals: (record, change) => {
      const provider = record as SignInProvider
      const { id, sealedSecret } = provider
      return sealedSecret === null ? provider : { ...provider, sealedSecret: change(sealedSecret, id) }
    },
  },
]

/** Marks what was under a seal; a seal is base64url, which has no such character. */
const PLAIN = 'plain:'

/** What the sealer of this end cannot open goes as it is: it cannot be used there either. */
function unsealed(entry: RecordEntry, sealer: TransferSealer): RecordEntry {
  return withSeals(entry, (sealed, purpose) => {
    const plain = sealer.open(sealed, purpose)
    return plain === null ? sealed : PLAIN + plain.toString('base64url')
  })
}

function sealAll(entries: readonly RecordEntry[], sealer: TransferSealer): readonly RecordEntry[] {
  return entries.map((entry) =>
    withSeals(entry, (text, purpose) =>
      text.startsWith(PLAIN)
        ? sealer.seal(Buffer.from(text.slice(PLAIN.length), 'base64url'), purpose)
        : text,
    ),
  )
}

function withSeals(entry: RecordEntry, change: ChangeSeal): RecordEntry {
  const key = entry.key.toString('latin1')
  const sealed = SEALED.find(({ space, prefix }) => space === entry.space && key.startsWith(prefix))
  if (sealed === undefined) return entry
  const record = sealed.withSeals(JSON.parse(entry.value.toString()), change)
  return { ...entry, value: Buffer.from(JSON.stringify(record)) }
}
