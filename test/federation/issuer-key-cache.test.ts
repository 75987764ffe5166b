import { exportJWK } from 'jose'
import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { IssuerKeyCache, type IssuerKeySource } from '../../src/federation/issuer-key-cache.js'
import type { SubjectTokenAlgorithm } from '../../src/federation/verification-key.js'
import { issuerKey } from '../support/data/subject-tokens.js'
import { ScriptedIssuers, settled } from '../support/providers/scripted-issuers.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const JWKS = 'https://issuer.example/keys'
const SOURCE: IssuerKeySource = {
  id: 'issuer-1',
  organizationId: 'ours',
  issuerUrl: 'https://issuer.example',
  jwksUrl: JWKS,
}
const DISCOVERED: IssuerKeySource = { ...SOURCE, id: 'issuer-2', jwksUrl: null }
const DISCOVERY = 'https://issuer.example/.well-known/openid-configuration'
const A = issuerKey('ES256', 'a')
const B = issuerKey('ES256', 'b')
const R = issuerKey('RS256', 'r')
const MINUTE = 60_000

class Bench {
  readonly clock = new FakeClock()
  readonly issuers = new ScriptedIssuers()
  readonly keys = new IssuerKeyCache({ fetch: this.issuers.fetch, clock: this.clock, allowLoopback: false })

  constructor() {
    this.issuers.publish(JWKS, [A.jwk])
  }

  /** `kid` of the key that was found, or why there is none. */
  async find(kid: string | null, source = SOURCE, alg: SubjectTokenAlgorithm = 'ES256'): Promise<string> {
    try {
      const found = await this.keys.find(source, alg, kid)
      return typeof found === 'string' ? found : `key ${found.kid}`
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return `${error.kind}, after ${error.retryAfter} s`
    }
  }

  get fetches(): number {
    return this.issuers.log.length
  }
}

/** One that has fetched the set. */
async function warm(): Promise<Bench> {
  const bench = new Bench()
  await bench.find('a')
  return bench
}

void test('five hundred at once, cold, are served by one fetch', async (t) => {
  const bench = new Bench()
  bench.issuers.hold(JWKS)
  const all = Promise.all(Array.from({ length: 500 }, () => bench.find('a')))
  await settled()
  t.equal(bench.fetches, 1)
  bench.issuers.waiting[0]!.answer({ ok: true, value: { keys: [A.jwk] } })
  t.strictSame(new Set(await all), new Set(['key a']))
  t.equal(bench.fetches, 1)
})

void test('a set is fresh for ten minutes', async (t) => {
  const bench = new Bench()
  t.equal(await bench.find('a'), 'key a')
  bench.clock.advance(10 * MINUTE - 1)
  t.equal(await bench.find('a'), 'key a')
  t.equal(bench.fetches, 1)
  bench.clock.advance(1)
  t.equal(await bench.find('a'), 'key a')
  t.equal(bench.fetches, 2)
})

void test('a key that was taken away is refused once ten minutes have passed', async (t) => {
  const bench = await warm()
  bench.issuers.publish(JWKS, [B.jwk])
  t.equal(await bench.find('a'), 'key a')
  bench.clock.advance(10 * MINUTE)
  t.equal(await bench.find('a'), 'key-unknown')
  t.equal(await bench.find('b'), 'key b')
})

void test('an issuer that was not needed for long serves nothing old while it is well', async (t) => {
  const bench = await warm()
  bench.issuers.fail(JWKS)
  bench.clock.advance(10 * MINUTE)
  t.equal(await bench.find('a'), 'key a')
  bench.issuers.publish(JWKS, [B.jwk])
  bench.clock.advance(40 * MINUTE)
  t.equal(await bench.find('a'), 'key-unknown')
})

void test('while refetching fails the old set serves for an hour, then nothing does', async (t) => {
  const bench = await warm()
  bench.issuers.fail(JWKS)
  for (let minute = 1; minute < 60; minute++) {
    bench.clock.advance(MINUTE)
    t.equal(await bench.find('a'), 'key a')
    await settled()
  }
  bench.clock.advance(MINUTE)
  t.equal(await bench.find('a'), 'unavailable, after 30 s')
  bench.issuers.publish(JWKS, [A.jwk])
  bench.clock.advance(30_000)
  t.equal(await bench.find('a'), 'key a')
})

