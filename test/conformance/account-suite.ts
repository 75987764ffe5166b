/** What every implementation of the accounts' port has to do (src/store/account-store.ts). */
import fc from 'fast-check'
import type { AccountStore, ApiKey } from '../../src/store/account-store.js'
import { BEGAN, hashOf, idOf, keyOf, organizationOf, workspaceOf } from '../support/data/accounts.js'
import type { Named } from './store-place.js'

export function accounts(named: Named): void {
  keys(named)
  keyChanges(named)
  organizations(named)
  founding(named)
  keyHistories(named)
}

function hashes(keys: readonly ApiKey[]): string[] {
  return keys.map(({ hash }) => hash)
}

function keys(named: Named): void {
  named('a store without accounts has none', async (t, { accounts }) => {
    t.equal(accounts.key(hashOf(1)), null)
    t.strictSame(accounts.keys(), [])
    t.strictSame(accounts.keysOf(idOf(1)), [])
    t.strictSame(accounts.organizations(), [])
    t.equal(accounts.organization(idOf(1)), null)
    t.equal(accounts.workspace(idOf(1)), null)
    t.strictSame(accounts.workspacesOf(idOf(1)), [])
    t.equal(await accounts.changeKey(hashOf(1), (key) => ({ ...key, disabled: true })), null)
    t.equal(await accounts.changeOrganization(idOf(1), (current) => ({ ...current, plan: 'free' })), null)
  })

  named('a key is read as it was added, every member of it, also after a reopening', async (t, store) => {
    const full = keyOf(1, {
      kind: 'personal',
      name: 'name “with” \u0001 😀',
      creatorUserId: 'user_1',
      expiresAt: BEGAN + 5,
      limit: 9_000_000_000_000_000,
      limitReset: 'weekly',
      includeByokInLimit: true,
      externalUser: 'theirs',
      updatedAt: BEGAN + 1,
    })
    t.equal(await store.accounts.addKey(full), true)
    t.strictSame(store.accounts.key(full.hash), full)
    await store.reopen()
    t.strictSame(store.accounts.key(full.hash), full)
  })

  named('the record is frozen and the same object until it changes', async (t, { accounts }) => {
    await accounts.addKey(keyOf(1))
    const first = accounts.key(hashOf(1))
    t.ok(Object.isFrozen(first))
    t.equal(accounts.key(hashOf(1)), first)
    await accounts.changeKey(hashOf(1), (key) => ({ ...key, disabled: true }))
    t.not(accounts.key(hashOf(1)), first)
    t.equal(accounts.key(hashOf(1))?.disabled, true)
    t.equal(first?.disabled, false)
  })

  named(
    'keys that are read by turns are each its own, and a change of one is seen by the next read',
    async (t, { accounts }) => {
      for (const each of [1, 2]) await accounts.addKey(keyOf(each))
      for (const each of [1, 2, 1, 2]) t.equal(accounts.key(hashOf(each))?.hash, hashOf(each))
      await accounts.changeKey(hashOf(1), (key) => ({ ...key, disabled: true }))
      t.strictSame(
        [1, 2, 1, 2].map((each) => accounts.key(hashOf(each))?.disabled),
        [true, false, true, false],
      )
    },
  )

  named('what is no hash of a key is not found, whatever it is', async (t, { accounts }) => {
    const { hash } = keyOf(1)
    await accounts.addKey(keyOf(1))
    const none = [
      '',
      'a',
      hash.slice(1),
      `${hash}00`,
      `0${hash}`,
      hash.toUpperCase(),
      `${hash.slice(0, 63)}g`,
    ]
    for (const each of [...none, '0'.repeat(64), 'é'.repeat(64), '\0'.repeat(64), 'x'.repeat(100_000)]) {
      t.equal(accounts.key(each), null)
      t.equal(await accounts.changeKey(each, (key) => ({ ...key, disabled: true })), null)
    }
    t.equal(accounts.key(hash)?.disabled, false)
  })

  named('a second key of the same hash is refused and changes nothing', async (t, { accounts }) => {
    const outcomes = await Promise.all([1, 2, 3].map((n) => accounts.addKey(keyOf(1, { name: `${n}` }))))
    t.equal(outcomes.filter((added) => added).length, 1)
    t.equal(accounts.key(hashOf(1))?.name, String(outcomes.indexOf(true) + 1))
    t.equal(accounts.keys().length, 1)
  })

  named('keys are listed by organization, oldest first', async (t, { accounts }) => {
    const ages = [5, 3, 9, 1, 7, 300, 70_000, 256]
    for (const [i, age] of ages.entries()) {
      await accounts.addKey(keyOf(i, { createdAt: BEGAN + age, organizationId: idOf(i % 2) }))
    }
    const oldest = (parity: number): string[] =>
      [...ages.keys()]
        .filter((i) => parity < 0 || i % 2 === parity)
        .sort((a, b) => ages[a]! - ages[b]!)
        .map(hashOf)
    t.strictSame(hashes(accounts.keysOf(idOf(0))), oldest(0))
    t.strictSame(hashes(accounts.keysOf(idOf(1))), oldest(1))
    t.strictSame(hashes(accounts.keys()), oldest(-1))
    t.strictSame(accounts.keysOf(idOf(1).slice(0, -1)), [], 'the beginning of an id is none')
    t.strictSame(accounts.keysOf(''), [])
  })

  named('keys are listed by page, also behind one that was deleted meanwhile', async (t, { accounts }) => {
    // Two in a millisecond are in the order of their hashes.
    for (let i = 0; i < 7; i++) await accounts.addKey(keyOf(i, { createdAt: BEGAN + (i >> 1) }))
    await accounts.addKey(keyOf(8, { organizationId: idOf(2) }))
    const all = accounts.keysOf(idOf(1))
    t.strictSame(accounts.keysPageOf(idOf(1), null, 3), all.slice(0, 3))
    t.strictSame(accounts.keysPageOf(idOf(1), all[2]!, 3), all.slice(3, 6))
    t.strictSame(accounts.keysPageOf(idOf(1), all[5]!, 3), all.slice(6))
    t.strictSame(accounts.keysPageOf(idOf(1), all[6]!, 3), [])
    t.strictSame(accounts.keysPageOf('', null, 3), [])
    await accounts.changeKey(all[2]!.hash, (key) => ({ ...key, deletedAt: BEGAN }))
    t.strictSame(accounts.keysPageOf(idOf(1), all[1]!, 2), all.slice(3, 5))
    t.strictSame(accounts.keysPageOf(idOf(1), all[2]!, 2), all.slice(3, 5))
  })
}

