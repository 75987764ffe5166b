/** Whose a session is, and what ends it: facts that are read on every call. */
import { type Test, test } from 'tap'
import type { AccessLevel } from '../../src/base/access.js'
import { Fault } from '../../src/base/fault.js'
import type { Principal, SessionCall } from '../../src/base/principal.js'
import { createAuthority } from '../../src/identity/authenticate.js'
import type { People } from '../../src/identity/people.js'
import { Sessions } from '../../src/identity/sessions.js'
import type { ApiKey } from '../../src/store/account-store.js'
import type { Member } from '../../src/store/directory-store.js'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import type { ScimRole } from '../../src/store/scim-store.js'
import { hashOf, idOf, keyOf } from '../support/data/accounts.js'
import { auditOf } from '../support/data/federation.js'
import { providerOf } from '../support/data/sessions.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const HOURS_8 = 8 * 60 * 60

interface Bench {
  readonly clock: FakeClock
  readonly sessions: Sessions
  readonly store: ReturnType<typeof openLmdbStore>
  /** The key and the member, to be changed. */
  readonly facts: { key: ApiKey | null; member: Member | null; roles: Map<string, ScimRole> }
  /** Rows of the configuration about `operation`. */
  readonly rows: Map<string, 'key' | 'management'>
  /** The caller of a call of our own page with this cookie, or the fault that refuses it. */
  asked(
    cookie: string,
    access: AccessLevel,
    more?: Partial<Record<string, string>>,
  ): Promise<Principal | Fault>
}

async function benchOf(t: Test): Promise<Bench> {
  const clock = new FakeClock()
  const store = openLmdbStore({ path: tempFolder(t), unixSeconds: () => clock.unixSeconds() })
  t.after(() => store.close())
  const now = clock.unixSeconds() * 1000
  const member = {
    ...{ id: idOf(500), organizationId: idOf(1), connectionId: null, version: 1, userName: 'ann' },
    ...{ externalId: 'ann-1', active: true, document: {}, createdAt: now, updatedAt: now, deletedAt: null },
  } satisfies Member
  const facts: Bench['facts'] = {
    key: keyOf('m', { kind: 'management', workspaceId: null, createdAt: now }),
    member,
    roles: new Map(),
  }
  const sessions = new Sessions(store.sessions, clock, 'http://127.0.0.1:8080')
  const people = {
    members: { factsOf: (id: string) => (id === idOf(500) ? factsOf(facts.member) : null) },
    roles: { roleOf: () => null, workspacesOf: () => facts.roles },
  } as unknown as People
  const rows: Bench['rows'] = new Map()
  const authority = createAuthority({ key: () => facts.key }, clock, () => rows, { sessions, people })
  const asked: Bench['asked'] = async (cookie, access, more = {}) => {
    const headers: Partial<Record<string, string>> = { cookie, 'sec-fetch-site': 'same-origin', ...more }
    const call: SessionCall = { method: more.method ?? 'GET', header: (name) => headers[name] ?? '' }
    try {
      return await authority.authorize('', '', 'operation', access, call)
    } catch (error) {
      if (error instanceof Fault) return error
      throw error
    }
  }
  return { clock, sessions, store, facts, rows, asked }
}

const factsOf = (member: Member | null) => member && { ...member, deleted: member.deletedAt !== null }

const pairOf = (setCookie: string): string => setCookie.split(';')[0]!

async function ofKey({ sessions, facts }: Bench): Promise<string> {
  const { hash: keyHash, organizationId } = facts.key!
  const caller = { keyHash, organizationId, kind: 'management', workspaceId: null, operator: false } as const
  return pairOf((await sessions.beginForKey(caller, '127.0.0.1')).cookie)
}

async function ofMember({ sessions, facts, store }: Bench): Promise<string> {
  await store.sessions.providers.add(providerOf(1), auditOf(1))
  const { id: memberId, organizationId } = facts.member!
  const owner = { memberId, organizationId, keyHash: null, providerId: providerOf(1).id }
  return pairOf((await sessions.begin(owner, '127.0.0.1', null))!.cookie)
}

test('a session of a key is that key, and ends with it', async (t) => {
  const bench = await benchOf(t)
  const cookie = await ofKey(bench)
  const good = bench.facts.key!
  const now = bench.clock.unixSeconds() * 1000
  for (const access of ['management', 'admin', 'member', 'caller', 'key', 'own-key'] as const) {
    t.match(await bench.asked(cookie, access), { kind: 'management', keyHash: hashOf('m') }, access)
  }
  t.match(await bench.asked(cookie, 'operator'), { kind: 'forbidden' })
  t.match(await bench.asked(cookie, 'connection'), { kind: 'forbidden' })
  for (const more of [{ disabled: true }, { deletedAt: now }, { expiresAt: now }]) {
    bench.facts.key = { ...good, ...more }
    t.match(await bench.asked(cookie, 'management'), { kind: 'unauthenticated' }, JSON.stringify(more))
  }
  bench.facts.key = null
  t.match(await bench.asked(cookie, 'management'), { kind: 'unauthenticated' })
  bench.facts.key = good
  t.match(await bench.asked(cookie, 'management'), { kind: 'management' }, 'and comes back with it')
})

