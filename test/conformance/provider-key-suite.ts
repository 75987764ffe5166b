/** What a store of provider keys has to do (src/store/provider-key-store.ts). */
import { type Test, test } from 'tap'
import type { AccountStore } from '../../src/store/account-store.js'
import { MOST_PROVIDER_KEYS, type ProviderKeyStore } from '../../src/store/provider-key-store.js'
import { idOf, organizationOf } from '../support/data/accounts.js'
import { providerKeyOf } from '../support/data/provider-keys.js'

/** A store at a place of its own. */
interface ProviderKeyPlace {
  readonly store: ProviderKeyStore
  readonly accounts: Pick<AccountStore, 'addOrganization' | 'changeOrganization' | 'organization'>
  reopen(): Promise<void>
}

/** An implementation of the port, for the shared suite. */
interface ProviderKeyKind {
  readonly name: string
  /** The test that the suite's tests belong to, where they need what ends with it. */
  readonly within?: Test
  /** A new, empty place, which ends with the test. */
  place(t: Test): ProviderKeyPlace | Promise<ProviderKeyPlace>
}

const ACME = idOf(1)
const BEECH = idOf(2)

/** Declares the suite's tests for one implementation. */
export function providerKeySuite(kind: ProviderKeyKind): void {
  const named = (name: string, run: (t: Test, place: ProviderKeyPlace) => Promise<void>): void => {
    const title = `${kind.name}: ${name}`
    const body = async (t: Test): Promise<void> => run(t, await kind.place(t))
    void (kind.within === undefined ? test(title, body) : kind.within.test(title, body))
  }

  named('an empty store has no provider keys, whatever is asked for', async (t, { store }) => {
    for (const id of [ACME, '', '\0', 'é'.repeat(5_000)]) {
      t.strictSame(store.keysOf(id), [])
      t.equal(await store.change(id, id, (key) => key), null)
      t.equal(await store.remove(id, id), false)
    }
  })

  named('keys are read as they were added, oldest first, also after a reopening', async (t, place) => {
    const keys = [providerKeyOf(1), providerKeyOf(2, { workspaceId: idOf(9), models: ['a/b'] })]
    for (const key of keys) t.equal(await place.store.add(key), true)
    for (let round = 0; round < 2; round++) {
      t.strictSame(place.store.keysOf(ACME), keys)
      t.strictSame(place.store.keysOf(BEECH), [], 'another organization has none of them')
      await place.reopen()
    }
  })

  named('a list is the same object until one of its keys changes', async (t, { store }) => {
    await store.add(providerKeyOf(1))
    const before = store.keysOf(ACME)
    await store.add(providerKeyOf(2, { organizationId: BEECH }))
    t.equal(store.keysOf(ACME), before)
    await store.change(ACME, idOf(1_001), (key) => ({ ...key, disabled: true }))
    t.not(store.keysOf(ACME), before)
    t.equal(store.keysOf(ACME)[0]!.disabled, true)
  })

  named(
    'a change keeps who the key is, and that of another organization changes nothing',
    async (t, { store }) => {
      const key = providerKeyOf(1)
      await store.add(key)
      const next = await store.change(ACME, key.id, (current) => ({
        ...current,
        ...{ id: idOf(5), organizationId: BEECH, createdAt: 1, name: 'new', updatedAt: 7 },
      }))
      t.strictSame(next, { ...key, name: 'new', updatedAt: 7 })
      t.strictSame(store.keysOf(ACME), [next])
      t.equal(await store.change(BEECH, key.id, (current) => ({ ...current, name: 'stolen' })), null)
      t.equal(await store.remove(BEECH, key.id), false)
      t.strictSame(store.keysOf(ACME), [next])
    },
  )

  named('a removed key is gone, and the others stay', async (t, { store }) => {
    for (const number of [1, 2]) await store.add(providerKeyOf(number))
    t.equal(await store.remove(ACME, idOf(1_001)), true)
    t.equal(await store.remove(ACME, idOf(1_001)), false)
    t.strictSame(store.keysOf(ACME), [providerKeyOf(2)])
    t.equal(await store.remove(ACME, idOf(1_002)), true)
    t.strictSame(store.keysOf(ACME), [])
  })

  named('the record of an organization says whether it has keys', async (t, { store, accounts }) => {
    const acme = organizationOf(1)
    await accounts.addOrganization({ organization: acme, workspaces: [], keys: [] })
    t.strictSame(accounts.organization(ACME), acme)
    for (const number of [1, 2]) await store.add(providerKeyOf(number))
    t.strictSame(accounts.organization(ACME), { ...acme, ownKeys: true })
    const renamed = await accounts.changeOrganization(ACME, (current) => ({ ...current, name: 'new' }))
    t.strictSame(renamed, { ...acme, name: 'new', ownKeys: true })
    await store.remove(ACME, idOf(1_001))
    t.equal(accounts.organization(ACME)?.ownKeys, true)
    await store.remove(ACME, idOf(1_002))
    t.strictSame(accounts.organization(ACME), { ...acme, name: 'new' })
  })

  named('an organization has so many and no more, also when they come at once', async (t, { store }) => {
    const added = await Promise.all(
      Array.from({ length: MOST_PROVIDER_KEYS + 5 }, (_, number) => store.add(providerKeyOf(number))),
    )
    t.equal(added.filter((each) => each).length, MOST_PROVIDER_KEYS)
    t.equal(store.keysOf(ACME).length, MOST_PROVIDER_KEYS)
    t.equal(await store.add(providerKeyOf(1, { organizationId: BEECH })), true, 'it is counted apart')
  })
}
