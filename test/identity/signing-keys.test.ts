import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { calculateJwkThumbprint, createLocalJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import { test } from 'tap'
import { createSealer } from '../../src/identity/sealing-key.js'
import { maintainPeriodically, SIGNING_PERIOD_MS, SigningKeys } from '../../src/identity/signing-keys.js'
import { RingInMemory } from '../support/models/federation-memory.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const DAY = 24 * 60 * 60_000
const AFTERLIFE = 960_000

class Bench {
  readonly clock = new FakeClock()
  readonly store = new RingInMemory()
  readonly secret = randomBytes(32)
  readonly keys = this.worker()

  /** One more process over the same store. */
  worker(secret: Uint8Array = this.secret): SigningKeys {
    return new SigningKeys({ store: this.store, sealer: createSealer(secret), clock: this.clock })
  }

  kids(): string[] {
    return this.keys.jwks().keys.map(({ kid }) => kid)
  }
}

/** After the first start. */
async function maintained(): Promise<Bench> {
  const bench = new Bench()
  await bench.keys.maintain()
  return bench
}

const CLAIMS = { sub: 'x' }

void test('before the first start nothing can be signed, and nothing is published', async (t) => {
  const { keys } = new Bench()
  t.throws(() => keys.activeKid(), { kind: 'unavailable' } as never)
  t.strictSame(keys.jwks(), { keys: [] })
  await t.rejects(keys.sign(CLAIMS), { kind: 'unavailable' } as never)
  t.equal(await keys.isSignedByKey('any', 'e30.e30.AAAA'), false)
})

void test('the first start makes a key that signs and one that will, and the second start leaves them', async (t) => {
  const bench = await maintained()
  const [active, next] = bench.kids()
  t.equal(bench.keys.activeKid(), active)
  t.ok(next !== undefined && next !== active)
  await bench.worker().maintain()
  await bench.keys.maintain()
  t.equal(bench.store.changes, 1)
})

void test('several workers that start together end with the same keys', async (t) => {
  const bench = new Bench()
  const workers = Array.from({ length: 6 }, () => bench.worker())
  await Promise.all(workers.map((worker) => worker.maintain()))
  t.equal(new Set(workers.map((worker) => worker.activeKid())).size, 1)
  t.equal(bench.kids().length, 2)
})

void test('the published set is what verifiers expect, without a private part', async (t) => {
  const bench = await maintained()
  for (const key of bench.keys.jwks().keys) {
    t.strictSame(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    t.match(key, { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
    t.equal(key.kid, await calculateJwkThumbprint(key as JWK))
  }
})

void test('private keys lie encrypted in the store', async (t) => {
  const bench = await maintained()
  const stored = JSON.stringify(bench.store.ring)
  t.notMatch(stored, /"d"|PRIVATE/)
  const [record] = bench.store.ring!.keys
  t.ok(createSealer(bench.secret).open(record!.sealed, record!.kid))
  t.equal(createSealer(bench.secret).open(record!.sealed, bench.store.ring!.keys[1]!.kid), null)
})

/** A token with another part. */
function altered(token: string, part: 0 | 1 | 2, text: string): string {
  return token.split('.').with(part, text).join('.')
}

void test('a token is signed by the active key, and every worker and any verifier of the key set verifies it', async (t) => {
  const bench = await maintained()
  const kid = bench.keys.activeKid()
  const token = await bench.keys.sign(CLAIMS)
  t.strictSame(decodeProtectedHeader(token), { alg: 'ES256', typ: 'at+jwt', kid })
  const signature = Buffer.from(token.split('.')[2]!, 'base64url')
  t.equal(signature.length, 64)
  t.equal(await bench.worker().isSignedByKey(kid, token), true)
  const other = Buffer.from(JSON.stringify({ sub: 'y' })).toString('base64url')
  t.equal(await bench.keys.isSignedByKey(kid, altered(token, 1, other)), false)
  t.equal(await bench.keys.isSignedByKey(bench.kids()[1]!, token), false)
  t.equal(await bench.keys.isSignedByKey('unknown', token), false)
  for (const bytes of [Buffer.concat([signature, Buffer.of(0)]), Buffer.alloc(64), signature.subarray(1)]) {
    t.equal(await bench.keys.isSignedByKey(kid, altered(token, 2, bytes.toString('base64url'))), false)
  }
  const set = createLocalJWKSet({ keys: bench.keys.jwks().keys as JWK[] })
  const { payload } = await jwtVerify(token, set)
  t.strictSame(payload, CLAIMS)
})

void test('what was sealed before still signs: the stored form of a private key is PKCS #8', async (t) => {
  const bench = new Bench()
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string }
  const der = privateKey.export({ format: 'der', type: 'pkcs8' })
  const times = { createdAt: 0, activeFrom: 0 }
  bench.store.ring = {
    keys: [{ kid: 'old', x, y, sealed: createSealer(bench.secret).seal(der, 'old'), ...times }],
  }
  const token = await bench.keys.sign(CLAIMS)
  t.equal(await bench.worker().isSignedByKey('old', token), true)
  await bench.keys.maintain()
  const { sealed, kid } = bench.store.ring!.keys.at(-1)!
  const key = createSealer(bench.secret).open(sealed, kid)!
  t.equal(createPrivateKey({ key, format: 'der', type: 'pkcs8' }).asymmetricKeyType, 'ec')
})

void test('after thirty days the next key signs, on every worker at the same moment and without a change', async (t) => {
  const bench = await maintained()
  const other = bench.worker()
  const [first, second] = bench.kids()
  bench.clock.advance(SIGNING_PERIOD_MS - 1)
  t.strictSame([bench.keys.activeKid(), other.activeKid()], [first, first])
  bench.clock.advance(1)
  t.strictSame([bench.keys.activeKid(), other.activeKid()], [second, second])
  t.equal(bench.store.changes, 1)
})

void test('a retired key verifies until the last token it signed has expired, and then is gone', async (t) => {
  const bench = await maintained()
  const [first = '', second = ''] = bench.kids()
  const token = await bench.keys.sign(CLAIMS)
  bench.clock.advance(SIGNING_PERIOD_MS)
  await bench.keys.maintain()
  const [, , third] = bench.kids()
  t.strictSame(bench.kids(), [first, second, third])
  bench.clock.advance(AFTERLIFE - 1)
  t.equal(await bench.keys.isSignedByKey(first, token), true)
  bench.clock.advance(1)
  t.equal(await bench.keys.isSignedByKey(first, token), false)
  t.strictSame(bench.kids(), [second, third])
  await bench.keys.maintain()
  t.strictSame(
    bench.store.ring!.keys.map(({ kid }) => kid),
    [second, third],
  )
})

void test('every key was published an hour before it signs, also after a long time without a server', async (t) => {
  const bench = await maintained()
  for (const days of [1, 29, 31, 200, 1, 3, 30, 59.99, 0.01]) {
    bench.clock.advance(days * DAY)
    await bench.keys.maintain()
    const now = bench.clock.unixSeconds() * 1000
    const { keys } = bench.store.ring!
    const waiting = keys.at(-1)!
    t.ok(waiting.activeFrom - waiting.createdAt >= 60 * 60_000)
    t.ok(waiting.activeFrom > now && keys.at(-2)!.activeFrom <= now)
    t.equal(bench.keys.activeKid(), keys.at(-2)!.kid)
  }
})

void test('a command lets the published next key sign at once; tokens of the old one stay good', async (t) => {
  const bench = await maintained()
  const other = bench.worker()
  const [first = '', second] = bench.kids()
  const token = await bench.keys.sign(CLAIMS)
  bench.clock.advance(DAY)
  t.equal(await bench.keys.rotate(), second)
  t.equal(other.activeKid(), second)
  t.equal(await other.isSignedByKey(first, token), true)
  t.equal(bench.kids().length, 3)
  bench.clock.advance(AFTERLIFE)
  t.equal(await other.isSignedByKey(first, token), false)
})

void test('commands without a pause between them lose no key that may have signed', async (t) => {
  const bench = await maintained()
  const signed = new Map<string, string>()
  for (let n = 0; n < 5; n++) {
    signed.set(bench.keys.activeKid(), await bench.keys.sign(CLAIMS))
    await bench.keys.rotate()
    bench.clock.advance(1)
  }
  t.equal(signed.size, 5)
  for (const [kid, token] of signed) t.equal(await bench.worker().isSignedByKey(kid, token), true)
  await Promise.all(Array.from({ length: 4 }, () => bench.worker().rotate()))
  bench.clock.advance(10)
  t.equal(new Set(bench.kids()).size, bench.kids().length)
  for (const [kid, token] of signed) t.equal(await bench.worker().isSignedByKey(kid, token), true)
})

void test('a dropped key signs nothing more, is published no more, and what it signed is refused on every worker', async (t) => {
  const bench = await maintained()
  const other = bench.worker()
  const [first = '', second = ''] = bench.kids()
  const token = await bench.keys.sign(CLAIMS)
  t.equal(await other.isSignedByKey(first, token), true)
  const before = other.edition()
  t.equal(other.edition(), before)
  t.equal(await bench.keys.drop(first), second)
  t.not(other.edition(), before)
  for (const worker of [bench.keys, other, bench.worker()]) {
    t.equal(worker.activeKid(), second)
    t.equal(await worker.isSignedByKey(first, token), false)
    t.notOk(worker.jwks().keys.some(({ kid }) => kid === first))
    t.equal(decodeProtectedHeader(await worker.sign(CLAIMS)).kid, second)
  }
  t.equal(bench.kids().length, 2, 'there is a next one again')
  t.notMatch(JSON.stringify(bench.store.ring), first)
})

void test('of the keys that do not sign, only the dropped one goes', async (t) => {
  const bench = await maintained()
  await bench.keys.rotate()
  const [retired = '', active = '', next = ''] = bench.kids()
  bench.clock.advance(1000)
  const token = await bench.keys.sign(CLAIMS)
  t.equal(await bench.keys.drop(next), active)
  t.strictSame(bench.kids().slice(0, 2), [retired, active])
  t.equal(bench.kids().length, 3, 'with another next one')
  t.equal(await bench.keys.drop(retired), active)
  t.notOk(bench.kids().includes(retired))
  t.equal(await bench.keys.isSignedByKey(active, token), true)
})

void test('every key can be dropped, one after the other, and there is always one that signs', async (t) => {
  const bench = await maintained()
  const seen = new Set<string>()
  for (let n = 0; n < 6; n++) {
    const active = bench.keys.activeKid()
    seen.add(active)
    const next = await bench.keys.drop(active)
    t.notOk(seen.has(next!))
    t.equal(decodeProtectedHeader(await bench.keys.sign(CLAIMS)).kid, next)
    const { keys } = bench.store.ring!
    t.ok(keys.every((key, at) => at === 0 || key.activeFrom > keys[at - 1]!.activeFrom))
  }
})

void test('what is no key of ours cannot be dropped', async (t) => {
  const bench = new Bench()
  t.equal(await bench.keys.drop('any'), null)
  await bench.keys.maintain()
  const { changes, ring } = bench.store
  t.equal(await bench.keys.drop('any'), null)
  t.strictSame([bench.store.changes, bench.store.ring], [changes, ring])
})

void test('a clock that was put back takes no key away', async (t) => {
  const bench = await maintained()
  const [first = ''] = bench.kids()
  const earlier = new SigningKeys({
    store: bench.store,
    sealer: createSealer(bench.secret),
    clock: new FakeClock(1_600_000_000),
  })
  await earlier.maintain()
  t.equal(bench.store.changes, 1)
  t.equal(earlier.activeKid(), first)
  t.equal(await earlier.isSignedByKey(first, await earlier.sign(CLAIMS)), true)
  const next = await earlier.rotate()
  t.equal(bench.keys.activeKid(), first, 'a millisecond before the next begins')
  bench.clock.advance(1)
  t.equal(bench.keys.activeKid(), next)
})

void test('a command before the first start makes the first keys', async (t) => {
  const bench = new Bench()
  const kid = await bench.keys.rotate()
  t.equal(bench.keys.activeKid(), kid)
})

void test('when the secret was lost, a new key signs and what the old one signed is still verified', async (t) => {
  const bench = await maintained()
  const [first = '', second] = bench.kids()
  const token = await bench.keys.sign(CLAIMS)
  bench.clock.advance(DAY)
  const after = bench.worker(randomBytes(32))
  await t.rejects(after.sign(CLAIMS), { kind: 'internal' } as never)
  await after.maintain()
  t.notOk([first, second].includes(after.activeKid()))
  t.equal(await bench.keys.isSignedByKey(after.activeKid(), await after.sign(CLAIMS)), true)
  t.equal(await after.isSignedByKey(first, token), true)
})

void test('keys are tended every ten minutes, also after a time in vain, until it is called off', async (t) => {
  const clock = new FakeClock()
  let times = 0
  const errors: unknown[] = []
  const tend = async (): Promise<void> => {
    if (++times === 2) throw new Error('disk full')
  }
  const stop = maintainPeriodically({ maintain: tend }, clock, (error) => void errors.push(error))
  clock.advance(60 * 60_000)
  await Promise.resolve()
  t.equal(times, 6)
  t.match(errors, [{ message: 'disk full' }])
  stop()
  t.equal(clock.pending, 0)
})