void test('a failure is remembered for thirty seconds, and the answer says how many are left', async (t) => {
  const bench = new Bench()
  bench.issuers.fail(JWKS)
  t.equal(await bench.find('a'), 'unavailable, after 30 s')
  bench.clock.advance(12_400)
  t.equal(await bench.find('a'), 'unavailable, after 18 s')
  bench.clock.advance(17_599)
  t.equal(await bench.find('a'), 'unavailable, after 1 s')
  t.equal(bench.fetches, 1)
  bench.issuers.publish(JWKS, [A.jwk])
  bench.clock.advance(1)
  t.equal(await bench.find('a'), 'key a')
})

void test('an issuer that has fallen silent delays one round of exchanges, not each that follows', async (t) => {
  const bench = await warm()
  bench.clock.advance(10 * MINUTE)
  bench.issuers.hold(JWKS)
  const first = bench.find('a')
  await settled()
  bench.clock.advance(5_000)
  bench.issuers.waiting[0]!.answer({ ok: false, reason: 'no answer in time' })
  t.equal(await first, 'key a')
  bench.clock.advance(30_000)
  t.equal(await bench.find('a'), 'key a', 'answered while the next fetch is under way')
  t.equal(bench.issuers.waiting.length, 2)
  t.equal(await bench.find('a'), 'key a')
  t.equal(bench.fetches, 3)
})

void test('an unknown kid is looked for once, and the new key is found at once', async (t) => {
  const bench = await warm()
  bench.clock.advance(30_000)
  bench.issuers.publish(JWKS, [A.jwk, B.jwk])
  t.equal(await bench.find('b'), 'key b')
  t.equal(bench.fetches, 2)
})

void test('ten thousand unknown kids in a minute make two fetches', async (t) => {
  const bench = await warm()
  bench.clock.advance(MINUTE)
  for (let n = 0; n < 10_000; n++) {
    t.equal(await bench.find(`random ${n}`), 'key-unknown')
    bench.clock.advance(6)
  }
  t.equal(bench.fetches, 1 + 2)
})

void test('while an unknown kid is looked for, known ones are served and unknown ones wait for the same fetch', async (t) => {
  const bench = await warm()
  bench.clock.advance(30_000)
  bench.issuers.hold(JWKS)
  const unknown = Promise.all([bench.find('b'), bench.find('c')])
  await settled()
  t.equal(await bench.find('a'), 'key a')
  t.equal(bench.fetches, 2)
  bench.issuers.waiting[0]!.answer({ ok: true, value: { keys: [A.jwk, B.jwk] } })
  t.strictSame(await unknown, ['key b', 'key-unknown'])
})

void test('nobody can lock others out with unknown kids: after the pause the next look finds the new key', async (t) => {
  const bench = await warm()
  bench.clock.advance(30_000)
  t.equal(await bench.find('x'), 'key-unknown')
  bench.issuers.publish(JWKS, [A.jwk, B.jwk])
  bench.clock.advance(29_999)
  t.equal(await bench.find('b'), 'key-unknown')
  bench.clock.advance(1)
  t.equal(await bench.find('b'), 'key b')
})

void test('looking for an unknown kid in vain is no reason to answer 503', async (t) => {
  const bench = await warm()
  bench.clock.advance(30_000)
  bench.issuers.fail(JWKS)
  t.equal(await bench.find('x'), 'key-unknown')
  t.equal(await bench.find('a'), 'key a')
  t.equal(bench.fetches, 2)
})

