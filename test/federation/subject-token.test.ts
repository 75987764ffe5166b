import { createHmac, generateKeyPairSync } from 'node:crypto'
import { test } from 'tap'
import type { ExchangeRefusal } from '../../src/federation/refusal.js'
import {
  checkClaimSizes,
  checkExpiry,
  checkNotBeforeAndIssuedAt,
  isTokenSignedBy,
  parseSubjectToken,
  type SubjectClaims,
  type SubjectToken,
} from '../../src/federation/subject-token.js'
import { type ImportedKey, VerificationKey } from '../../src/federation/verification-key.js'
import {
  AUDIENCE,
  base64url,
  claimsOf,
  claimsWithout,
  goodToken,
  headerOf,
  ISSUER,
  issuerKey,
  NOW,
  SUBJECT,
  signature,
  tokenOf,
} from '../support/data/subject-tokens.js'

const ALGORITHMS = ['RS256', 'ES256']
const KEYS = new Map(ALGORITHMS.map((alg) => [alg, issuerKey(alg, `key ${alg}`)]))
const ES = KEYS.get('ES256')!
const RS = KEYS.get('RS256')!

function parsed(text: string): SubjectToken {
  const token = parseSubjectToken(text)
  if (typeof token === 'string') throw new Error(`refused: ${token}`)
  return token
}

async function usable(jwk: unknown): Promise<ImportedKey> {
  return (await VerificationKey.read(jwk)!.import())!
}

const PUBLIC = new Map(
  await Promise.all(ALGORITHMS.map(async (alg) => [alg, await usable(KEYS.get(alg)!.jwk)] as const)),
)

function publicOf(alg: string): ImportedKey {
  return PUBLIC.get(alg)!
}

function claims(more: object = {}): SubjectClaims {
  return parsed(goodToken(ES, more)).claims
}

const withHeader = (header: unknown): string => tokenOf(header, claimsOf(), ES)
const withClaims = (of: unknown): string => tokenOf(headerOf(ES), of, ES)

for (const alg of ALGORITHMS) {
  void test(`a token signed with ${alg} is read and verified by its key, and by no other`, async (t) => {
    const token = parsed(goodToken(KEYS.get(alg)!))
    t.equal(token.alg, alg)
    t.equal(token.kid, `key ${alg}`)
    t.strictSame(token.claims, {
      issuer: ISSUER,
      subject: SUBJECT,
      audiences: [AUDIENCE],
      expiresAt: NOW + 600,
      notBefore: NOW,
      issuedAt: NOW,
      scopes: null,
      areScopesListed: false,
      tokenType: null,
    })
    for (const other of ALGORITHMS)
      t.equal(await isTokenSignedBy(token, publicOf(other)), other === alg, other)
    t.equal(await isTokenSignedBy(token, await usable(issuerKey('ES256', 'stranger').jwk)), false)
  })
}

const [HEAD = '', BODY = '', SIGNATURE = ''] = goodToken(ES).split('.')

const MALFORMED: Readonly<Record<string, readonly [string, ExchangeRefusal]>> = {
  'no text': ['', 'token-malformed'],
  'one part': [HEAD, 'token-malformed'],
  'two parts': [`${HEAD}.${BODY}`, 'token-malformed'],
  'two parts and a dot (unsecured)': [`${HEAD}.${BODY}.`, 'token-malformed'],
  'an empty header': [`.${BODY}.${SIGNATURE}`, 'token-malformed'],
  'an empty payload': [`${HEAD}..${SIGNATURE}`, 'token-malformed'],
  'four parts': [`${HEAD}.${BODY}.${SIGNATURE}.${SIGNATURE}`, 'token-malformed'],
  'five parts (encrypted)': [[HEAD, BODY, BODY, BODY, SIGNATURE].join('.'), 'token-malformed'],
  'nothing but dots': ['.'.repeat(16_384), 'token-malformed'],
  'a space before it': [` ${HEAD}.${BODY}.${SIGNATURE}`, 'token-malformed'],
  'a line feed after it': [`${HEAD}.${BODY}.${SIGNATURE}\n`, 'token-malformed'],
  padding: [`${HEAD}=.${BODY}.${SIGNATURE}`, 'token-malformed'],
  'the other alphabet': [`${HEAD}.${BODY}.${SIGNATURE.slice(0, -1)}+`, 'token-malformed'],
  'a character beyond ASCII': [`${HEAD}.${BODY}.${SIGNATURE}ü`, 'token-malformed'],
  'JSON serialization': [
    JSON.stringify({ payload: BODY, protected: HEAD, signature: SIGNATURE }),
    'token-malformed',
  ],
  'bits that do not count': [
    `${HEAD}.${BODY}.${SIGNATURE.slice(0, -1)}${nextOf(SIGNATURE.at(-1)!)}`,
    'token-encoding',
  ],
  'a part of impossible length': [`${HEAD}.${BODY}.${SIGNATURE.slice(0, 85)}`, 'token-encoding'],
  '16385 characters': [`${HEAD}.${BODY}.${SIGNATURE}`.padEnd(16_385, 'A'), 'token-too-long'],
}

