/** `sluice migrate` and `sluice fleet` on a PostgreSQL of the test's own. */
import { type Test, t } from 'tap'
import { fleetCommand } from '../../src/cli/fleet.js'
import { migrateCommand } from '../../src/cli/migrate.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { type CommandRun, captureRun } from './run-command.js'

const runMigrate = (databaseUrl: string, ...args: string[]): Promise<CommandRun> =>
  captureRun((print) => migrateCommand(args, async () => ({ databaseUrl }), print))

/** `answer` is what a person types when asked; null where nobody is there. */
const runFleet = (databaseUrl: string, args: readonly string[], answer: string | null = null) => {
  const settings = { databaseUrl, fleetStalenessMs: 10_000, fleetWhenStoreIsAway: 'refuse' } as const
  const terminal = { ask: async () => answer, close: () => {} }
  return captureRun((print) =>
    fleetCommand(args, {
      print,
      settings: async () => settings,
      openTerminal: () => (answer === null ? null : terminal),
    }),
  )
}

function said(t: Test, run: CommandRun, code: number, stderr: string | RegExp): void {
  t.equal(run.code, code, run.stderr)
  t.match(run.stderr, stderr)
  if (code !== 0) t.equal(run.stdout, '')
}

t.test('without a database both commands say which setting is missing', async (t) => {
  const missing =
    'bad setting: SLUICE_DATABASE_URL: is not set: it names the PostgreSQL that the machines share\n'
  for (const run of [await runMigrate(''), await runFleet('', ['status'])]) said(t, run, 2, missing)
})

t.test('what is no command is named', async (t) => {
  said(t, await runFleet('', []), 2, 'fleet needs a word: status, forget')
  said(t, await runFleet('', ['stop']), 2, 'there is no command "fleet stop": there are status, forget')
  said(t, await runFleet('', ['forget']), 2, 'fleet forget takes one MACHINE')
  said(t, await runFleet('', ['forget', 'a', 'b']), 2, 'fleet forget takes one MACHINE')
  said(t, await runMigrate('', '--force'), 2, "Unknown option '--force'")
})

t.test('a database that nobody answers for is a failure with a sentence', async (t) => {
  const nobody = 'postgres://sluice:secret-of-mine@127.0.0.1:1/sluice'
  for (const run of [await runMigrate(nobody), await runFleet(nobody, ['status'])]) {
    said(t, run, 1, 'sluice: the database is away\n')
    t.notMatch(run.stderr, 'secret-of-mine')
  }
})