void test('which key it is: by kid and algorithm, and exactly one', async (t) => {
  const bench = new Bench()
  const others = [issuerKey('ES384', 'a').jwk, { kty: 'oct', k: 'x', kid: 'o' }]
  bench.issuers.publish(JWKS, [A.jwk, R.jwk, ...others])
  t.equal(await bench.find('a', SOURCE, 'ES256'), 'key a')
  t.equal(await bench.find('r', SOURCE, 'RS256'), 'key r')
  t.equal(await bench.find('r', SOURCE, 'ES256'), 'key-algorithm')
  t.equal(await bench.find('a', SOURCE, 'RS256'), 'key-algorithm')
  t.equal(await bench.find('A', SOURCE, 'ES256'), 'key-unknown')
  t.equal(await bench.find('o', SOURCE, 'ES256'), 'key-unknown')
  t.equal(await bench.find(null, SOURCE, 'RS256'), 'key r', 'one fits')
  const twins = new Bench()
  twins.issuers.publish(JWKS, [A.jwk, issuerKey('ES256', 'a').jwk, B.jwk])
  t.equal(await twins.find('a'), 'key-ambiguous')
  t.equal(await twins.find(null), 'kid-missing')
  t.equal(await twins.find('b'), 'key b')
})

void test('of nine that may fit none is imported to see which does', async (t) => {
  const bench = new Bench()
  const off = { ...A.jwk, y: A.jwk.x }
  bench.issuers.publish(JWKS, [...Array(7).fill(off), A.jwk])
  t.equal(await bench.find('a'), 'key a')
  t.equal(await bench.find(null), 'key a')
  bench.clock.advance(10 * MINUTE)
  bench.issuers.publish(JWKS, [...Array(8).fill(off), A.jwk])
  t.equal(await bench.find('a'), 'key-ambiguous')
  t.equal(await bench.find(null), 'kid-missing')
})

void test('a set without a usable key is a set: the token is refused, the issuer is not down', async (t) => {
  const bench = new Bench()
  bench.issuers.publish(JWKS, [issuerKey('RS256', 'a', 1024).jwk, {}, []])
  t.equal(await bench.find('a', SOURCE, 'RS256'), 'key-unknown')
})

const BROKEN_SETS: Readonly<Record<string, object>> = {
  'has no keys': {},
  'has keys that are no list': { keys: { a: A.jwk } },
  'has 101 keys': { keys: Array(101).fill(A.jwk) },
}

for (const [what, value] of Object.entries(BROKEN_SETS)) {
  void test(`a document that ${what} is a failure to fetch`, async (t) => {
    const bench = new Bench()
    bench.issuers.documents.set(JWKS, { ok: true, value: value as Record<string, unknown> })
    t.equal(await bench.find('a'), 'unavailable, after 30 s')
  })
}

void test('a set of 100 keys is taken', async (t) => {
  const bench = new Bench()
  bench.issuers.publish(JWKS, [...Array(99).fill({}), A.jwk])
  t.equal(await bench.find('a'), 'key a')
})

void test('discovery tells where the set is, within one deadline of five seconds for both', async (t) => {
  const bench = new Bench()
  const finding = bench.find('a', DISCOVERED)
  await settled()
  t.strictSame(bench.issuers.log, [DISCOVERY])
  t.equal(bench.issuers.waiting[0]!.timeoutMs, 5_000)
  bench.clock.advance(3_000)
  bench.issuers.waiting[0]!.answer({ ok: true, value: { issuer: SOURCE.issuerUrl, jwks_uri: JWKS } })
  t.equal(await finding, 'key a')
  t.strictSame(bench.issuers.log, [DISCOVERY, JWKS])
  t.equal(bench.issuers.lastTimeoutMs, 2_000)
})

void test('looking again goes straight to the set; refreshing asks for its place again', async (t) => {
  const bench = new Bench()
  bench.issuers.discovery(SOURCE.issuerUrl, JWKS)
  await bench.find('a', DISCOVERED)
  bench.clock.advance(30_000)
  await bench.find('x', DISCOVERED)
  t.strictSame([bench.issuers.count(DISCOVERY), bench.issuers.count(JWKS)], [1, 2])
  bench.clock.advance(10 * MINUTE)
  await bench.find('a', DISCOVERED)
  t.strictSame([bench.issuers.count(DISCOVERY), bench.issuers.count(JWKS)], [2, 3])
})