function keyChanges(named: Named): void {
  named(
    'a change sees the current record, and changes made at once do not undo each other',
    async (t, store) => {
      const { accounts } = store
      await accounts.addKey(keyOf(1, { limit: 0 }))
      const seen = await Promise.all(
        Array.from({ length: 30 }, () =>
          accounts.changeKey(hashOf(1), (key) => ({ ...key, limit: key.limit! + 1 })),
        ),
      )
      t.strictSame(
        seen.map((key) => key?.limit).sort((a, b) => a! - b!),
        Array.from({ length: 30 }, (_, i) => i + 1),
      )
      await store.reopen()
      t.equal(store.accounts.key(hashOf(1))?.limit, 30)
    },
  )

  named('a change that returns the record it was given leaves it is', async (t, { accounts }) => {
    await accounts.addKey(keyOf(1))
    t.strictSame(await accounts.changeKey(hashOf(1), (key) => key), keyOf(1))
    t.strictSame(accounts.key(hashOf(1)), keyOf(1))
  })

  named('a change cannot make one key another', async (t, { accounts }) => {
    await accounts.addKey(keyOf(1))
    const other = keyOf(2, { organizationId: idOf(9), createdAt: BEGAN + 9, name: 'new' })
    await accounts.changeKey(hashOf(1), () => other)
    t.strictSame(accounts.key(hashOf(1)), keyOf(1, { name: 'new' }))
    t.equal(accounts.key(hashOf(2)), null)
    t.strictSame(hashes(accounts.keysOf(idOf(1))), [hashOf(1)])
    t.strictSame(accounts.keysOf(idOf(9)), [])
  })

  named('a deleted key is in no list, can be read, and never comes back', async (t, store) => {
    await store.accounts.addKey(keyOf(1))
    await store.accounts.addKey(keyOf(2))
    const gone = await store.accounts.changeKey(hashOf(1), (key) => ({ ...key, deletedAt: BEGAN + 1 }))
    t.equal(gone?.deletedAt, BEGAN + 1)
    t.equal(await store.accounts.changeKey(hashOf(1), (key) => ({ ...key, deletedAt: null })), null)
    t.equal(await store.accounts.addKey(keyOf(1)), false)
    await store.reopen()
    t.equal(store.accounts.key(hashOf(1))?.deletedAt, BEGAN + 1)
    t.strictSame(hashes(store.accounts.keysOf(idOf(1))), [hashOf(2)])
    t.strictSame(hashes(store.accounts.keys()), [hashOf(2)])
  })

  named('accounts and items are written side by side', async (t, { accounts, items }) => {
    await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const fields = { name: `${i}`, description: '', price: 0 }
        await Promise.all([items.create(fields), accounts.addKey(keyOf(i))])
        await Promise.all([
          items.remove(i + 1),
          accounts.changeKey(hashOf(i), (key) => ({ ...key, limit: i })),
        ])
      }),
    )
    t.equal(await items.lastId(), 200)
    t.equal(Buffer.from(await items.list(0, 100)).toString(), '[]')
    t.equal(accounts.keys().filter(({ limit }) => limit !== null).length, 200)
  })
}