test('a session of a member is that member, with the roles of this moment, and ends with it', async (t) => {
  const bench = await benchOf(t)
  const cookie = await ofMember(bench)
  const good = bench.facts.member!
  t.match(await bench.asked(cookie, 'member'), {
    kind: 'member',
    userId: good.id,
    keyHash: '',
    operator: false,
  })
  t.match(await bench.asked(cookie, 'caller'), { kind: 'member', userId: good.id })
  t.match(await bench.asked(cookie, 'admin'), { kind: 'forbidden' })
  bench.facts.roles.set(idOf(2), 'admin')
  t.match(await bench.asked(cookie, 'admin'), { kind: 'member' })
  for (const access of ['management', 'operator', 'connection'] as const) {
    t.match(await bench.asked(cookie, access), { kind: 'forbidden' }, access)
  }
  // Where a key is asked for, a person has none; documents of such operations know no 403.
  t.match(await bench.asked(cookie, 'key'), { kind: 'unauthenticated' })
  t.match(await bench.asked(cookie, 'own-key'), { kind: 'forbidden', note: /with a key of its own/ })
  for (const more of [{ active: false }, { deletedAt: 1 }]) {
    bench.facts.member = { ...good, ...more }
    t.match(await bench.asked(cookie, 'member'), { kind: 'unauthenticated' }, JSON.stringify(more))
  }
  bench.facts.member = good
  t.match(await bench.asked(cookie, 'member'), { kind: 'member' })
  await bench.store.sessions.providers.remove(providerOf(1).id, auditOf(2))
  t.match(await bench.asked(cookie, 'member'), { kind: 'unauthenticated' }, 'with its provider as well')
})

test('a row that opens an operation to keys takes nothing from sessions; one that closes it does', async (t) => {
  const bench = await benchOf(t)
  const cookie = await ofMember(bench)
  bench.rows.set('operation', 'key')
  t.match(await bench.asked(cookie, 'member'), { kind: 'member' })
  for (const access of ['admin', 'management'] as const) {
    t.match(await bench.asked(cookie, access), { kind: 'forbidden' }, `${access}: nor does it add anything`)
  }
  t.match(await bench.asked(cookie, 'anyone'), { kind: 'unauthenticated' }, 'locked')
  bench.rows.set('operation', 'management')
  t.match(await bench.asked(cookie, 'member'), { kind: 'forbidden' })
})

test('a session ends after 8 hours', async (t) => {
  const bench = await benchOf(t)
  const cookie = await ofKey(bench)
  const caller = (await bench.asked(cookie, 'management')) as Principal
  bench.clock.advance((HOURS_8 - 1) * 1000)
  t.match(await bench.asked(cookie, 'management'), { kind: 'management' })
  t.equal(bench.sessions.list(caller).length, 1)
  bench.clock.advance(1_000)
  t.match(await bench.asked(cookie, 'management'), { kind: 'unauthenticated' })
  t.strictSame(bench.sessions.list(caller), [])
})

test('a call that changes something needs the header that no form can send', async (t) => {
  const bench = await benchOf(t)
  const cookie = await ofKey(bench)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    t.match(await bench.asked(cookie, 'management', { method }), {
      kind: 'forbidden',
      note: /X-Sluice-Request/,
    })
    // Documents of operations that any key opens know no 403.
    t.match(await bench.asked(cookie, 'key', { method }), {
      kind: 'unauthenticated',
      note: /X-Sluice-Request/,
    })
    const marked = { method, 'x-sluice-request': '1' }
    t.match(await bench.asked(cookie, 'management', marked), { kind: 'management' }, method)
    t.match(await bench.asked(cookie, 'management', { ...marked, 'sec-fetch-site': 'none' }), {
      kind: 'unauthenticated',
    })
  }
})

test('an origin is ours under the base URL, and under the name we were called by', async (t) => {
  const bench = await benchOf(t)
  const cookie = await ofKey(bench)
  const cases = [
    ['http://127.0.0.1:8080', 'sluice.internal', true],
    ['https://sluice.example', 'sluice.example', true],
    ['http://localhost:8080', 'localhost:8080', true],
    ['http://[::1]:8080', '[::1]:8080', true],
    ['http://sluice.example', 'sluice.example', false],
    ['https://evil.example', 'sluice.example', false],
    ['https://sluice.example:444', 'sluice.example', false],
    ['https://sluice.example.evil.example', 'sluice.example', false],
    ['null', 'sluice.example', false],
    ['', '', false],
  ] as const
  for (const [origin, host, ours] of cases) {
    const caller = await bench.asked(cookie, 'management', { origin, host, 'sec-fetch-site': '' })
    t.equal(caller.kind, ours ? 'management' : 'unauthenticated', `${origin} at ${host}`)
  }
})

test('only its owner and its organization’s management see and end a session', async (t) => {
  const bench = await benchOf(t)
  const cookies = [await ofKey(bench), await ofMember(bench)]
  const [management, member] = await Promise.all(cookies.map((cookie) => bench.asked(cookie, 'member')))
  const [ofManagement, ofPerson] = [management, member].map((caller) =>
    bench.sessions.list(caller as Principal),
  )
  t.equal(ofManagement!.length, 2)
  t.equal(ofPerson!.length, 1)
  t.equal(ofPerson![0]!.memberId, idOf(500))
  const other = ofManagement!.find(({ keyHash }) => keyHash !== null)!
  t.equal(await bench.sessions.end(member as Principal, other.hash), false)
  const foreign = { ...(management as Principal), organizationId: idOf(9) }
  t.equal(await bench.sessions.end(foreign, other.hash), false)
  // An admin of a workspace can make a key in the name of anybody who has a role there.
  const byKey: Principal = { ...(member as Principal), kind: 'personal', workspaceId: idOf(2) }
  t.strictSame(bench.sessions.list(byKey), [])
  t.equal(await bench.sessions.end(byKey, ofPerson![0]!.hash), false)
  t.equal(await bench.sessions.end(member as Principal, ofPerson![0]!.hash), true)
  t.match(await bench.asked(cookies[1]!, 'member'), { kind: 'unauthenticated' })
  t.equal(await bench.sessions.end(management as Principal, other.hash), true)
})