void test('after a failure the place of the set is asked for again', async (t) => {
  const bench = new Bench()
  bench.issuers.discovery(SOURCE.issuerUrl, JWKS)
  await bench.find('a', DISCOVERED)
  const moved = 'https://elsewhere.example/keys?v=2'
  bench.issuers.fail(JWKS)
  bench.issuers.discovery(SOURCE.issuerUrl, moved)
  bench.issuers.publish(moved, [B.jwk])
  bench.clock.advance(30_000)
  t.equal(await bench.find('b', DISCOVERED), 'key-unknown')
  bench.clock.advance(30_000)
  t.equal(await bench.find('b', DISCOVERED), 'key b')
})

const BROKEN_DISCOVERIES: Readonly<Record<string, readonly [unknown, unknown]>> = {
  'names another issuer': [JWKS, 'https://issuer.example.evil.example'],
  'names the issuer with a slash': [JWKS, `${SOURCE.issuerUrl}/`],
  'names the issuer in capitals': [JWKS, 'https://ISSUER.example'],
  'names no issuer': [JWKS, null],
  'names no set': [null, SOURCE.issuerUrl],
  'names a list of sets': [[JWKS], SOURCE.issuerUrl],
  'names a set without TLS': ['http://issuer.example/keys', SOURCE.issuerUrl],
  'names a file': ['file:///etc/passwd', SOURCE.issuerUrl],
  'names this machine': ['https://127.0.0.1/keys', SOURCE.issuerUrl],
  'names the metadata of a cloud': ['http://169.254.169.254/latest', SOURCE.issuerUrl],
  'names a set behind a user': ['https://a:b@issuer.example/keys', SOURCE.issuerUrl],
}

for (const [what, [jwksUri, issuer]] of Object.entries(BROKEN_DISCOVERIES)) {
  void test(`a discovery document that ${what} is a failure, and nothing else is fetched`, async (t) => {
    const bench = new Bench()
    bench.issuers.discovery(SOURCE.issuerUrl, jwksUri, issuer)
    t.equal(await bench.find('a', DISCOVERED), 'unavailable, after 30 s')
    t.strictSame(bench.issuers.log, [DISCOVERY])
  })
}

void test('one slash at the end of an issuer goes before the well-known path, and counts for the name', async (t) => {
  const bench = new Bench()
  const source = { ...DISCOVERED, issuerUrl: 'https://issuer.example/tenant/' }
  const url = 'https://issuer.example/tenant/.well-known/openid-configuration'
  bench.issuers.documents.set(url, { ok: true, value: { issuer: source.issuerUrl, jwks_uri: JWKS } })
  t.equal(await bench.find('a', source), 'key a')
})

void test('two issuers of one URL share nothing', async (t) => {
  const bench = new Bench()
  const other = { ...SOURCE, id: 'issuer-of-another-organization', jwksUrl: 'https://issuer.example/other' }
  bench.issuers.publish(other.jwksUrl, [{ ...B.jwk, kid: 'a' }])
  const mine = await bench.keys.find(SOURCE, 'ES256', 'a')
  const theirs = await bench.keys.find(other, 'ES256', 'a')
  if (typeof mine === 'string' || typeof theirs === 'string') throw new Error('both have their key')
  const [ours, others] = await Promise.all([mine, theirs].map((key) => exportJWK(key.key)))
  t.match(A.jwk, ours!)
  t.match(B.jwk, others!)
  const same = { ...SOURCE, id: 'a third' }
  t.equal(await bench.find('a', same), 'key a')
  t.equal(bench.issuers.count(JWKS), 2)
})

void test('another URL of the set counts from the next exchange on', async (t) => {
  const bench = await warm()
  const moved = { ...SOURCE, jwksUrl: 'https://issuer.example/moved' }
  bench.issuers.publish(moved.jwksUrl, [B.jwk])
  t.equal(await bench.find('a', moved), 'key-unknown')
  t.equal(await bench.find('b', moved), 'key b')
})

