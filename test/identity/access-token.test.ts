import { createHash, createPrivateKey, randomBytes } from 'node:crypto'
import { createLocalJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import { test } from 'tap'
import { AccessTokenAuthority, type AccessTokenGrant } from '../../src/identity/access-token.js'
import { createSealer } from '../../src/identity/sealing-key.js'
import { SigningKeys } from '../../src/identity/signing-keys.js'
import { goodToken, issuerKey, NOW, tokenOf } from '../support/data/subject-tokens.js'
import { RingInMemory } from '../support/models/federation-memory.js'
import { FakeClock } from '../support/timing/fake-clock.js'
import { gate } from '../support/timing/gate.js'

const BASE = 'https://gateway.example'
const KEY = createHash('sha256').update('key').digest('hex')
const GRANT: AccessTokenGrant = {
  subject: 'repo:octo/app',
  policyId: '01890000-0000-7000-8000-000000000001',
  issuerId: '01890000-0000-7000-8000-000000000002',
  keyHash: KEY,
  subjectExpiresAt: NOW + 3600,
}

/** Claims of an access token of ours. */
const CLAIMS = { iss: BASE, aud: `${BASE}/api/v1`, sub: 's', exp: NOW + 600, key_hash: KEY }

async function bench(startUnix = NOW) {
  const clock = new FakeClock(startUnix)
  const store = new RingInMemory()
  const secret = randomBytes(32)
  const worker = () => {
    const signingKeys = new SigningKeys({ store, sealer: createSealer(secret), clock })
    return { signingKeys, tokens: new AccessTokenAuthority({ signingKeys, clock, baseUrl: BASE }) }
  }
  const first = worker()
  await first.signingKeys.maintain()
  const [record] = store.ring!.keys
  const kid = record!.kid
  const der = createSealer(secret).open(record!.sealed, kid)!
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  /** A token of any header and claims, signed by our own key. */
  const signed = (claims: unknown, header: object = {}): string =>
    tokenOf({ alg: 'ES256', typ: 'at+jwt', kid, ...header }, claims, {
      alg: 'ES256',
      kid,
      privateKey,
      jwk: {},
    })
  return { clock, worker, signed, ...first }
}

void test('a token carries what was granted and what RFC 9068 asks, and jose verifies it', async (t) => {
  const { tokens, signingKeys } = await bench()
  const minted = (await tokens.mint(GRANT))!
  const set = createLocalJWKSet({ keys: signingKeys.jwks().keys as JWK[] })
  const { payload, protectedHeader } = await jwtVerify(minted.token, set, {
    issuer: BASE,
    audience: `${BASE}/api/v1`,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    currentDate: new Date(NOW * 1000),
  })
  t.strictSame(protectedHeader, { alg: 'ES256', typ: 'at+jwt', kid: signingKeys.activeKid() })
  t.strictSame(payload, {
    iss: BASE,
    aud: `${BASE}/api/v1`,
    sub: GRANT.subject,
    client_id: GRANT.policyId,
    iat: NOW,
    exp: NOW + 900,
    jti: minted.id,
    scope: 'inference',
    federation_policy_id: GRANT.policyId,
    federation_issuer_id: GRANT.issuerId,
    key_hash: KEY,
  })
  t.equal(minted.expiresIn, 900)
  t.not((await tokens.mint(GRANT))!.id, minted.id)
})

const LIVES: readonly (readonly [now: number, left: number, expiresIn: number | null])[] = [
  [NOW, 3600, 900],
  [NOW, 900, 900],
  [NOW, 899.9, 899],
  [NOW, 1, 1],
  [NOW + 0.7, 0.3, 1],
  [NOW + 0.7, 900, 900],
  [NOW, 0.9, null],
  [NOW, 0, null],
  [NOW, -5, null],
  [NOW, 1e300, 900],
]

void test('a token lives 900 seconds at most, never beyond the subject token, and never not at all', async (t) => {
  for (const [now, left, expiresIn] of LIVES) {
    const { tokens, worker, clock } = await bench(now)
    const minted = await tokens.mint({ ...GRANT, subjectExpiresAt: now + left })
    t.equal(minted?.expiresIn ?? null, expiresIn, `${now} ${left}`)
    if (minted === null) continue
    const other = worker().tokens
    t.equal(await other.keyHashOf(minted.token), KEY)
    clock.advance((Math.floor(now) + minted.expiresIn - now) * 1000 - 1)
    t.equal(await other.keyHashOf(minted.token), KEY)
    clock.advance(2)
    t.equal(await other.keyHashOf(minted.token), null, 'remembered, but expired')
    t.equal(await worker().tokens.keyHashOf(minted.token), null)
  }
})

void test('a token is good on every worker, also after its signing key has retired', async (t) => {
  const { tokens, worker, signingKeys, clock } = await bench()
  const { token } = (await tokens.mint(GRANT))!
  await signingKeys.rotate()
  clock.advance(899_000)
  t.equal(await worker().tokens.keyHashOf(token), KEY)
  const after = (await tokens.mint({ ...GRANT, subjectExpiresAt: NOW + 5_000 }))!
  t.not(decodeProtectedHeader(after.token).kid, decodeProtectedHeader(token).kid)
})

const HEADERS: Readonly<Record<string, readonly [object, boolean]>> = {
  'at+jwt': [{}, true],
  'AT+JWT': [{ typ: 'AT+JWT' }, true],
  'application/at+jwt': [{ typ: 'application/at+jwt' }, true],
  'Application/At+Jwt': [{ typ: 'Application/At+Jwt' }, true],
  JWT: [{ typ: 'JWT' }, false],
  'no type': [{ typ: undefined }, false],
  'type of another kind': [{ typ: ['at+jwt'] }, false],
  'type with a parameter': [{ typ: 'at+jwt; x=1' }, false],
  'twice application/': [{ typ: 'application/application/at+jwt' }, false],
  'alg none': [{ alg: 'none' }, false],
  'alg HS256': [{ alg: 'HS256' }, false],
  'alg ES384': [{ alg: 'ES384' }, false],
  'alg es256': [{ alg: 'es256' }, false],
  'no alg': [{ alg: undefined }, false],
  'an unknown kid': [{ kid: 'other' }, false],
  'no kid': [{ kid: undefined }, false],
  'a kid that is a list': [{ kid: ['a'] }, false],
  crit: [{ crit: ['x'], x: 1 }, false],
  b64: [{ b64: false }, false],
}

for (const [what, [header, good]] of Object.entries(HEADERS)) {
  void test(`a header with ${what} is ${good ? 'taken' : 'refused'}`, async (t) => {
    const { tokens, signed } = await bench()
    t.equal(await tokens.keyHashOf(signed(CLAIMS, header)), good ? KEY : null)
  })
}

const BODIES: Readonly<Record<string, readonly [unknown, boolean]>> = {
  'all that is checked': [CLAIMS, true],
  'forged claims for the audit': [
    { ...CLAIMS, federation_policy_id: 1, federation_issuer_id: 'x', client_id: [] },
    true,
  ],
  'another scope and subject': [{ ...CLAIMS, scope: 'admin', sub: 7, jti: null, iat: 'x' }, true],
  'another issuer': [{ ...CLAIMS, iss: `${BASE}/` }, false],
  'a list of issuers': [{ ...CLAIMS, iss: [BASE] }, false],
  'another audience': [{ ...CLAIMS, aud: BASE }, false],
  'a list of audiences': [{ ...CLAIMS, aud: [`${BASE}/api/v1`] }, false],
  'no audience': [{ ...CLAIMS, aud: undefined }, false],
  'no expiry': [{ ...CLAIMS, exp: undefined }, false],
  'an expiry in text': [{ ...CLAIMS, exp: String(NOW + 600) }, false],
  'an expiry that is now': [{ ...CLAIMS, exp: NOW }, false],
  'an expiry a second ago': [{ ...CLAIMS, exp: NOW - 1 }, false],
  'no key': [{ ...CLAIMS, key_hash: undefined }, false],
  'a key that is no hash': [{ ...CLAIMS, key_hash: 'sk-sluice-v1-x' }, false],
  'a key in capitals': [{ ...CLAIMS, key_hash: KEY.toUpperCase() }, false],
  'a list of keys': [{ ...CLAIMS, key_hash: [KEY] }, false],
  'a key named twice': [`{"key_hash":"${KEY}",${JSON.stringify(CLAIMS).slice(1)}`, false],
  'no object': ['[]', false],
  'no JSON': ['x', false],
}

for (const [what, [claims, good]] of Object.entries(BODIES)) {
  void test(`claims with ${what} are ${good ? 'taken' : 'refused'}`, async (t) => {
    const { tokens, signed } = await bench()
    t.equal(await tokens.keyHashOf(signed(claims)), good ? KEY : null)
  })
}

void test('what is no token of ours is refused', async (t) => {
  const { tokens, signingKeys } = await bench()
  const { token } = (await tokens.mint(GRANT))!
  const [head, body, signature] = token.split('.')
  const foreign = issuerKey('ES256', signingKeys.activeKid())
  const stranger = tokenOf({ alg: 'ES256', typ: 'at+jwt', kid: foreign.kid }, CLAIMS, foreign)
  const bad = [
    '',
    '.',
    '..',
    'a.b.c',
    `${head}.${body}`,
    `${head}.${body}.`,
    `${token}.`,
    `${token}=`,
    `${token}A`,
    ` ${token}`,
    token.slice(1),
    token.slice(0, -1),
  ]
  const refused = [...bad, `${head}.${body}.${'A'.repeat(86)}`, stranger, `${head}..${signature}`]
  for (const when of ['before', 'after']) {
    for (const each of refused) {
      t.equal(await tokens.keyHashOf(each), null, `${when} the whole one was used: ${each.slice(0, 20)}`)
    }
    t.equal(await tokens.keyHashOf(token), KEY)
  }
  t.equal(await tokens.keyHashOf('a'.repeat(100_000)), null)
  for (const alg of ['ES256', 'RS256', 'EdDSA']) {
    t.equal(await tokens.keyHashOf(goodToken(issuerKey(alg, 'k'))), null, `a subject token of ${alg}`)
  }
  t.ok(tokens.keyHashOf(stranger) instanceof Promise, 'refusals are not remembered')
})

void test('every character of a token matters, also when the token is remembered', async (t) => {
  const { tokens } = await bench()
  const { token } = (await tokens.mint(GRANT))!
  t.equal(await tokens.keyHashOf(token), KEY)
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === 'A' ? 'B' : 'A'
    if ((await tokens.keyHashOf(token.slice(0, at) + other + token.slice(at + 1))) !== null)
      t.fail(`character ${at}`)
    if ((await tokens.keyHashOf(token.slice(0, at))) !== null) t.fail(`cut at ${at}`)
  }
  t.equal(await tokens.keyHashOf(token), KEY)
})