function organizations(named: Named): void {
  named('an organization comes with its workspaces and keys, all at once', async (t, store) => {
    const organization = organizationOf(1)
    const workspaces = [workspaceOf(3, idOf(1)), workspaceOf(2, idOf(1))]
    const added = { organization, workspaces, keys: [keyOf(1), keyOf(2, { createdAt: BEGAN + 1 })] }
    await store.accounts.addOrganization(added)
    await store.accounts.addOrganization({ organization: organizationOf(0), workspaces: [], keys: [] })
    await store.reopen()
    const { accounts } = store
    t.strictSame(accounts.organization(idOf(1)), organization)
    t.strictSame(accounts.organizations(), [organizationOf(0), organization])
    t.strictSame(accounts.workspacesOf(idOf(1)), [workspaceOf(2, idOf(1)), workspaceOf(3, idOf(1))])
    t.strictSame(accounts.workspacesOf(idOf(0)), [])
    t.strictSame(accounts.workspace(idOf(3)), workspaceOf(3, idOf(1)))
    t.strictSame(accounts.keysOf(idOf(1)), added.keys)
    t.ok([accounts.organization(idOf(1)), accounts.workspace(idOf(3))].every(Object.isFrozen))
  })

  named('a workspace is renamed and stays what and whose it is', async (t, { accounts }) => {
    const workspaces = [workspaceOf(5, idOf(1)), workspaceOf(6, idOf(1))]
    await accounts.addOrganization({ organization: organizationOf(1), workspaces, keys: [] })
    const renamed = { ...workspaces[0]!, name: 'renamed' }
    const more = { id: idOf(9), organizationId: idOf(8), createdAt: 1, name: 'renamed' }
    t.strictSame(await accounts.changeWorkspace(idOf(5), () => more), renamed)
    t.strictSame(accounts.workspace(idOf(5)), renamed)
    t.strictSame(accounts.workspacesOf(idOf(1)), [renamed, workspaces[1]])
    t.equal(await accounts.changeWorkspace(idOf(9), (current) => current), null)
  })
  named('a workspace can be added later', async (t, { accounts }) => {
    await accounts.addOrganization({ organization: organizationOf(1), workspaces: [], keys: [] })
    await accounts.addWorkspace(workspaceOf(5, idOf(1)))
    t.strictSame(accounts.workspacesOf(idOf(1)), [workspaceOf(5, idOf(1))])
  })

  named('the plan of an organization can be changed, who it is cannot', async (t, { accounts }) => {
    await accounts.addOrganization({ organization: organizationOf(1), workspaces: [], keys: [] })
    const changed = await accounts.changeOrganization(idOf(1), (current) => ({
      ...current,
      id: idOf(2),
      createdAt: 0,
      plan: 'business',
      updatedAt: BEGAN + 1,
    }))
    t.strictSame(changed, organizationOf(1, { plan: 'business', updatedAt: BEGAN + 1 }))
    t.strictSame(accounts.organizations(), [changed])
  })

  named('ids that no record can have are not found, whatever they are', async (t, { accounts }) => {
    await accounts.addOrganization({ organization: organizationOf(1), workspaces: [], keys: [] })
    for (const id of ['', '\0', 'é', 'x'.repeat(10_000), idOf(1).slice(1), `${idOf(1)} `]) {
      t.equal(accounts.organization(id), null)
      t.equal(accounts.workspace(id), null)
      t.strictSame(accounts.workspacesOf(id), [])
      t.equal(await accounts.changeOrganization(id, (current) => current), null)
    }
  })
}