void test('an answer that comes after the URL has changed is not taken for the new one', async (t) => {
  const bench = new Bench()
  bench.issuers.hold(JWKS)
  const old = bench.find('a')
  await settled()
  const moved = { ...SOURCE, jwksUrl: 'https://issuer.example/moved' }
  bench.issuers.publish(moved.jwksUrl, [B.jwk])
  t.equal(await bench.find('b', moved), 'key b')
  bench.issuers.waiting[0]!.answer({ ok: true, value: { keys: [A.jwk] } })
  t.equal(await old, 'key a')
  t.equal(await bench.find('a', moved), 'key-unknown')
})

/** The `n`th issuer of an organization, with a set at a place of its own. */
function issuerOf(organizationId: string, n: number): IssuerKeySource {
  return {
    ...SOURCE,
    id: `${organizationId} ${n}`,
    organizationId,
    jwksUrl: `https://${organizationId}.example/${n}`,
  }
}

/** Weighs 101 of the 8,192 that all may weigh together. */
const LARGE_SET = [A.jwk, ...Array.from({ length: 99 }, (_, n) => ({ ...A.jwk, kid: `spare ${n}` }))]
const FITTING = 81

void test('who has more issuers than fit pays with its own, the one needed longest ago first', async (t) => {
  const bench = await warm()
  for (let n = 0; n < FITTING + 3; n++) {
    bench.issuers.publish(issuerOf('many', n).jwksUrl!, LARGE_SET)
    t.equal(await bench.find('a', issuerOf('many', n)), 'key a')
    if (n === FITTING - 1) await bench.find('a', issuerOf('many', 0))
  }
  bench.clock.advance(MINUTE)
  const before = bench.fetches
  t.equal(await bench.find('a'), 'key a')
  t.equal(await bench.find('a', issuerOf('many', 0)), 'key a')
  t.equal(await bench.find('a', issuerOf('many', FITTING)), 'key a')
  t.equal(bench.fetches, before, 'neither the neighbour nor what was needed lately')
  t.equal(await bench.find('a', issuerOf('many', 1)), 'key a')
  t.equal(bench.fetches, before + 1)
})

void test('who comes late finds room, at the cost of who has most', async (t) => {
  const bench = new Bench()
  for (let n = 0; n < FITTING; n++) {
    bench.issuers.publish(issuerOf('many', n).jwksUrl!, LARGE_SET)
    await bench.find('a', issuerOf('many', n))
  }
  for (let n = 0; n < 5; n++) {
    bench.issuers.publish(issuerOf('few', n).jwksUrl!, LARGE_SET)
    t.equal(await bench.find('a', issuerOf('few', n)), 'key a')
  }
  bench.clock.advance(MINUTE)
  const before = bench.fetches
  for (let n = 0; n < 5; n++) t.equal(await bench.find('a', issuerOf('few', n)), 'key a')
  t.equal(bench.fetches, before)
})

void test('keys that had to make room are not fetched again before the pause is over, changed ones are', async (t) => {
  const bench = new Bench()
  for (let n = 0; n < FITTING + 1; n++) {
    bench.issuers.publish(issuerOf('many', n).jwksUrl!, LARGE_SET)
    await bench.find('unknown', issuerOf('many', n))
  }
  const [first, before] = [issuerOf('many', 0), bench.fetches]
  bench.clock.advance(10_000)
  for (let n = 0; n < 100; n++) t.equal(await bench.find('unknown', first), 'unavailable, after 20 s')
  t.equal(bench.fetches, before)
  const moved = { ...issuerOf('many', 1), jwksUrl: JWKS }
  t.equal(await bench.find('a', moved), 'key a')
  bench.clock.advance(20_000)
  t.equal(await bench.find('a', first), 'key a')
})

void test('an issuer whose keys make room while it is fetched is fetched once', async (t) => {
  const bench = new Bench()
  const silent = issuerOf('many', 0)
  bench.issuers.hold(silent.jwksUrl!)
  const first = bench.find('a', silent)
  for (let n = 1; n <= FITTING + 1; n++) {
    bench.issuers.publish(issuerOf('many', n).jwksUrl!, LARGE_SET)
    await bench.find('a', issuerOf('many', n))
  }
  const second = bench.find('a', silent)
  await settled()
  t.equal(bench.issuers.count(silent.jwksUrl!), 1)
  bench.issuers.waiting[0]!.answer({ ok: true, value: { keys: LARGE_SET } })
  t.strictSame(await Promise.all([first, second]), ['key a', 'key a'])
})

