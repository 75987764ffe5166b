/** What a store of federation has to do (src/store/federation-store.ts). */
import { type Test, test } from 'tap'
import type { FederationAuditRow, FederationStore, SigningKeyRing } from '../../src/store/federation-store.js'
import { BEGAN, idOf } from '../support/data/accounts.js'
import { auditOf, issuerOf, policyOf } from '../support/data/federation.js'

export const RETENTION = { keptRows: 50, keptMs: 1_000 }

/** A store at a place of its own. */
interface FederationPlace {
  readonly store: FederationStore
  reopen(): Promise<void>
}

/** An implementation of the port, for the shared suite. */
interface FederationKind {
  readonly name: string
  /** The test that the suite's tests belong to, where they need what ends with it. */
  readonly within?: Test
  /** A new, empty place, which ends with the test. It keeps what `RETENTION` says of its audit. */
  place(t: Test): FederationPlace | Promise<FederationPlace>
}

/** Declares the suite's tests for one implementation. */
export function federationSuite(kind: FederationKind): void {
  const named = (name: string, run: (t: Test, place: FederationPlace) => Promise<void>): void => {
    const title = `${kind.name}: ${name}`
    const body = async (t: Test): Promise<void> => run(t, await kind.place(t))
    void (kind.within === undefined ? test(title, body) : kind.within.test(title, body))
  }
  const NONE = { rows: [], total: 0 }

  named('an empty store has nothing', async (t, { store }) => {
    for (const id of [idOf(1), '', '\0', 'é'.repeat(5_000)]) {
      t.equal(store.issuers.get(id), null)
      t.equal(store.policies.get(id), null)
      t.strictSame(store.issuers.listOf(id), [])
      t.strictSame(store.policies.listOf(id), [])
      t.strictSame(await store.auditPage(id, 'changes', 0, 10), NONE)
      t.equal(await store.policies.change(id, (policy) => policy, auditOf(1)), null)
      t.equal(await store.issuers.change(id, (issuer) => issuer, auditOf(1)), null)
      t.equal(await store.policies.remove(id, auditOf(1)), false)
      t.equal(await store.issuers.remove(id, auditOf(1)), false)
    }
    t.equal(store.signingKeyRing(), null)
    t.strictSame(await store.auditPage(idOf(1), 'changes', 0, 10), NONE, 'what changed nothing leaves no row')
  })

  named('records are read as they were added, frozen, also after a reopening', async (t, place) => {
    const issuer = issuerOf(1, { name: 'name “with” \u0001 😀', jwksUrl: null })
    const policy = policyOf(1, {
      subject: null,
      condition: 'true',
      claimChecks: { scopes: 'a', tokenType: 'b' },
    })
    await place.store.issuers.add(issuer, auditOf(1))
    await place.store.policies.add(policy, auditOf(2))
    for (let round = 0; round < 2; round++) {
      t.strictSame(place.store.issuers.get(issuer.id), issuer)
      t.strictSame(place.store.policies.get(policy.id), policy)
      t.ok([place.store.policies.get(policy.id), place.store.issuers.get(issuer.id)].every(Object.isFrozen))
      await place.reopen()
    }
    t.equal(place.store.issuers.get(policy.id), null)
    t.equal(place.store.policies.get(issuer.id), null)
    t.equal(place.store.policies.get(`${policy.id} `), null)
  })

  named('lists hold what belongs to an organization, oldest first', async (t, { store }) => {
    for (const n of [3, 1, 2]) {
      await store.issuers.add(issuerOf(n), auditOf(n))
      await store.policies.add(policyOf(n), auditOf(n))
    }
    const other = { organizationId: `${idOf(1)}0` }
    await store.issuers.add(issuerOf(9, other), auditOf(9, other))
    await store.policies.add(policyOf(9, other), auditOf(9, other))
    t.strictSame(store.issuers.listOf(idOf(1)), [issuerOf(1), issuerOf(2), issuerOf(3)])
    t.strictSame(store.policies.listOf(idOf(1)), [policyOf(1), policyOf(2), policyOf(3)])
    t.strictSame(store.policies.listOf(other.organizationId), [policyOf(9, other)])
    t.strictSame(store.policies.listOf(idOf(1).slice(0, -1)), [])
  })

  named('the same object is read until the record changes', async (t, { store }) => {
    await store.policies.add(policyOf(1), auditOf(1))
    const first = store.policies.get(policyOf(1).id)
    t.equal(store.policies.get(policyOf(1).id), first)
    await store.policies.add(policyOf(2), auditOf(2))
    t.equal(store.policies.get(policyOf(1).id), first)
    await store.policies.change(policyOf(1).id, (policy) => ({ ...policy, enabled: false }), auditOf(3))
    t.not(store.policies.get(policyOf(1).id), first)
    t.equal(first?.enabled, true)
  })

  named('a change is counted and keeps who the record is', async (t, { store }) => {
    const { id } = policyOf(1)
    await store.policies.add(policyOf(1), auditOf(1))
    const identity = { id: idOf(7), organizationId: idOf(8), createdAt: 0, version: 99 }
    const evil = { ...identity, enabled: false, updatedAt: 5 }
    const wanted = policyOf(1, { version: 2, enabled: false, updatedAt: 5 })
    t.strictSame(await store.policies.change(id, (policy) => ({ ...policy, ...evil }), auditOf(2)), wanted)
    t.strictSame(store.policies.get(id), wanted)
    t.strictSame(store.policies.listOf(idOf(1)), [wanted])
    t.strictSame(await store.policies.change(id, (policy) => policy, auditOf(3)), wanted)
    t.equal((await store.auditPage(idOf(1), 'changes', 0, 10)).total, 2, 'no row for no change')
    await store.issuers.add(issuerOf(1), auditOf(4))
    const rename = (issuer: ReturnType<typeof issuerOf>) => ({ ...issuer, name: 'n' })
    const renamed = await store.issuers.change(issuerOf(1).id, rename, auditOf(5))
    t.strictSame(renamed, issuerOf(1, { name: 'n' }))
  })

  named('changes of one record at once are all counted', async (t, { store }) => {
    const { id } = policyOf(1)
    await store.policies.add(policyOf(1), auditOf(1))
    const longer = (policy: ReturnType<typeof policyOf>) => ({ ...policy, audience: `${policy.audience}x` })
    await Promise.all(Array.from({ length: 50 }, (_, n) => store.policies.change(id, longer, auditOf(n))))
    t.match(store.policies.get(id), { version: 51, audience: `${policyOf(1).audience}${'x'.repeat(50)}` })
  })

  named('what is removed is gone, once, and an issuer takes no policy with it', async (t, place) => {
    await place.store.issuers.add(issuerOf(1), auditOf(1))
    await place.store.policies.add(policyOf(1), auditOf(2))
    const removals = [1, 2, 3].map((n) => place.store.issuers.remove(issuerOf(1).id, auditOf(n)))
    t.strictSame((await Promise.all(removals)).sort(), [false, false, true])
    await place.reopen()
    t.equal(place.store.issuers.get(issuerOf(1).id), null)
    t.strictSame(place.store.issuers.listOf(idOf(1)), [])
    t.strictSame(place.store.policies.listOf(idOf(1)), [policyOf(1)])
    t.equal(await place.store.policies.remove(policyOf(1).id, auditOf(3)), true)
    t.strictSame(place.store.policies.listOf(idOf(1)), [])
    t.equal((await place.store.auditPage(idOf(1), 'changes', 0, 10)).total, 4)
  })

  const ring = (kid: string): SigningKeyRing => ({
    keys: [{ kid, x: 'x', y: 'y', sealed: 's', createdAt: BEGAN, activeFrom: BEGAN }],
  })

  named('of those who make the first ring at once, one does, and the others see it', async (t, place) => {
    const made = await Promise.all(
      ['a', 'b', 'c'].map((kid) => place.store.changeSigningKeyRing((current) => current ?? ring(kid))),
    )
    t.equal(new Set(made.map(({ keys }) => keys[0]!.kid)).size, 1)
    t.strictSame(place.store.signingKeyRing(), made[0])
    t.equal(place.store.signingKeyRing(), place.store.signingKeyRing())
    await place.reopen()
    t.strictSame(place.store.signingKeyRing(), made[0])
    await place.store.changeSigningKeyRing(() => ring('z'))
    t.strictSame(place.store.signingKeyRing(), ring('z'))
  })

  const ids = (rows: readonly FederationAuditRow[]) => rows.map(({ id }) => id)
  const nth = (...ns: readonly number[]) => ns.map((n) => auditOf(n).id)

  named('rows are read newest first, by organization and trail, in pages', async (t, place) => {
    const rows = Array.from({ length: 12 }, (_, n) => auditOf(n))
    await place.store.appendAudit(rows)
    await place.store.appendAudit([auditOf(20, { trail: 'issued' }), auditOf(21, { organizationId: '' })])
    await place.store.appendAudit([])
    await place.reopen()
    const page = (offset: number, limit: number) => place.store.auditPage(idOf(1), 'changes', offset, limit)
    t.strictSame((await page(0, 1)).rows, [auditOf(11)])
    t.equal((await page(0, 1)).total, 12)
    t.strictSame(ids((await page(0, 4)).rows), nth(11, 10, 9, 8))
    t.strictSame(ids((await page(10, 4)).rows), nth(1, 0))
    t.strictSame((await page(12, 4)).rows, [])
    t.strictSame((await page(1e9, 4)).rows, [])
    t.strictSame(ids((await place.store.auditPage(idOf(1), 'issued', 0, 9)).rows), nth(20))
    t.strictSame(ids((await place.store.auditPage('', 'changes', 0, 9)).rows), nth(21))
    t.strictSame(await place.store.auditPage(idOf(1), 'refused', 0, 9), NONE)
  })

  named('a trail keeps its newest rows, and a flood in one leaves the others alone', async (t, { store }) => {
    await store.appendAudit([auditOf(1), auditOf(2)])
    await store.appendAudit(
      Array.from({ length: 500 }, (_, n) => auditOf(n, { trail: 'refused', at: BEGAN })),
    )
    const { rows, total } = await store.auditPage(idOf(1), 'refused', 0, 1_000)
    t.equal(total, 50)
    t.strictSame(ids(rows), nth(...Array.from({ length: 50 }, (_, n) => 499 - n)))
    t.equal((await store.auditPage(idOf(1), 'changes', 0, 10)).total, 2)
  })

  named('rows come in batches of any size and are read in pages at any place', async (t, { store }) => {
    const all: string[] = []
    for (const size of [1, 30, 1, 1, 31, 33, 1, 100, 5, 64, 7, 32, 32, 250, 3]) {
      const rows = Array.from({ length: size }, (_, n) => auditOf(all.length + n, { at: BEGAN }))
      await store.appendAudit(rows)
      all.push(...ids(rows))
      const kept = all.slice(-50).reverse()
      for (const [offset, limit] of [
        [0, 100],
        [0, 1],
        [1, 7],
        [17, 33],
        [49, 5],
        [60, 5],
      ] as const) {
        const page = await store.auditPage(idOf(1), 'changes', offset, limit)
        t.strictSame(ids(page.rows), kept.slice(offset, offset + limit))
        t.equal(page.total, kept.length)
      }
    }
  })

  named('rows that have become too old go with the rows that come', async (t, { store }) => {
    await store.appendAudit(Array.from({ length: 6 }, (_, n) => auditOf(n)))
    await store.appendAudit([auditOf(7, { at: BEGAN + 1_004 })])
    t.strictSame(ids((await store.auditPage(idOf(1), 'changes', 0, 10)).rows), nth(7, 5, 4))
    await store.appendAudit([auditOf(8, { at: BEGAN + 90_000 })])
    t.strictSame(ids((await store.auditPage(idOf(1), 'changes', 0, 10)).rows), nth(8))
  })
}
