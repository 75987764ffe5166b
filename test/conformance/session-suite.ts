/** What a store of sessions has to do (src/store/session-store.ts). */
import { type Test, test } from 'tap'
import type { SessionStore } from '../../src/store/session-store.js'
import { BEGAN, hashOf, idOf } from '../support/data/accounts.js'
import { auditOf } from '../support/data/federation.js'
import { providerOf, SESSION_MS, sessionOf } from '../support/data/sessions.js'

/** An implementation of the port, for the shared suite. */
interface SessionKind {
  readonly name: string
  /** The test that the suite's tests belong to, where they need what ends with it. */
  readonly within?: Test
  /** A new, empty store, which ends with the test. */
  store(t: Test): SessionStore | Promise<SessionStore>
}

const OF_MEMBER = { organizationId: idOf(1), owner: idOf(500) }
const OF_ALL = { organizationId: idOf(1), owner: null }

/** Declares the suite's tests for one implementation. */
export function sessionSuite(kind: SessionKind): void {
  const named = (name: string, run: (t: Test, store: SessionStore) => Promise<void>): void => {
    const title = `${kind.name}: ${name}`
    const body = async (t: Test): Promise<void> => run(t, await kind.store(t))
    void (kind.within === undefined ? test(title, body) : kind.within.test(title, body))
  }

  named('an empty store has nothing', async (t, store) => {
    for (const id of [hashOf(1), '', '\0', 'é'.repeat(5_000), hashOf(1).toUpperCase()]) {
      t.equal(store.session(id), null)
      t.equal(store.isRedeemed(id), false)
      t.equal(await store.removeSession(id), false)
      t.equal(store.providers.get(id), null)
      t.strictSame(store.sessionsOf({ organizationId: id, owner: null }), [])
      t.strictSame(store.sessionsOf({ organizationId: idOf(1), owner: id }), [])
    }
  })

  named(
    'a session is read as it was added, and listed with its organization and its owner',
    async (t, store) => {
      const ofKey = sessionOf(3, { memberId: null, providerId: null, keyHash: hashOf('m') })
      const foreign = sessionOf(4, { organizationId: idOf(9), memberId: idOf(501) })
      for (const session of [sessionOf(2), sessionOf(1), ofKey, foreign]) {
        t.equal(await store.addSession(session, null), true)
        t.strictSame(store.session(session.hash), session)
      }
      t.strictSame(store.sessionsOf(OF_ALL), [ofKey, sessionOf(2), sessionOf(1)], 'newest first')
      t.strictSame(store.sessionsOf(OF_MEMBER), [sessionOf(2), sessionOf(1)])
      t.strictSame(store.sessionsOf({ ...OF_ALL, owner: hashOf('m') }), [ofKey])
      t.strictSame(store.sessionsOf({ ...OF_ALL, owner: idOf(501) }), [], 'of another organization')
    },
  )

  named('a session that is removed is none, and the others stay', async (t, store) => {
    for (const n of [1, 2]) await store.addSession(sessionOf(n), null)
    t.equal(await store.removeSession(sessionOf(1).hash), true)
    t.equal(await store.removeSession(sessionOf(1).hash), false)
    t.equal(store.session(sessionOf(1).hash), null)
    t.strictSame(store.sessionsOf(OF_ALL), [sessionOf(2)])
    t.strictSame(store.sessionsOf(OF_MEMBER), [sessionOf(2)])
  })

  named('an attempt is redeemed once', async (t, store) => {
    const attempt = { hash: hashOf('attempt'), expiresAt: BEGAN + 600_000 }
    t.equal(store.isRedeemed(attempt.hash), false)
    const outcomes = await Promise.all([1, 2, 3].map((n) => store.addSession(sessionOf(n), attempt)))
    t.strictSame(outcomes.filter(Boolean).length, 1)
    t.equal(store.isRedeemed(attempt.hash), true)
    t.equal(store.sessionsOf(OF_ALL).length, 1, 'what is refused leaves nothing')
  })

  named('the oldest session of an owner goes when there are too many', async (t, store) => {
    const other = sessionOf(0, { memberId: idOf(501) })
    await store.addSession(other, null)
    for (let n = 1; n <= 22; n++) await store.addSession(sessionOf(n), null)
    const kept = store.sessionsOf(OF_MEMBER)
    t.equal(kept.length, 20)
    t.strictSame([kept[0], kept.at(-1)], [sessionOf(22), sessionOf(3)])
    t.equal(store.session(sessionOf(2).hash), null)
    t.strictSame(store.session(other.hash), other)
  })

  named('what has ended is cleared away by new sessions, a little at a time', async (t, store) => {
    for (let n = 0; n < 40; n++) {
      const attempt = { hash: hashOf(`attempt ${n}`), expiresAt: BEGAN + n }
      await store.addSession(
        sessionOf(n, { memberId: idOf(600 + n), expiresAt: BEGAN + SESSION_MS }),
        attempt,
      )
    }
    const left = () => [
      store.sessionsOf(OF_ALL).length,
      Array.from({ length: 40 }, (_, n) => store.isRedeemed(hashOf(`attempt ${n}`))).filter(Boolean).length,
    ]
    const [all, attempts] = left()
    t.equal(all, 40, 'none has ended')
    t.ok(attempts! < 10, 'attempts end sooner')
    const late = (n: number) => sessionOf(SESSION_MS + n, { memberId: idOf(700 + n) })
    await store.addSession(late(0), null)
    t.ok(left()[0]! > 20, 'not all at once')
    for (let n = 1; n < 5; n++) await store.addSession(late(n), null)
    t.strictSame(left(), [5, 0])
    t.strictSame(store.session(late(0).hash), late(0))
  })

  named('providers are records of their organization, with an audit', async (t, store) => {
    const provider = providerOf(1, { sealedSecret: 'sealed' })
    await store.providers.add(provider, auditOf(1))
    t.strictSame(store.providers.get(provider.id), provider)
    t.strictSame(store.providers.listOf(idOf(1)), [provider])
    t.strictSame(store.providers.listOf(idOf(9)), [])
    const renamed = await store.providers.change(
      provider.id,
      (current) => ({ ...current, name: 'new', organizationId: idOf(9) }),
      auditOf(2),
    )
    t.strictSame(renamed, { ...provider, name: 'new' })
    t.equal(await store.providers.remove(provider.id, auditOf(3)), true)
    t.equal(store.providers.get(provider.id), null)
  })
}