void test('whatever hangs, the first fetch of the next organization begins at once', async (t) => {
  const bench = new Bench()
  for (const name of ['one', 'two', 'three', 'four']) {
    for (let n = 0; n < 300; n++) void bench.find('a', issuerOf(name, n))
  }
  await settled()
  t.ok(bench.issuers.waiting.length < 256, `${bench.issuers.waiting.length} are under way`)
  t.equal(await bench.find('a'), 'key a')
})

void test('who waits for its turn has the whole deadline then, and turns go by organization', async (t) => {
  const bench = new Bench()
  const all = (name: string) => Array.from({ length: 200 }, (_, n) => bench.find('a', issuerOf(name, n)))
  const waiting = [...all('one'), ...all('two')]
  const { length: begun } = bench.issuers.waiting
  bench.clock.advance(4_900)
  for (const fetch of bench.issuers.waiting.splice(0)) fetch.answer({ ok: true, value: { keys: [A.jwk] } })
  await settled()
  const next = bench.issuers.waiting
  t.strictSame(new Set(next.map(({ timeoutMs }) => timeoutMs)), new Set([5_000]))
  const shares = ['one', 'two'].map((name) => next.filter(({ url }) => url.includes(name)).length)
  t.ok(Math.min(...shares) * 3 > Math.max(...shares), `shares of ${begun} and then ${shares}`)
  while (next.length > 0) {
    for (const fetch of next.splice(0)) fetch.answer({ ok: true, value: { keys: [A.jwk] } })
    await settled()
  }
  t.strictSame(new Set(await Promise.all(waiting)), new Set(['key a']))
})

void test('fetches that wait are bounded for each organization', async (t) => {
  const bench = new Bench()
  const started = Array.from({ length: 2_000 }, (_, n) => bench.find('a', issuerOf('many', n)))
  t.equal(await started.at(-1), 'unavailable, after 30 s')
  t.equal(await bench.find('a'), 'key a')
})

void test('twenty rotations: no wrong refusal once a pause has passed', async (t) => {
  const bench = await warm()
  for (let n = 0; n < 20; n++) {
    bench.clock.advance(31_000)
    bench.issuers.publish(JWKS, [issuerKey('ES256', `new ${n}`).jwk])
    t.equal(await bench.find(`new ${n}`), `key new ${n}`)
    t.equal(await bench.find(n === 0 ? 'a' : `new ${n - 1}`), 'key-unknown')
  }
})

void test('a check looks for the keys at once, at most every half minute, and what it finds serves', async (t) => {
  const bench = await warm()
  bench.issuers.publish(JWKS, [A.jwk, B.jwk, { kty: 'oct', k: 'x' }])
  t.match(await bench.keys.check(SOURCE), { failure: null, ageMs: 0, set: { total: 1 } })
  t.equal(bench.fetches, 1, 'it was tried a moment ago')
  bench.clock.advance(30_000)
  const { failure, set } = await bench.keys.check(SOURCE)
  t.equal(failure, null)
  t.equal(set!.location, JWKS)
  t.same(
    set!.keys.map(({ kid }) => kid),
    ['a', 'b'],
  )
  t.equal(set!.total, 3)
  t.equal(await bench.find('b'), 'key b')
  t.equal(bench.fetches, 2)
  bench.issuers.fail(JWKS, 'answered with 404')
  bench.clock.advance(30_000)
  const failed = await bench.keys.check(SOURCE)
  t.match(
    failed,
    { failure: 'key set: answered with 404', set: { total: 3 } },
    'the set of before still serves',
  )
  bench.clock.advance(10_000)
  t.equal((await bench.keys.check(SOURCE)).ageMs, 10_000)
  t.equal(bench.fetches, 3)
})