/** The character whose bits differ in the last one alone. */
function nextOf(character: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return alphabet[alphabet.indexOf(character) ^ 1]!
}

const HEADERS: Readonly<Record<string, readonly [unknown, ExchangeRefusal]>> = {
  'a header that is no JSON': ['{', 'header-malformed'],
  'a header that is a list': ['[]', 'header-malformed'],
  'a header that is null': ['null', 'header-malformed'],
  'a header that names "alg" twice': ['{"alg":"ES256","alg":"ES256"}', 'header-malformed'],
  'a header that names "alg" twice, once in escapes': [
    '{"alg":"ES256","\\u0061lg":"none"}',
    'header-malformed',
  ],
  'a header with a repeated name deep inside': ['{"alg":"ES256","x":{"y":1,"y":1}}', 'header-malformed'],
  'a header in bytes that are no UTF-8': [
    Buffer.from('{"alg":"ES256","x":"\xff"}', 'latin1'),
    'header-malformed',
  ],
  'a header without "alg"': [{ typ: 'JWT' }, 'alg-missing'],
  'an "alg" that is a list': [headerOf(ES, { alg: ['ES256'] }), 'alg-missing'],
  '"alg" none': [headerOf(ES, { alg: 'none' }), 'alg-unsupported'],
  '"alg" None': [headerOf(ES, { alg: 'None' }), 'alg-unsupported'],
  '"alg" in lower case': [headerOf(ES, { alg: 'es256' }), 'alg-unsupported'],
  '"alg" HS256': [headerOf(ES, { alg: 'HS256' }), 'alg-unsupported'],
  '"alg" HS512': [headerOf(ES, { alg: 'HS512' }), 'alg-unsupported'],
  '"alg" ES256K': [headerOf(ES, { alg: 'ES256K' }), 'alg-unsupported'],
  '"alg" RSA-OAEP': [headerOf(ES, { alg: 'RSA-OAEP' }), 'alg-unsupported'],
  '"alg" constructor': [headerOf(ES, { alg: 'constructor' }), 'alg-unsupported'],
  'an empty "alg"': [headerOf(ES, { alg: '' }), 'alg-unsupported'],
  'an unknown "crit"': [headerOf(ES, { crit: ['exp'], exp: 1 }), 'crit-present'],
  'an empty "crit"': [headerOf(ES, { crit: [] }), 'crit-present'],
  'a "crit" that is null': [headerOf(ES, { crit: null }), 'crit-present'],
  'an unencoded payload': [headerOf(ES, { crit: ['b64'], b64: false }), 'crit-present'],
  '"b64" without "crit"': [headerOf(ES, { b64: true }), 'crit-present'],
  'a "kid" that is a number': [headerOf(ES, { kid: 1 }), 'kid-invalid'],
  'a "kid" that is null': [headerOf(ES, { kid: null }), 'kid-invalid'],
  'a "kid" that is a list': [headerOf(ES, { kid: ['a'] }), 'kid-invalid'],
  'a "typ" that is no text': [headerOf(ES, { typ: 1 }), 'typ-invalid'],
  '"alg" PS256': [headerOf(RS, { alg: 'PS256' }), 'alg-unsupported'],
  '"alg" RS384': [headerOf(RS, { alg: 'RS384' }), 'alg-unsupported'],
  '"alg" ES384': [headerOf(ES, { alg: 'ES384' }), 'alg-unsupported'],
  '"alg" EdDSA': [headerOf(ES, { alg: 'EdDSA' }), 'alg-unsupported'],
}

const OTHER_TYPES =
  'dpop dpop+jwt secevent+jwt secevent logout+jwt JWE JOSE JOSE+JSON oauth-authz-req+jwt token-introspection+jwt ' +
  'x+at+jwt at+jwt+x application/application/jwt text/jwt jwt;x=1 at+jwt;x at at+ +jwt application/ JWT, ſjwt'
