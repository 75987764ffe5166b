import { test } from 'tap'
import { hashKey } from '../../src/identity/api-keys.js'
import { type BootstrapResult, bootstrapAccounts, type ConfiguredKeys } from '../../src/identity/bootstrap.js'
import { AccountModel } from '../conformance/account-model.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const NONE: ConfiguredKeys = { apiKey: '', managementKey: '' }
const FIXED: ConfiguredKeys = { apiKey: 'chosen-for-the-api', managementKey: 'chosen-for-the-operator' }
const NO_NEWS: BootstrapResult = { apiKey: null, managementKey: null, hints: [], withdrawn: [] }

function start(accounts: AccountModel, fixed = NONE): Promise<BootstrapResult> {
  return bootstrapAccounts(accounts, new FakeClock(), fixed)
}

async function started(fixed = NONE): Promise<AccountModel> {
  const accounts = new AccountModel()
  await start(accounts, fixed)
  return accounts
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

test('what another process has just made is used also where readers do not see it at once', async (t) => {
  /** Whoever was not the first does not see what the first has made, when it looks for the first time. */
  class Late extends AccountModel {
    readonly #hides = { organizations: 1, key: 1 }
    override organizations() {
      const isSeen = super.organizations().length === 0 || this.#hides.organizations-- <= 0
      return isSeen ? super.organizations() : []
    }
    override key(hash: string) {
      return this.#hides.key-- > 0 ? null : super.key(hash)
    }
  }
  const accounts = new Late()
  const told = await Promise.all([1, 2].map(() => start(accounts, FIXED)))
  t.strictSame(told, [NO_NEWS, NO_NEWS])
  t.equal(accounts.keys().length, 2)
})

test('later starts make nothing and tell nothing', async (t) => {
  const accounts = await started()
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
  const accounts = await started()
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
    const accounts = await started(FIXED)
    await accounts.changeKey(hashKey(FIXED.apiKey), (key) => ({ ...key, ...change }))
    const { hints } = await start(accounts, FIXED)
    t.equal(hints.length, 1)
    t.match(hints[0], `the key of SLUICE_API_KEY is ${state}`)
    t.notOk(hints.join().includes(FIXED.apiKey))
    t.match(accounts.key(hashKey(FIXED.apiKey)), change)
  })
}

test('a chosen key that is known as another kind is not changed, and the operator hears of it', async (t) => {
  const accounts = await started(FIXED)
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
  const accounts = await started(FIXED)
  await accounts.changeKey(hashKey(FIXED.managementKey), (key) => ({ ...key, operator: false }))
  t.strictSame(await start(accounts, FIXED), NO_NEWS)
  t.match(accounts.key(hashKey(FIXED.managementKey)), { operator: true })
})

const OTHERS: ConfiguredKeys = { apiKey: 'another-for-the-api', managementKey: 'another-for-the-operator' }
const isOpen = (accounts: AccountModel, key: string): boolean =>
  accounts.key(hashKey(key))?.disabled === false

test('a chosen key goes when its setting names another one, and comes back with it', async (t) => {
  const accounts = await started(FIXED)
  const { withdrawn, hints, managementKey } = await start(accounts, OTHERS)
  t.equal(withdrawn.length, 2)
  for (const [setting, key] of [
    ['SLUICE_API_KEY', FIXED.apiKey],
    ['SLUICE_MANAGEMENT_KEY', FIXED.managementKey],
  ] as const) {
    t.ok(withdrawn.some((each) => each.setting === setting && each.hash === hashKey(key)))
  }
  t.strictSame([hints, managementKey], [[], null])
  const open = (): boolean[] =>
    [FIXED.apiKey, FIXED.managementKey, OTHERS.apiKey, OTHERS.managementKey].map((key) =>
      isOpen(accounts, key),
    )
  t.strictSame(open(), [false, false, true, true])
  t.strictSame(await start(accounts, OTHERS), NO_NEWS, 'and that is said once')
  const { withdrawn: back } = await start(accounts, FIXED)
  t.strictSame(back.map(({ hash }) => hash).sort(), [OTHERS.apiKey, OTHERS.managementKey].map(hashKey).sort())
  t.strictSame(open(), [true, true, false, false])
})

test('a chosen key goes with its setting; without an operator’s credential one is made and told', async (t) => {
  const accounts = await started(FIXED)
  const { apiKey, managementKey, withdrawn } = await start(accounts)
  t.equal(withdrawn.length, 2)
  t.equal(apiKey, null)
  t.match(accounts.key(hashKey(managementKey!)), { kind: 'management', operator: true, disabled: false })
  t.notOk(isOpen(accounts, FIXED.apiKey) || isOpen(accounts, FIXED.managementKey))
  t.strictSame(await start(accounts), NO_NEWS)
})

