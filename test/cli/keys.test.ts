import { type Test, test } from 'tap'
import { hashKey, keyLabel } from '../../src/identity/api-keys.js'
import type { AccountStore } from '../../src/store/store.js'
import { idOf, keyOf, organizationOf, workspaceOf } from '../support/data/accounts.js'
import { foundedStore } from '../support/data/founded-store.js'
import { openStore } from '../support/data/open-store.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { type CommandRun, runKeys } from './run-command.js'

interface Bench {
  /** The accounts as a server sees them that runs beside the command. */
  readonly accounts: AccountStore
  readonly apiKey: string
  readonly managementKey: string
  keys(...args: string[]): Promise<CommandRun>
}

async function bench(t: Test): Promise<Bench> {
  const { folder, store, apiKey, managementKey } = await foundedStore(t)
  const keys = (...args: string[]): Promise<CommandRun> => runKeys(folder, args)
  return { accounts: store.accounts, apiKey, managementKey, keys }
}

test('list shows every key with its kind and state, and no key itself', async (t) => {
  const { keys, apiKey, managementKey } = await bench(t)
  const { code, stdout, stderr } = await keys('list')
  t.equal(code, 0)
  t.equal(stderr, '')
  const [head, ...rows] = stdout.trimEnd().split('\n')
  t.match(head, /^HASH {62}KIND {8}STATE {4}LIMIT {5}ORGANIZATION {26}KEY/)
  t.equal(rows.length, 2)
  t.ok(rows.some((row) => row.startsWith(`${hashKey(apiKey)}  workspace   enabled  no limit`)))
  t.ok(rows.some((row) => row.includes(keyLabel(managementKey)) && row.endsWith('operator')))
  t.notOk(stdout.includes(apiKey) || stdout.includes(managementKey))
})

test('list can keep to an organization and tells every state', async (t) => {
  const { keys, accounts } = await bench(t)
  const organizationId = idOf(7)
  await accounts.addOrganization({
    organization: organizationOf(7),
    workspaces: [],
    keys: [
      keyOf(1, { organizationId, name: 'off', disabled: true, limit: 2_500_000_000 }),
      keyOf(2, { organizationId, name: 'over', expiresAt: 1 }),
      keyOf(3, { organizationId, name: 'gone', deletedAt: 1 }),
      keyOf(4, { organizationId, name: 'clear \u001b[2J\nscreen\u202e' }),
    ],
  })
  const { stdout } = await keys('list', '--organization', organizationId)
  t.match(stdout, /disabled {2}\$2\.5 .*off\n/)
  t.match(stdout, /expired .*over\n/)
  t.notMatch(stdout, 'gone')
  t.match(stdout, 'clear \ufffd[2J\ufffdscreen\ufffd\n')
  t.equal(stdout.trimEnd().split('\n').length, 4)
  t.match(await keys('list', '--organization', 'nowhere'), {
    code: 1,
    stdout: '',
    stderr: 'sluice: there is no organization nowhere\n',
  })
})

test('a created key is printed alone, and counts at once for the server that runs', async (t) => {
  const { keys, accounts, apiKey } = await bench(t)
  const { code, stdout, stderr } = await keys('create', '--name', 'from the shell')
  t.equal(code, 0)
  t.match(stdout, /^sk-sluice-v1-[A-Za-z0-9_-]{43}\n$/)
  const hash = hashKey(stdout.trim())
  t.equal(stderr, `The key is shown this once. Its hash is ${hash}.\n`)
  const { organizationId, workspaceId } = accounts.key(hashKey(apiKey))!
  t.match(accounts.key(hash), { name: 'from the shell', kind: 'workspace', organizationId, workspaceId })
})

test('a key is created with what was asked', async (t) => {
  const { keys, accounts } = await bench(t)
  await accounts.addOrganization({
    organization: organizationOf(7),
    workspaces: [workspaceOf(8, idOf(7)), workspaceOf(9, idOf(7))],
    keys: [],
  })
  const made = async (...args: string[]): Promise<object | null> =>
    accounts.key(hashKey((await keys('create', '--name', 'x', ...args)).stdout.trim()))
  t.match(await made('--user', 'user_1'), { kind: 'personal', creatorUserId: 'user_1' })
  t.match(await made('--management'), { kind: 'management', workspaceId: null, operator: false })
  t.match(await made('--management', '--organization', idOf(7)), { organizationId: idOf(7) })
  t.match(await made('--organization', idOf(7)), { organizationId: idOf(7), workspaceId: idOf(8) })
  t.match(await made('--workspace', idOf(9)), { organizationId: idOf(7), workspaceId: idOf(9) })
  t.match(await made('--limit', '12.345678901'), { limit: 12_345_678_901 })
  t.match(await made('--expires', '2030-01-31T13:00:00+01:00'), { expiresAt: Date.UTC(2030, 0, 31, 12) })
})

test('disable, enable and delete count for the server’s next read', async (t) => {
  const { keys, accounts, apiKey } = await bench(t)
  const hash = hashKey(apiKey)
  const label = keyLabel(apiKey)
  t.match(await keys('disable', hash), { code: 0, stdout: `disabled ${label} (default)\n`, stderr: '' })
  t.equal(accounts.key(hash)?.disabled, true)
  t.match(await keys('enable', hash.slice(0, 12)), { code: 0, stdout: `enabled ${label} (default)\n` })
  t.equal(accounts.key(hash)?.disabled, false)
  t.match(await keys('delete', hash.toUpperCase()), { code: 0, stdout: `deleted ${label} (default)\n` })
  t.not(accounts.key(hash)?.deletedAt, null)
  for (const command of ['disable', 'enable', 'delete']) {
    t.match(await keys(command, hash), { code: 1, stdout: '', stderr: `sluice: there is no key ${hash}\n` })
  }
})

test('a beginning that several hashes share changes none of them', async (t) => {
  const { keys, accounts } = await bench(t)
  const twins = ['0', '1'].map((end) => `${'a'.repeat(63)}${end}`)
  for (const hash of twins) await accounts.addKey(keyOf(1, { hash }))
  t.match(await keys('disable', 'aaaaaaaa'), { code: 1, stderr: /^sluice: 2 keys begin with aaaaaaaa/ })
  t.ok(twins.every((hash) => accounts.key(hash)?.disabled === false))
  t.match(await keys('disable', twins[0]!), { code: 0 })
  t.strictSame(
    twins.map((hash) => accounts.key(hash)?.disabled),
    [true, false],
  )
})

test('a place that is not there is told, and no key is made', async (t) => {
  const { keys, accounts } = await bench(t)
  const home = accounts.organizations()[0]!.id
  await accounts.addOrganization({
    organization: organizationOf(7),
    workspaces: [workspaceOf(8, idOf(7))],
    keys: [],
  })
  for (const [args, complaint] of [
    [['--organization', 'nowhere'], 'there is no organization nowhere'],
    [['--workspace', 'nowhere'], 'there is no workspace nowhere'],
    [['--organization', home, '--workspace', idOf(8)], `workspace ${idOf(8)} is not in organization ${home}`],
  ] as const) {
    const said = await keys('create', '--name', 'x', ...args)
    t.strictSame(said, { code: 1, stdout: '', stderr: `sluice: ${complaint}\n` })
  }
  t.equal(accounts.keys().length, 2)
})

test('where nothing was founded yet, that is told', async (t) => {
  const folder = tempFolder(t)
  openStore(t, folder)
  t.match(await runKeys(folder, ['create', '--name', 'x']), {
    code: 1,
    stderr: 'sluice: there is no organization yet: start the server once\n',
  })
})