for (const typ of [...OTHER_TYPES.split(' '), '', ' JWT', 'JWT ', 'JWT\n', 'at+jwt\u0000']) {
  void test(`the type ${JSON.stringify(typ)} is of another purpose`, async (t) => {
    t.equal(parseSubjectToken(withHeader(headerOf(ES, { typ }))), 'typ-other-purpose')
  })
}

const CLAIMS: Readonly<Record<string, readonly [unknown, ExchangeRefusal]>> = {
  'claims that are no JSON': ['no', 'claims-malformed'],
  'claims that are a text': ['"x"', 'claims-malformed'],
  'claims that name "sub" twice': [`{"sub":"a",${JSON.stringify(claimsOf()).slice(1)}`, 'claims-malformed'],
  'claims with a byte order mark': [`\ufeff${JSON.stringify(claimsOf())}`, 'claims-malformed'],
  'claims in a nested token': [goodToken(ES), 'claims-malformed'],
  'no "iss"': [claimsWithout('iss'), 'iss-invalid'],
  'an "iss" that is a list': [claimsOf({ iss: [ISSUER] }), 'iss-invalid'],
  'an "iss" that is null': [claimsOf({ iss: null }), 'iss-invalid'],
  'no "sub"': [claimsWithout('sub'), 'sub-invalid'],
  'an empty "sub"': [claimsOf({ sub: '' }), 'sub-invalid'],
  'a "sub" that is a list': [claimsOf({ sub: [SUBJECT] }), 'sub-invalid'],
  'a "sub" that is a number': [claimsOf({ sub: 1 }), 'sub-invalid'],
  'a "sub" with half a character': [
    `{"sub":"\\ud800",${JSON.stringify(claimsWithout('sub')).slice(1)}`,
    'sub-invalid',
  ],
  'no "aud"': [claimsWithout('aud'), 'aud-invalid'],
  'an empty list for "aud"': [claimsOf({ aud: [] }), 'aud-invalid'],
  'an "aud" that is null': [claimsOf({ aud: null }), 'aud-invalid'],
  'an "aud" that is an object': [claimsOf({ aud: { 0: AUDIENCE } }), 'aud-invalid'],
  'an "aud" with a number in it': [claimsOf({ aud: [AUDIENCE, 1] }), 'aud-invalid'],
  'an "aud" with a list in it': [claimsOf({ aud: [[AUDIENCE]] }), 'aud-invalid'],
  'no "exp"': [claimsWithout('exp'), 'exp-invalid'],
  'an "exp" that is a text': [claimsOf({ exp: String(NOW + 600) }), 'exp-invalid'],
  'an "exp" that is null': [claimsOf({ exp: null }), 'exp-invalid'],
  'an "exp" that is a list': [claimsOf({ exp: [NOW + 600] }), 'exp-invalid'],
  'an "exp" beyond all numbers': [
    JSON.stringify(claimsOf()).replace(/"exp":\d+/, '"exp":1e400'),
    'exp-invalid',
  ],
  'an "nbf" that is a text': [claimsOf({ nbf: '1' }), 'nbf-invalid'],
  'an "nbf" that is null': [claimsOf({ nbf: null }), 'nbf-invalid'],
  'an "iat" that is a text': [claimsOf({ iat: '1' }), 'iat-invalid'],
  'an "iat" that is true': [claimsOf({ iat: true }), 'iat-invalid'],
  '"scopes" in one text': [claimsOf({ scopes: 'read write' }), 'scopes-invalid'],
  '"scopes" with a number in it': [claimsOf({ scopes: ['read', 1] }), 'scopes-invalid'],
  '"scopes" that is null': [claimsOf({ scopes: null }), 'scopes-invalid'],
  '"scopes" that is an object': [claimsOf({ scopes: { read: true } }), 'scopes-invalid'],
  'claims that are inherited': ['{"__proto__":{"iss":"a","sub":"b"}}', 'iss-invalid'],
}

for (const [what, [text, refusal]] of Object.entries(MALFORMED)) {
  void test(`${what}: refused as ${refusal}`, async (t) => {
    t.equal(parseSubjectToken(text), refusal)
  })
}
for (const [what, [header, refusal]] of Object.entries(HEADERS)) {
  void test(`${what}: refused as ${refusal}`, async (t) => {
    t.equal(parseSubjectToken(withHeader(header)), refusal)
  })
}
for (const [what, [of, refusal]] of Object.entries(CLAIMS)) {
  void test(`${what}: refused as ${refusal}`, async (t) => {
    t.equal(parseSubjectToken(withClaims(of)), refusal)
  })
}

