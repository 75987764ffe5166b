/** `sluice import` and `sluice export`: a store goes from a folder to PostgreSQL and back, whole or not at all. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { migrateCommand } from '../../src/cli/migrate.js'
import { exportCommand, importCommand } from '../../src/cli/transfer.js'
import { openLedger } from '../../src/compose/ledger.js'
import { ProviderKeyRing } from '../../src/identity/provider-keys.js'
import { createSealer, loadSealingKey } from '../../src/identity/sealing-key.js'
import { SigningKeys } from '../../src/identity/signing-keys.js'
import { lockFolder } from '../../src/process/folder-lock.js'
import type { DirectoryStore } from '../../src/store/directory-store.js'
import { organizationPayer } from '../../src/store/ledger-store.js'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { BEGAN, hashOf, idOf, keyOf } from '../support/data/accounts.js'
import { connectionOf, directoryGroupOf, memberOf } from '../support/data/directory.js'
import { CLIENT_SECRET, FILLED_ROWS, fillStore } from '../support/data/full-store.js'
import { providerOf, sessionOf } from '../support/data/sessions.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { type CommandRun, captureRun } from './run-command.js'

interface Place {
  readonly databaseUrl: string
  readonly sealingKeyFile: string
}

function portsOf(place: Place) {
  return {
    settings: async () => ({ ...place, ledgerDays: 90 }),
    lockFolder,
    checkStore: async () => {},
  }
}

const runImport = (place: Place, ...args: string[]): Promise<CommandRun> =>
  captureRun((print) => importCommand(args, { ...portsOf(place), print }))
const runExport = (place: Place, ...args: string[]): Promise<CommandRun> =>
  captureRun((print) => exportCommand(args, { ...portsOf(place), print }))

/** A key of a fleet, and a database that is not there unless it is told. */
function placeOf(t: Test, databaseUrl = 'postgres://sluice@127.0.0.1:1/sluice'): Place {
  const sealingKeyFile = join(tempFolder(t), 'sealing.key')
  writeFileSync(sealingKeyFile, Buffer.alloc(32, 9))
  return { databaseUrl, sealingKeyFile }
}

t.test('what is no store, or is in use, is refused before anything is asked of the database', async (t) => {
  const place = placeOf(t)
  const empty = tempFolder(t)
  t.match(await runImport(place), { code: 2, stderr: 'import needs --from DIR' })
  t.match(await runExport(place), { code: 2, stderr: 'export needs --to DIR' })
  t.match(await runImport(place, '--from', empty), {
    code: 1,
    stderr: `sluice: there is no store in ${empty}\n`,
  })
  t.strictSame(readdirSync(empty), [])
  const used = tempFolder(t)
  await fillStore(used)
  const lock = lockFolder(used)
  const refused = await runImport(place, '--from', used)
  lock.release()
  t.match(refused, { code: 1, stderr: /another server \(process \d+\) works in/ })
  t.match(await runExport(place, '--to', used), { code: 1, stderr: `sluice: ${used} is not empty\n` })
})