test('an operator’s credential that a person has disabled is not replaced because another setting goes', async (t) => {
  const accounts = new AccountModel()
  const { managementKey } = await start(accounts, { ...NONE, apiKey: FIXED.apiKey })
  await accounts.changeKey(hashKey(managementKey!), (key) => ({ ...key, disabled: true }))
  const gone = await start(accounts)
  t.strictSame([gone.managementKey, gone.withdrawn.length], [null, 1])
})

test('a generated operator’s credential makes another one needless', async (t) => {
  const accounts = new AccountModel()
  const { managementKey } = await start(accounts)
  await start(accounts, FIXED)
  const gone = await start(accounts)
  t.strictSame([gone.managementKey, gone.withdrawn.length], [null, 2])
  t.ok(isOpen(accounts, managementKey!))
})

test('a key that was made here and then named by a setting goes when the setting names another one', async (t) => {
  const accounts = new AccountModel()
  const made = await start(accounts)
  const named = { apiKey: made.apiKey!, managementKey: made.managementKey! }
  const open = (): boolean[] => [isOpen(accounts, named.apiKey), isOpen(accounts, named.managementKey)]
  t.strictSame(await start(accounts, named), NO_NEWS)
  const { withdrawn } = await start(accounts, FIXED)
  t.strictSame(
    withdrawn.map(({ hash }) => hash).sort(),
    Object.values(named).map(hashKey).sort(),
    'and it is said',
  )
  t.strictSame(open(), [false, false])
  await start(accounts, named)
  t.strictSame(open(), [true, true], 'it comes back with the setting')
})

test('a key that was made here stays when the setting that named it goes, and when it was never named', async (t) => {
  const accounts = new AccountModel()
  const made = await start(accounts)
  const named = { apiKey: made.apiKey!, managementKey: made.managementKey! }
  await start(accounts, { ...FIXED, apiKey: named.apiKey })
  t.ok(isOpen(accounts, named.managementKey), 'nobody has named it')
  const { withdrawn } = await start(accounts)
  t.strictSame(
    withdrawn.map(({ hash }) => hash),
    [hashKey(FIXED.managementKey)],
  )
  t.ok(isOpen(accounts, named.apiKey) && isOpen(accounts, named.managementKey))
})

test('a key that looks generated but came from a setting goes with it', async (t) => {
  const accounts = new AccountModel()
  const managementKey = `sk-sluice-mgmt-${'m'.repeat(43)}`
  await start(accounts, { ...FIXED, managementKey })
  const { withdrawn } = await start(accounts, FIXED)
  t.strictSame(
    withdrawn.map(({ hash }) => hash),
    [hashKey(managementKey)],
  )
})

test('a former key that somebody has enabled again stays enabled', async (t) => {
  const accounts = await started(FIXED)
  await start(accounts, OTHERS)
  await accounts.changeKey(hashKey(FIXED.apiKey), (key) => ({ ...key, disabled: false }))
  t.strictSame(await start(accounts, OTHERS), NO_NEWS)
  t.ok(isOpen(accounts, FIXED.apiKey))
})

test('a key that a person has disabled stays so when its setting goes and comes back', async (t) => {
  const accounts = await started(FIXED)
  await accounts.changeKey(hashKey(FIXED.apiKey), (key) => ({ ...key, disabled: true }))
  t.equal((await start(accounts, OTHERS)).withdrawn.length, 1)
  const { hints } = await start(accounts, FIXED)
  t.match(hints, [/SLUICE_API_KEY is disabled/])
  t.notOk(isOpen(accounts, FIXED.apiKey))
})

/** As an earlier version left it: records do not say where a key came from. */
async function startedByEarlierVersion(fixed: ConfiguredKeys): Promise<AccountModel> {
  const accounts = new AccountModel()
  const founded = await started()
  for (const organization of founded.organizations()) {
    const workspaces = founded.workspacesOf(organization.id)
    await accounts.addOrganization({ organization, workspaces, keys: founded.keys() })
  }
  await start(founded, fixed)
  for (const { chosen, ...key } of founded.keys()) await accounts.addKey(key)
  return accounts
}

test('in a store of an earlier version too, a changed setting closes the old keys and no generated one', async (t) => {
  const accounts = await startedByEarlierVersion(FIXED)
  t.equal(accounts.keys().filter(({ chosen }) => chosen !== undefined).length, 0)
  const { withdrawn } = await start(accounts, OTHERS)
  t.strictSame(
    withdrawn.map(({ hash }) => hash).sort(),
    [FIXED.apiKey, FIXED.managementKey].map(hashKey).sort(),
  )
  t.equal(accounts.keys().filter(({ disabled }) => !disabled).length, 4)
  const kept = await startedByEarlierVersion(FIXED)
  t.strictSame(await start(kept, FIXED), NO_NEWS, 'an unchanged setting changes nothing')
  t.ok(isOpen(kept, FIXED.apiKey) && isOpen(kept, FIXED.managementKey))
  t.equal((await start(kept)).withdrawn.length, 2)
})