void test('the memory is bounded and forgets what has expired', async (t) => {
  const { tokens, signed, clock } = await bench()
  const first = signed({ ...CLAIMS, n: 0 })
  t.equal(await tokens.keyHashOf(first), KEY)
  const others = Array.from({ length: 10_000 }, (_, n) => signed({ ...CLAIMS, n }))
  for (const other of others) await tokens.keyHashOf(other)
  t.equal(tokens.keyHashOf(others[0]!), KEY, 'ten thousand are remembered')
  const anew = tokens.keyHashOf(first)
  t.ok(anew instanceof Promise, 'the oldest is forgotten')
  t.equal(await anew, KEY)
  clock.advance(600_000)
  t.equal(tokens.keyHashOf(first), null)
  t.ok(tokens.keyHashOf(first) instanceof Promise, 'what has expired is forgotten')
})

void test('a remembered token is not verified again', async (t) => {
  const { signingKeys, clock } = await bench()
  let verifications = 0
  const counting = {
    edition: () => signingKeys.edition(),
    publishes: (kid: string) => signingKeys.publishes(kid),
    sign: (claims: object) => signingKeys.sign(claims),
    isSignedByKey: (kid: string, token: string) => {
      verifications++
      return signingKeys.isSignedByKey(kid, token)
    },
  }
  const tokens = new AccessTokenAuthority({ signingKeys: counting, clock, baseUrl: BASE })
  const { token } = (await tokens.mint(GRANT))!
  const first = await Promise.all(Array.from({ length: 100 }, () => tokens.keyHashOf(token)))
  t.ok(first.every((key) => key === KEY))
  t.equal(verifications, 1, 'those who come at once wait for one verification')
  for (let n = 0; n < 100; n++) t.equal(tokens.keyHashOf(token), KEY, 'at once')
  t.equal(verifications, 1)
  const forged = `${token.slice(0, token.lastIndexOf('.'))}.${'A'.repeat(86)}`
  for (let n = 0; n < 2; n++) t.equal(await tokens.keyHashOf(forged), null)
  t.equal(verifications, 3, 'a refusal is not remembered')
})

