/**
 * The schema of the database: plain SQL files, applied in the order of their numbers, each once, all in one transaction
 * under a lock of that transaction. What has been applied stands in `sluice.migrations` with its checksum.
 *
 * A release may run beside the one before it, so a migration only ever adds; what it makes useless goes with the next
 * release. A file whose first line is `-- serves NNN` says so: a release whose newest migration is NNN or newer may start
 * on what it makes. A database with a migration that is not known here and does not say so is left alone.
 *
 * Not a library of migrations: they step down as well as up, and one that meets a newer schema than it knows would undo
 * it.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { builtProgram } from '../../base/built-files.js'
import type { Database, Query } from './database.js'
import { sqlState } from './postgres-faults.js'

/** A reason not to use this database at all. The message is one sentence for the operator. */
export class UnusableDatabase extends Error {
  constructor(sentence: string) {
    super(sentence)
    this.name = 'UnusableDatabase'
  }
}

interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  /** SHA-256 of the file, hex. */
  readonly checksum: string
  /** Newest migration of the oldest release that may start on what it makes; null where only those that know it may. */
  readonly serves: number | null
}

type AppliedMigration = Omit<Migration, 'sql'>

interface SchemaState {
  readonly applied: readonly string[]
  readonly pending: readonly string[]
  /** Whether a release that knows no more than what is applied may start after the pending ones, by their word. */
  readonly hasWayBack: boolean
}

/** The oldest release of PostgreSQL that has all we use. */
const OLDEST = 140_000
/** `sluice` in ASCII: nobody else's lock. */
const LOCK = 0x736c7569
const MIGRATION_MS = 60_000
const SERVES = /^-- serves (\d{3})\n/
const UNDEFINED_TABLE = new Set(['42P01', '3F000'])

const FOLDER = builtProgram('src/store/postgres/migrations')

/** The migrations of this release, by number. */
export function readMigrations(folder = FOLDER): readonly Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{3}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(`${folder}/${file}`, 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      const serves = SERVES.exec(sql)?.[1]
      return {
        ...{ number: Number(file.slice(0, 3)), name: basename(file, '.sql'), sql, checksum },
        serves: serves === undefined ? null : Number(serves),
      }
    })
}

/**
 * Brings the schema to this release. Resolves with the names of what was applied now; several machines may do it at
 * once. Rejects with `UnusableDatabase` when it must not be used, and then nothing was changed.
 */
export async function migrate(database: Database, migrations = readMigrations()): Promise<readonly string[]> {
  await requireUsable(database)
  return database.transaction(
    async (query) => {
      await query('SELECT pg_advisory_xact_lock($1)', [LOCK])
      const applied = await readApplied(query)
      if (applied === null) await createSchema(query)
      const pending = pendingOf(migrations, applied ?? [])
      for (const { number, name, sql, checksum, serves } of pending) {
        await query(sql)
        await query(
          'INSERT INTO sluice.migrations (number, name, checksum, serves) VALUES ($1, $2, $3, $4)',
          [...[number, name, checksum, serves]],
        )
      }
      return pending.map(({ name }) => name)
    },
    { deadlineMs: MIGRATION_MS },
  )
}

/** What stands in the database, and what this release would add. Rejects as `migrate`. */
export async function readSchemaState(
  database: Database,
  migrations = readMigrations(),
): Promise<SchemaState> {
  await requireUsable(database)
  const applied = (await readAppliedAlone(database)) ?? []
  const pending = pendingOf(migrations, applied)
  const newest = applied.at(-1)?.number ?? 0
  return {
    applied: applied.map(({ name }) => name),
    pending: pending.map(({ name }) => name),
    hasWayBack: pending.every(({ serves }) => serves !== null && serves <= newest),
  }
}

async function requireUsable(database: Database): Promise<void> {
  const [server] = await database.query<{ version: number; reading: boolean }>(
    `SELECT current_setting('server_version_num')::int AS version,
            pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS reading`,
  )
  const { version, reading } = server!
  if (version < OLDEST) {
    const release = Math.floor(version / 10_000)
    throw new UnusableDatabase(`the database is PostgreSQL ${release}; 14 or newer is needed`)
  }
  if (reading) {
    throw new UnusableDatabase('the database only reads: it is a standby, or set to read-only transactions')
  }
}

async function readAppliedAlone(database: Database): Promise<readonly AppliedMigration[] | null> {
  return database.transaction((query) => readApplied(query))
}

/** Null where the schema `sluice` does not exist or is empty. */
async function readApplied(query: Query): Promise<readonly AppliedMigration[] | null> {
  const tables = await query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'sluice' AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')`,
  )
  if (tables.length === 0) return null
  if (!tables.some(({ name }) => name === 'migrations')) throw new UnusableDatabase(FOREIGN)
  try {
    return await query<AppliedMigration>(
      'SELECT number, name, checksum, serves FROM sluice.migrations ORDER BY number',
    )
  } catch (error) {
    // Another program's table of that name has other columns.
    if (sqlState(error) === '42703' || UNDEFINED_TABLE.has(sqlState(error)))
      throw new UnusableDatabase(FOREIGN)
    throw error
  }
}

const FOREIGN =
  'the schema "sluice" of the database holds tables of something else; name another database, or move them away'

async function createSchema(query: Query): Promise<void> {
  await query(`CREATE SCHEMA IF NOT EXISTS sluice;
    CREATE TABLE sluice.migrations (
      number int PRIMARY KEY,
      name text NOT NULL,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      serves int
    )`)
}

function pendingOf(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const newest = migrations.at(-1)?.number ?? 0
  for (const { number, name, checksum, serves } of applied) {
    const own = migrations.find((migration) => migration.number === number)
    if (own === undefined && (number <= newest || serves === null || serves > newest)) {
      throw new UnusableDatabase(
        `the database has the schema of a newer release (${name}), which this one does not know`,
      )
    }
    if (own !== undefined && own.checksum !== checksum) {
      throw new UnusableDatabase(
        `the database was made by a release with another ${name} than this one; use that release, or name an empty database`,
      )
    }
  }
  const last = applied.at(-1)
  const pending = migrations.filter(({ number }) => !applied.some((each) => each.number === number))
  if (last !== undefined && pending.some(({ number }) => number < last.number)) {
    throw new UnusableDatabase(
      `the database has ${last.name} without ${pending[0]!.name}, which goes before it`,
    )
  }
  return pending
}