function founding(named: Named): void {
  named('of several foundings at once exactly one counts, and it counts whole', async (t, { accounts }) => {
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map((n) =>
        accounts.bootstrap({
          organization: organizationOf(n),
          workspaces: [workspaceOf(n + 10, idOf(n))],
          keys: [keyOf(n, { organizationId: idOf(n) })],
        }),
      ),
    )
    t.equal(outcomes.filter((won) => won).length, 1)
    const winner = outcomes.indexOf(true) + 1
    t.strictSame(accounts.organizations(), [organizationOf(winner)])
    t.strictSame(hashes(accounts.keys()), [hashOf(winner)])
    for (const n of [1, 2, 3, 4]) t.equal(accounts.workspacesOf(idOf(n)).length, n === winner ? 1 : 0)
  })

  named('where there is an organization nothing is founded', async (t, { accounts }) => {
    await accounts.addOrganization({ organization: organizationOf(1), workspaces: [], keys: [] })
    const first = { organization: organizationOf(2), workspaces: [], keys: [keyOf(1)] }
    t.equal(await accounts.bootstrap(first), false)
    t.strictSame(accounts.organizations(), [organizationOf(1)])
    t.strictSame(accounts.keys(), [])
  })
}

type Step = { readonly key: number } & (
  | { readonly do: 'add' | 'disable' | 'enable' | 'delete' }
  | { readonly do: 'rename'; readonly name: string }
)

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    key: fc.nat(4),
    do: fc.constantFrom('add' as const, 'disable' as const, 'enable' as const, 'delete' as const),
  }),
  fc.record({ key: fc.nat(4), do: fc.constant('rename' as const), name: fc.string({ unit: 'grapheme' }) }),
)

/** A key's state, told by nothing but the steps. */
function stateAfter(steps: readonly Step[], n: number): ApiKey | null {
  let state: ApiKey | null = null
  for (const each of steps.filter(({ key }) => key === n)) {
    if (each.do === 'add') state ??= stepKey(n)
    else if (state !== null && state.deletedAt === null) state = changed(state, each)
  }
  return state
}

function stepKey(n: number): ApiKey {
  return keyOf(n, { createdAt: BEGAN + n, organizationId: idOf(Math.floor(n / 10)) })
}

function changed(key: ApiKey, each: Step): ApiKey {
  if (each.do === 'rename') return { ...key, name: each.name }
  if (each.do === 'delete') return { ...key, deletedAt: BEGAN + 1 }
  return { ...key, disabled: each.do === 'disable' }
}

async function take(accounts: AccountStore, each: Step): Promise<void> {
  const key = stepKey(each.key)
  if (each.do === 'add') await accounts.addKey(key)
  else await accounts.changeKey(key.hash, (current) => changed(current, each))
}

function keyHistories(named: Named): void {
  named('after any history of changes the keys are what the history says', async (t, store) => {
    // One store for all runs; each has an organization and five keys of its own.
    let run = 0
    const history = fc.array(step, { minLength: 5, maxLength: 30, size: 'max' })
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const first = 10 * ++run
        const numbered = steps.map((each) => ({ ...each, key: first + each.key }))
        for (const each of numbered) await take(store.accounts, each)
        if (run % 10 === 0) await store.reopen()
        const keys = [0, 1, 2, 3, 4].map((n) => stateAfter(numbered, first + n))
        for (const [n, key] of keys.entries()) t.strictSame(store.accounts.key(hashOf(first + n)), key)
        const left = keys.filter((key) => key?.deletedAt === null)
        t.strictSame(store.accounts.keysOf(idOf(run)), left)
      }),
      { numRuns: 40 },
    )
  })
}
