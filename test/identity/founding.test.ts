import { test } from 'tap'
import { hashKey } from '../../src/identity/api-keys.js'
import { type FixedKeys, type Founded, foundAccounts } from '../../src/identity/founding.js'
import { AccountModel } from '../conformance/account-model.js'
import { FakeClock } from '../fixtures/fake-clock.js'

const NONE: FixedKeys = { apiKey: '', managementKey: '' }
const FIXED: FixedKeys = { apiKey: 'chosen-for-the-api', managementKey: 'chosen-for-the-operator' }
const NO_NEWS: Founded = { apiKey: null, managementKey: null, hints: [] }

function start(accounts: AccountModel, fixed = NONE): Promise<Founded> {
  return foundAccounts(accounts, new FakeClock(), fixed)
}

test('the first start makes an organization, a workspace and two keys, and tells the keys', async (t) => {
  const accounts = new AccountModel()
  const { apiKey, managementKey, hints } = await start(accounts)
  t.match(apiKey, /^sk-sluice-v1-/)
  t.match(managementKey, /^sk-sluice-mgmt-/)
  t.strictSame(hints, [])
  const [organization] = accounts.organizations()
  t.match(organization, { name: 'default', plan: 'enterprise', createdAt: 1_700_000_000_000 })
  const [workspace] = accounts.workspacesOf(organization!.id)
  t.match(workspace, { name: 'default' })
  t.match(accounts.key(hashKey(apiKey!)), {
    kind: 'workspace',
    organizationId: organization!.id,
    workspaceId: workspace!.id,
    operator: false,
  })
  t.match(accounts.key(hashKey(managementKey!)), {
    kind: 'management',
    organizationId: organization!.id,
    workspaceId: null,
    operator: true,
  })
  t.equal(accounts.keys().length, 2)
})

test('later starts make nothing and tell nothing', async (t) => {
  const accounts = new AccountModel()
  await start(accounts)
  const before = accounts.keys()
  t.strictSame(await start(accounts), NO_NEWS)
  t.strictSame(accounts.keys(), before)
})

test('of processes that start at once, one founds and tells the keys', async (t) => {
  const accounts = new AccountModel()
  const told = await Promise.all([1, 2, 3].map(() => start(accounts)))
  t.equal(told.filter(({ apiKey, managementKey }) => apiKey !== null && managementKey !== null).length, 1)
  t.equal(accounts.organizations().length, 1)
  t.equal(accounts.keys().length, 2)
})

test('chosen keys take the place of generated ones and are not told', async (t) => {
  const accounts = new AccountModel()
  t.strictSame(await start(accounts, FIXED), NO_NEWS)
  t.match(accounts.key(hashKey(FIXED.apiKey)), { kind: 'workspace', operator: false })
  t.match(accounts.key(hashKey(FIXED.managementKey)), { kind: 'management', operator: true })
  t.equal(accounts.keys().length, 2)
})

test('one chosen key leaves the other to be generated', async (t) => {
  const accounts = new AccountModel()
  const { apiKey, managementKey } = await start(accounts, { ...NONE, apiKey: FIXED.apiKey })
  t.equal(apiKey, null)
  t.match(managementKey, /^sk-sluice-mgmt-/)
})

test('keys chosen at a later start are added once', async (t) => {
  const accounts = new AccountModel()
  await start(accounts)
  for (let n = 0; n < 3; n++) t.strictSame(await start(accounts, FIXED), NO_NEWS)
  t.equal(accounts.keys().length, 4)
  t.match(accounts.key(hashKey(FIXED.managementKey)), { kind: 'management', operator: true })
  const [organization] = accounts.organizations()
  const [workspace] = accounts.workspacesOf(organization!.id)
  t.match(accounts.key(hashKey(FIXED.apiKey)), { workspaceId: workspace!.id })
})

for (const [state, change] of [
  ['disabled', { disabled: true }],
  ['deleted', { deletedAt: 1 }],
  ['expired', { expiresAt: 1 }],
] as const) {
  test(`a chosen key that is ${state} stays so, and the operator hears of it`, async (t) => {
    const accounts = new AccountModel()
    await start(accounts, FIXED)
    await accounts.changeKey(hashKey(FIXED.apiKey), (key) => ({ ...key, ...change }))
    const { hints } = await start(accounts, FIXED)
    t.equal(hints.length, 1)
    t.match(hints[0], `the key of SLUICE_API_KEY is ${state}`)
    t.notOk(hints.join().includes(FIXED.apiKey))
    t.match(accounts.key(hashKey(FIXED.apiKey)), change)
  })
}

test('a chosen key that is known as another kind is not changed, and the operator hears of it', async (t) => {
  const accounts = new AccountModel()
  await start(accounts, FIXED)
  const { hints } = await start(accounts, { apiKey: FIXED.managementKey, managementKey: FIXED.apiKey })
  t.match(hints[0], 'SLUICE_API_KEY is known already, as a management key')
  t.match(hints[1], 'SLUICE_MANAGEMENT_KEY is known already, as a workspace key')
  t.match(accounts.key(hashKey(FIXED.apiKey)), { kind: 'workspace', operator: false })
})

test('one text chosen for both keys is told, on the first start already', async (t) => {
  const both = { apiKey: FIXED.apiKey, managementKey: FIXED.apiKey }
  const { hints } = await start(new AccountModel(), both)
  t.equal(hints.length, 1)
  t.match(hints[0], 'SLUICE_MANAGEMENT_KEY is known already')
})

test('a management key becomes the operator’s by being chosen as such', async (t) => {
  const accounts = new AccountModel()
  await start(accounts, FIXED)
  await accounts.changeKey(hashKey(FIXED.managementKey), (key) => ({ ...key, operator: false }))
  t.strictSame(await start(accounts, FIXED), NO_NEWS)
  t.match(accounts.key(hashKey(FIXED.managementKey)), { operator: true })
})