t.test('on a PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const source = tempFolder(t)
  await fillStore(source)
  const rows = async (url: string, table: string): Promise<number> => {
    const [{ count }] = (await cluster.sql(
      `SELECT count(*) FROM ${table}`,
      new URL(url).pathname.slice(1),
    )) as [{ count: string }]
    return Number(count)
  }

  t.test('a store comes back as it was', async (t) => {
    const place = placeOf(t, await cluster.database())
    const there = await runImport(place, '--from', source)
    t.equal(there.code, 0, there.stderr)
    t.match(
      there.stdout,
      /^records of accounts, directories, federation, groups and sign-in +\d{4} +[0-9a-f]{64}$/m,
    )
    t.match(there.stdout, /^items +95 +[0-9a-f]{64}$/m)
    t.match(there.stdout, /^files +2 +/m)
    t.match(
      there.stdout,
      new RegExp(`^rows of the ledger +${FILLED_ROWS} `, 'm'),
      'what stood in a journal alone is among them',
    )
    const target = join(tempFolder(t), 'back')
    const otherKey = { ...placeOf(t), databaseUrl: place.databaseUrl }
    writeFileSync(otherKey.sealingKeyFile, Buffer.alloc(32, 1))
    t.match(await runExport(otherKey, '--to', target), { code: 1, stderr: 'is not the one that the secrets' })
    t.notOk(existsSync(target))
    const back = await runExport(place, '--to', target)
    t.equal(back.code, 0, back.stderr)
    t.equal(back.stdout, there.stdout, 'counts and hashes are the same both ways')
    t.strictSame(readdirSync(target).includes('server.lock'), false)
    await sameStores(t, source, target)
  })

  t.test('a database that holds something is refused, and left as it is', async (t) => {
    const place = placeOf(t, await cluster.database())
    t.equal((await runImport(place, '--from', source)).code, 0)
    const before = await rows(place.databaseUrl, 'sluice.records')
    const again = await runImport(place, '--from', source)
    t.match(again, {
      code: 1,
      stdout: '',
      stderr: /^sluice: the database is not empty: it holds keys, audit rows, items/,
    })
    t.equal(await rows(place.databaseUrl, 'sluice.records'), before)
  })

  t.test('a machine that has not left is named, and nothing is exported', async (t) => {
    const place = placeOf(t, await cluster.database())
    await captureRun((print) => migrateCommand([], async () => place, print))
    await cluster.sql(
      `INSERT INTO sluice.machines
         (name, folder, run, epoch, state, serves_away, staleness_ms, public_url, api_key_hash, management_key_hash, facts)
       VALUES ('ant', gen_random_uuid(), gen_random_uuid(), 1, 'live', false, 10000, '', '', '', '{}'),
              ('bee', gen_random_uuid(), gen_random_uuid(), 2, 'left', false, 10000, '', '', '', '{}')`,
      new URL(place.databaseUrl).pathname.slice(1),
    )
    const target = join(tempFolder(t), 'back')
    const refused = await runExport(place, '--to', target)
    t.match(refused, {
      code: 1,
      stderr: /^sluice: machines have not left: ant \(live\); end those that are live/,
    })
    t.notOk(existsSync(target))
    t.match(await runImport(place, '--from', source), { code: 1, stderr: 'not empty: it holds machines' })
  })

  t.test('an import that fails leaves nothing behind', async (t) => {
    const place = placeOf(t, await cluster.database())
    await captureRun((print) => migrateCommand([], async () => place, print))
    await cluster.sql(
      'ALTER TABLE sluice.memory_texts ADD CHECK (length(text) < 3)',
      new URL(place.databaseUrl).pathname.slice(1),
    )
    await t.rejects(runImport(place, '--from', source))
    for (const table of [
      'records',
      'audit',
      'items',
      'files',
      'file_pieces',
      'memory_texts',
      'ledger_rows',
    ]) {
      t.equal(await rows(place.databaseUrl, `sluice.${table}`), 0, table)
    }
  })

  t.test('an export of what was never there is an empty store', async (t) => {
    const target = join(tempFolder(t), 'new')
    mkdirSync(target)
    const done = await runExport(placeOf(t, await cluster.database()), '--to', target)
    t.equal(done.code, 0, done.stderr)
    const store = openLmdbStore({ path: target, unixSeconds: () => 0 })
    t.after(() => store.close())
    t.strictSame(store.accounts.organizations(), [])
    t.equal(store.items.lastId(), 0)
  })
})

async function sameDirectories(t: Test, a: DirectoryStore, b: DirectoryStore): Promise<void> {
  const { id } = connectionOf(1)
  const scope = { organizationId: idOf(1), connectionId: id }
  const tell = async ({ connections, members, groups, roles }: DirectoryStore) => ({
    connection: connections.byToken(hashOf('token 1')),
    requests: await connections.requestsOf(id, 0, 100),
    quirks: { ...(await connections.quirksOf(id)) },
    audit: await connections.auditOf(idOf(1), id, 0, 1_000),
    members: members.membersOf(scope, { by: 'all' }, 0, 100),
    all: members.membersOfOrganization(idOf(1), 0, 100),
    deleted: members.member(memberOf(4).id),
    found: members.membersOf(scope, { by: 'userName', value: memberOf(7).userName }, 0, 1),
    groups: groups.groupsOf(scope, { by: 'all' }, 0, 10),
    memberships: groups.membershipsOf(directoryGroupOf(1).id, 0, 10),
    held: roles.heldOf(idOf(1)),
    roles: [...(await roles.membersOf(idOf(3)))],
  })
  const told = await tell(a)
  t.match(told, {
    requests: { total: 40 },
    quirks: { 'capital-op': 40 },
    members: { total: 19 },
    all: { total: 20 },
  })
  t.match(told, { memberships: { total: 3 }, held: [{ memberId: memberOf(3).id }] })
  t.strictSame(await tell(b), told, 'the directory')
}