t.test('on a PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const tables = (url: string) =>
    cluster.sql<{ name: string }>(
      `SELECT nspname || '.' || relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
       WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' ORDER BY 1`,
      new URL(url).pathname.slice(1),
    )

  t.test('migrate tells what it will do, does it once, and what it has done', async (t) => {
    const url = await cluster.database()
    const before = await runMigrate(url, '--check')
    t.equal(before.code, 1)
    t.match(before.stdout, /^(pending {2}\d{3}_\w+\n)+$/)
    t.strictSame(await tables(url), [], 'a check writes nothing')
    const done = await runMigrate(url)
    t.strictSame(
      { code: done.code, stdout: done.stdout, stderr: done.stderr },
      { code: 0, stdout: before.stdout.replaceAll('pending', 'applied'), stderr: '' },
    )
    t.equal((await runMigrate(url)).stdout, 'the schema has what this release needs: nothing to do\n')
    const after = await runMigrate(url, '--check')
    t.strictSame({ code: after.code, stdout: after.stdout }, { code: 0, stdout: done.stdout })
  })

  t.test('a database that must not be used is a bad setting, and nothing is written there', async (t) => {
    const foreign = await cluster.database('foreign_tables')
    await cluster.sql('CREATE SCHEMA sluice; CREATE TABLE sluice.migrations (gate int)', 'foreign_tables')
    const newer = await cluster.database('newer_release')
    await runMigrate(newer)
    await cluster.sql(
      "INSERT INTO sluice.migrations (number, name, checksum) VALUES (999, '999_later', 'x')",
      'newer_release',
    )
    const reading = await cluster.database('read_only')
    await cluster.sql('ALTER DATABASE read_only SET default_transaction_read_only = on')
    for (const [url, sentence] of [
      [foreign, 'the schema "sluice" of the database holds tables of something else'],
      [newer, 'the database has the schema of a newer release (999_later), which this one does not know'],
      [reading, 'the database only reads'],
    ] as const) {
      const before = await tables(url)
      for (const run of [
        await runMigrate(url),
        await runMigrate(url, '--check'),
        await runFleet(url, ['status']),
        await runFleet(url, ['forget', 'ant', '--yes']),
      ]) {
        said(t, run, 2, `bad setting: SLUICE_DATABASE_URL: ${sentence}`)
      }
      t.strictSame(await tables(url), before)
    }
  })

  t.test('without the tables there is nothing to tell of', async (t) => {
    const url = await cluster.database()
    said(t, await runFleet(url, ['status']), 1, /the database lacks 001_\w+.*: sluice migrate brings them/)
    t.strictSame(await tables(url), [])
  })

  /** Two machines: `ant` beats, `bee` was killed with a lease of 2.5 dollars, of which the ledger has seen a half. */
  const withTwoMachines = async (): Promise<string> => {
    const url = await cluster.database()
    await runMigrate(url)
    await cluster.sql(
      `INSERT INTO sluice.machines
         (name, folder, run, epoch, state, applied, serves_away, staleness_ms, public_url, api_key_hash, management_key_hash, facts)
       SELECT m.name, gen_random_uuid(), gen_random_uuid(), m.epoch, m.state, m.applied, false, 10000, '', '', '',
         jsonb_build_object('release', '0.1.0', 'journal_bytes', m.bytes,
           'clock_ms', round(extract(epoch FROM now()) * 1000) + m.ahead)
       FROM (VALUES ('ant', 1, 'live', 0, 0, 0), ('bee', 2, 'expired', 0, 4096, 3600000))
         AS m (name, epoch, state, applied, bytes, ahead);
       INSERT INTO sluice.bank_accounts (name, kind, capacity, settled, leased)
       VALUES ('$kabc never', 'money', 10000000000, 1250000000, 1250000000), ('rpm', 'window', 60, 0, 5);
       UPDATE sluice.bank_accounts SET ends_at = now() + interval '1 hour' WHERE name = 'rpm';
       INSERT INTO sluice.bank_leases (account, machine, epoch, drawn, spent, folded)
       VALUES ('$kabc never', 'bee', 2, 2500000000, 1250000000, 1250000000), ('rpm', 'bee', 2, 5, 0, 0)`,
      new URL(url).pathname.slice(1),
    )
    return url
  }

  t.test('status shows machines, what is frozen, and what happens when something fails', async (t) => {
    const url = await withTwoMachines()
    const { code, stdout, stderr } = await runFleet(url, ['status'])
    t.strictSame({ code, stderr }, { code: 0, stderr: '' })
    t.match(stdout, /^MACHINE +STATE +RELEASE +VERSION +BEAT +LEASES +LEASED +FROZEN +JOURNAL +CLOCK\n/)
    t.match(stdout, /^ant +live +0\.1\.0 +0 +\d+\.\d s ago +0 +\$0 +\$0 +0 B +0\.0 s$/m)
    t.match(stdout, /^bee +expired +0\.1\.0 +0 +\d+\.\d s ago +2 +\$1\.25 +\$1\.25 +4096 B +\+3600\.\d s$/m)
    t.match(stdout, '\n1 of 2 live; $1.25 frozen\n')
    t.match(stdout, /^PostgreSQL down\n {2}Keys {10}as last known for 10 s/m)
    const json = JSON.parse((await runFleet(url, ['status', '--json'])).stdout)
    t.match(json, { store: 'postgresql', version: 0, machines: [{ name: 'ant' }, { frozen: 1_250_000_000 }] })
    t.equal(json.failures.length, 13)
  })

  t.test('a machine is forgotten when a person agrees, or was not asked; one that lives never', async (t) => {
    const url = await withTwoMachines()
    said(t, await runFleet(url, ['forget', 'ant', '--yes']), 1, 'ant is live: end it first')
    said(
      t,
      await runFleet(url, ['forget', 'cat', '--yes']),
      1,
      'there is no machine cat: there are ant, bee\n',
    )
    said(t, await runFleet(url, ['forget', 'bee']), 2, 'nobody is there to be asked: --yes says it')
    for (const answer of ['', 'no', 'n']) {
      said(t, await runFleet(url, ['forget', 'bee'], answer), 1, 'sluice: nothing was changed\n')
    }
    const holdings = () =>
      cluster.sql(
        "SELECT leased FROM sluice.bank_balances WHERE kind = 'money'",
        new URL(url).pathname.slice(1),
      )
    t.strictSame(await holdings(), [{ leased: '1250000000' }])
    const done = await runFleet(url, ['forget', 'bee'], 'y')
    t.strictSame({ code: done.code, stdout: done.stdout }, { code: 0, stdout: 'forgot bee\n' })
    t.match(
      done.stderr,
      'bee holds 2 leases with $1.25, which others may spend from now on; 4096 bytes of its journals',
    )
    t.match(done.stderr, 'up to $1.25 may be overspent until then, over all limits')
    t.strictSame(await holdings(), [{ leased: '0' }])
    said(t, await runFleet(url, ['forget', 'bee', '--yes']), 1, 'there is no machine bee: there are ant\n')
  })
})