void test('a token whose signing key is dropped while it is verified is refused and not remembered', async (t) => {
  const { signingKeys, clock } = await bench()
  const verified = [gate(), gate()]
  let verifications = 0
  const slow = {
    edition: () => signingKeys.edition(),
    publishes: (kid: string) => signingKeys.publishes(kid),
    sign: (claims: object) => signingKeys.sign(claims),
    isSignedByKey: async (kid: string, token: string) => {
      const outcome = await signingKeys.isSignedByKey(kid, token)
      await verified[verifications++]?.opened
      return outcome
    },
  }
  const tokens = new AccessTokenAuthority({ signingKeys: slow, clock, baseUrl: BASE })
  const { token } = (await tokens.mint(GRANT))!
  const asked = tokens.keyHashOf(token)
  await signingKeys.drop(signingKeys.activeKid())
  clock.advance(101)
  for (const { open } of verified) open()
  t.equal(await asked, null)
  t.equal(verifications, 2, 'it was verified anew')
  t.equal(await tokens.keyHashOf(token), null)
  t.equal(verifications, 3, 'and not remembered')
})

void test('a token is refused within a tenth of a second after its signing key was dropped, remembered or not', async (t) => {
  const { signingKeys, tokens, clock, worker } = await bench()
  const { tokens: other } = worker()
  const { token } = (await tokens.mint(GRANT))!
  t.equal(await tokens.keyHashOf(token), KEY)
  await signingKeys.drop(signingKeys.activeKid())
  t.equal(await other.keyHashOf(token), null, 'by a worker that has not seen it')
  clock.advance(101)
  t.equal(await tokens.keyHashOf(token), null)
  t.ok(tokens.keyHashOf(token) instanceof Promise, 'not remembered')
  const { token: fresh } = (await tokens.mint(GRANT))!
  t.equal(await tokens.keyHashOf(fresh), KEY)
  t.equal(await other.keyHashOf(fresh), KEY)
})

void test('other tokens outlive a change of the signing keys', async (t) => {
  const { signingKeys, tokens, clock } = await bench()
  const { token } = (await tokens.mint(GRANT))!
  t.equal(await tokens.keyHashOf(token), KEY)
  await signingKeys.rotate()
  clock.advance(1000)
  t.equal(await tokens.keyHashOf(token), KEY)
  t.equal(tokens.keyHashOf(token), KEY, 'remembered')
})

void test('a longest subject of the strangest characters makes a token that fits into a header', async (t) => {
  const { tokens } = await bench()
  for (const subject of ['😀'.repeat(512), '\u0001'.repeat(512), '"'.repeat(512)]) {
    const { token } = (await tokens.mint({ ...GRANT, subject }))!
    t.ok(token.length < 8_000)
    t.equal(await tokens.keyHashOf(token), KEY)
  }
})