void test('what a token may leave out, add, or say in its own way', async (t) => {
  t.equal(parsed(withHeader({ alg: 'ES256' })).kid, null)
  t.equal(parsed(withHeader({ alg: 'ES256', kid: '' })).kid, '')
  const types = ['JWT', 'jwt', 'application/jwt', 'Application/JWT', 'at+jwt', 'AT+JWT', 'application/at+jwt']
  for (const typ of types) t.ok(parsed(withHeader(headerOf(ES, { typ }))), typ)
  t.strictSame(claims({ aud: ['b', AUDIENCE] }).audiences, ['b', AUDIENCE])
  t.strictSame(claims({ scopes: [] }).scopes, [])
  t.equal(claims({ token_type: 'access' }).tokenType, 'access')
  t.equal(claims({ token_type: 7 }).tokenType, null)
  t.equal(claims({ exp: NOW + 0.5 }).expiresAt, NOW + 0.5)
  t.equal(parsed(withClaims(claimsWithout('nbf'))).claims.notBefore, null)
  t.equal(parsed(withClaims(claimsWithout('iat'))).claims.issuedAt, null)
})

void test('a token of exactly 16384 characters is looked at', async (t) => {
  const bare = goodToken(ES, { pad: '' }).length
  for (let pad = Math.floor(((16_384 - bare) * 3) / 4) - 3; ; pad++) {
    const token = goodToken(ES, { pad: 'x'.repeat(pad) })
    if (token.length < 16_384) continue
    t.equal(token.length, 16_384)
    t.type(parseSubjectToken(token), 'object')
    break
  }
})

void test('keys that a token brings along or points to change nothing', async (t) => {
  const attacker = issuerKey('ES256', ES.kid)
  const pointers = {
    jwk: attacker.jwk,
    jku: 'https://evil.example/keys',
    x5u: 'https://evil.example/c',
    x5c: ['MII'],
  }
  const forged = parsed(tokenOf(headerOf(ES, pointers), claimsOf(), attacker))
  t.equal(await isTokenSignedBy(forged, publicOf('ES256')), false)
  t.equal(
    await isTokenSignedBy(parsed(tokenOf(headerOf(ES, pointers), claimsOf(), ES)), publicOf('ES256')),
    true,
  )
})

void test('a public key is never a secret of HMAC, in none of its spellings', async (t) => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
  for (const secret of [pem, `\n${pem}`, JSON.stringify(RS.jwk), RS.jwk.n as string]) {
    for (const alg of ['HS256', 'RS256']) {
      const signed = `${base64url(headerOf(RS, { alg }))}.${base64url(claimsOf())}`
      const token = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
      const read = parseSubjectToken(token)
      t.equal(
        typeof read === 'string' ? read : await isTokenSignedBy(read, publicOf('RS256')),
        alg === 'HS256' ? 'alg-unsupported' : false,
      )
    }
  }
})

const zeros = Buffer.alloc(32)
const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')
const genuine = signature('ES256', ES.privateKey, `${HEAD}.${BODY}`)

const SIGNATURES: Readonly<Record<string, Buffer>> = {
  'r and s zero': Buffer.concat([zeros, zeros]),
  'r zero': Buffer.concat([zeros, genuine.subarray(32)]),
  's zero': Buffer.concat([genuine.subarray(0, 32), zeros]),
  'r and s the order of the group': Buffer.concat([order, order]),
  'r zero, s the order': Buffer.concat([zeros, order]),
  'all bits set': Buffer.alloc(64, 0xff),
  'a zero before': Buffer.concat([Buffer.of(0), genuine]),
  'a zero after': Buffer.concat([genuine, Buffer.of(0)]),
  'only r': genuine.subarray(0, 32),
  'one byte': Buffer.of(1),
  'r and s exchanged': Buffer.concat([genuine.subarray(32), genuine.subarray(0, 32)]),
  DER: der(genuine),
}