/** Everything that the ports of two stores tell is the same, and both can sign. */
async function sameStores(t: Test, one: string, other: string): Promise<void> {
  const [a, b] = [one, other].map((path) => openLmdbStore({ path, unixSeconds: () => BEGAN / 1000 })) as [
    ReturnType<typeof openLmdbStore>,
    ReturnType<typeof openLmdbStore>,
  ]
  t.after(() => Promise.all([a.close(), b.close()]))
  t.strictSame(b.accounts.organizations(), a.accounts.organizations())
  t.strictSame(b.accounts.keys(), a.accounts.keys())
  t.strictSame(b.accounts.key(hashOf(7)), a.accounts.key(hashOf(7)), 'a deleted key')
  t.strictSame(b.accounts.workspacesOf(idOf(1)), a.accounts.workspacesOf(idOf(1)))
  t.strictSame(b.federation.issuers.listOf(idOf(1)), a.federation.issuers.listOf(idOf(1)))
  t.strictSame(b.federation.policies.listOf(idOf(1)), a.federation.policies.listOf(idOf(1)))
  for (const trail of ['changes', 'issued', 'refused'] as const) {
    const page = {
      a: await a.federation.auditPage(idOf(1), trail, 0, 1_000),
      b: await b.federation.auditPage(idOf(1), trail, 0, 1_000),
    }
    t.strictSame(page.b, page.a, `audit of ${trail}`)
  }
  t.strictSame(await b.scim.auditPage(idOf(1), 0, 100), await a.scim.auditPage(idOf(1), 0, 100))
  t.strictSame(b.scim.groupsOf(idOf(1)), a.scim.groupsOf(idOf(1)))
  t.strictSame(b.scim.mappingsOf(idOf(1)), a.scim.mappingsOf(idOf(1)))
  t.equal(b.scim.roleOf(idOf(2), 'ann'), 'admin')
  await sameDirectories(t, a.directory, b.directory)
  for (const n of [1, 2, 3, 4, 5]) {
    const expected = n === 4 ? null : n === 5 ? 'admin' : 'member'
    t.equal(b.scim.roleOf(idOf(3), memberOf(n).id), expected, `role of ${n}`)
  }
  t.equal(Buffer.from(b.items.list(0, 200)).toString(), Buffer.from(a.items.list(0, 200)).toString())
  t.equal(b.items.lastId(), 100, 'the last items were deleted, and their ids are not given again')
  const page = { newestFirst: false, after: null, before: null, limit: 10 }
  const files = a.files.filesOf(idOf(2), page)
  t.equal(files.files.length, 2)
  t.strictSame(b.files.filesOf(idOf(2), page), files)
  for (const { id } of files.files) {
    const contentOf = (folder: string): Buffer => readFileSync(join(folder, 'files', id.slice(-2), id))
    t.ok(contentOf(other).equals(contentOf(one)), id)
  }
  const texts = (store: typeof a) =>
    store.memory.read(idOf(2), (kept) => kept.list().map(({ key }) => [key, kept.get(key)]))
  t.strictSame(texts(b), texts(a))
  const signs = (folder: string, store: typeof a) =>
    new SigningKeys({
      store: store.federation,
      sealer: createSealer(loadSealingKey(folder)),
      clock: systemClock,
    })
  t.strictSame(b.sessions.sessionsOf({ organizationId: idOf(1), owner: null }), [sessionOf(1)])
  t.ok(b.sessions.isRedeemed(hashOf('attempt')))
  const [provider, bare] = b.sessions.providers.listOf(idOf(1))
  t.strictSame(bare, providerOf(2))
  const secret = createSealer(loadSealingKey(other)).open(provider!.sealedSecret!, provider!.id)
  t.equal(secret?.toString(), CLIENT_SECRET, 'the client’s secret is sealed anew')
  const [brought] = b.providerKeys.keysOf(idOf(1))
  const opened = new ProviderKeyRing(b.providerKeys, createSealer(loadSealingKey(other)))
  t.equal(opened.keysOf({ organizationId: idOf(1), workspaceId: null })[0]?.secret, CLIENT_SECRET)
  t.not(brought?.sealed, a.providerKeys.keysOf(idOf(1))[0]?.sealed, 'and so is a key with a provider')
  const token = await signs(other, b).sign({ sub: 'x' })
  t.ok(await signs(one, a).isSignedByKey(signs(one, a).activeKid(), token), 'the same key signs at both ends')
  const spent = async (folder: string): Promise<number> => {
    const { ledger } = openLedger(folder)
    t.after(() => ledger.close())
    return ledger.spentIn(organizationPayer(idOf(1)), null)
  }
  t.ok((await spent(one)) > 0)
  t.equal(await spent(other), await spent(one), 'what was spent')
  t.ok(await b.accounts.addKey(keyOf('new')), 'and it takes what is new')
}