function der(raw: Buffer): Buffer {
  const integer = (bytes: Buffer): Buffer => {
    const positive = bytes[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes
    return Buffer.concat([Buffer.of(2, positive.length), positive])
  }
  const both = Buffer.concat([integer(raw.subarray(0, 32)), integer(raw.subarray(32))])
  return Buffer.concat([Buffer.of(0x30, both.length), both])
}

for (const [what, bytes] of Object.entries(SIGNATURES)) {
  void test(`a signature of ES256 with ${what} is false`, async (t) => {
    const token = parsed(`${HEAD}.${BODY}.${bytes.toString('base64url')}`)
    t.equal(await isTokenSignedBy(token, publicOf('ES256')), false)
  })
}

void test('a signature over other claims, another header, or nothing is false', async (t) => {
  const other = goodToken(ES, { sub: 'other' }).split('.')
  t.equal(await isTokenSignedBy(parsed(`${HEAD}.${other[1]}.${SIGNATURE}`), publicOf('ES256')), false)
  t.equal(
    await isTokenSignedBy(parsed(`${base64url({ alg: 'ES256' })}.${BODY}.${SIGNATURE}`), publicOf('ES256')),
    false,
  )
  t.equal(await isTokenSignedBy(parsed(`${HEAD}.${BODY}.${other[2]}`), publicOf('ES256')), false)
})

const EXPIRIES: readonly (readonly [exp: number, now: number, ExchangeRefusal | null])[] = [
  [NOW + 1, NOW, null],
  [NOW + 1, NOW + 0.9, null],
  [NOW, NOW, 'expired'],
  [NOW - 1, NOW, 'expired'],
  [NOW, NOW + 0.001, 'expired'],
  [NOW + 1.5, NOW + 0.2, null],
  [NOW + 0.5, NOW + 0.5, 'expired'],
  [NOW + 0.5, NOW + 0.4, 'token-too-short-lived'],
  [0, NOW, 'expired'],
  [-1, NOW, 'expired'],
  [1e300, NOW, null],
]

void test('on or after "exp" a token has expired, without leeway', async (t) => {
  for (const [exp, now, refusal] of EXPIRIES)
    t.equal(checkExpiry(claims({ exp }), now), refusal, `${exp} ${now}`)
})

void test('"nbf" and "iat" may lie ahead by the leeway and no more', async (t) => {
  t.equal(checkNotBeforeAndIssuedAt(claims({ nbf: NOW + 60, iat: NOW + 60 }), NOW), null)
  t.equal(checkNotBeforeAndIssuedAt(claims({ nbf: NOW + 61 }), NOW), 'not-yet-valid')
  t.equal(checkNotBeforeAndIssuedAt(claims({ nbf: NOW + 60.001 }), NOW), 'not-yet-valid')
  t.equal(checkNotBeforeAndIssuedAt(claims({ iat: NOW + 61 }), NOW), 'issued-in-future')
  t.equal(checkNotBeforeAndIssuedAt(claims({ nbf: 0, iat: 0 }), NOW), null)
})

void test('sizes are counted in code points', async (t) => {
  const most = '😀'.repeat(512)
  t.equal(
    checkClaimSizes(
      claims({ sub: most, aud: [most, most], scopes: Array(16).fill(most.slice(0, 20)) }),
      true,
    ),
    null,
  )
  t.equal(checkClaimSizes(claims({ sub: `${most}a` }), true), 'sub-too-long')
  t.equal(checkClaimSizes(claims({ sub: 'a'.repeat(512) }), true), null)
  t.equal(checkClaimSizes(claims({ sub: 'a'.repeat(513) }), true), 'sub-too-long')
  t.equal(checkClaimSizes(claims({ sub: 'a'.repeat(5_000) }), true), 'sub-too-long')
  t.equal(checkClaimSizes(claims({ aud: ['a', 'a'.repeat(513)] }), true), 'aud-too-long')
  t.equal(checkClaimSizes(claims({ scopes: Array(17).fill('a') }), true), 'scopes-too-many')
  t.equal(checkClaimSizes(claims({ scopes: ['a'.repeat(513)] }), true), 'scopes-too-long')
  t.equal(checkClaimSizes(claims({ scopes: Array(17).fill('a') }), false), 'scopes-too-many')
})

void test('the words of "scope" are scopes where there is no list; their sizes matter to those who look', async (t) => {
  t.strictSame(claims({ scope: ' read  write' }).scopes, ['read', 'write'])
  t.strictSame(claims({ scope: '' }).scopes, [])
  t.strictSame(claims({ scope: 'read', scopes: [] }).scopes, [])
  for (const scope of [7, null, ['read'], '\ud800']) t.equal(claims({ scope }).scopes, null)
  const many = claims({ scope: 'a '.repeat(17) })
  t.equal(checkClaimSizes(many, true), 'scopes-too-many')
  t.equal(checkClaimSizes(many, false), null)
})
