import { generateKeyPairSync } from 'node:crypto'
import { test } from 'tap'
import { type ImportedKey, VerificationKey } from '../../src/federation/verification-key.js'
import { issuerKey } from '../support/data/subject-tokens.js'

const { alg: _ra, use: _ru, kid: _rk, ...rsa } = issuerKey('RS256', 'r').jwk
const { alg: _ea, use: _eu, kid: _ek, ...p256 } = issuerKey('ES256', 'e').jwk

/** The key of a member of a set, as it is used. */
async function imported(jwk: unknown): Promise<ImportedKey | null> {
  return (await VerificationKey.read(jwk)?.import()) ?? null
}

const PINNED: Readonly<Record<string, readonly [object, 'RS256' | 'ES256']>> = {
  'an RSA key without algorithm': [rsa, 'RS256'],
  'an RSA key for RS256': [{ ...rsa, alg: 'RS256' }, 'RS256'],
  'a key on P-256': [p256, 'ES256'],
  'a key on P-256 for ES256': [{ ...p256, alg: 'ES256' }, 'ES256'],
  'a key with uses': [{ ...p256, use: 'sig', key_ops: ['verify'] }, 'ES256'],
  'a key of a SPIFFE bundle': [{ ...p256, use: 'jwt-svid' }, 'ES256'],
  'a key that nobody has named': [{ ...p256, x5c: ['MII'], ext: true }, 'ES256'],
  'a key with a long name': [{ ...p256, kid: 'k'.repeat(16_384) }, 'ES256'],
}

for (const [what, [jwk, alg]] of Object.entries(PINNED)) {
  void test(what, async (t) => t.match(await imported(jwk), { alg, key: { type: 'public' } }))
}

void test('a key is imported once, and weighs more when its name is long', async (t) => {
  const key = VerificationKey.read(p256)!
  t.equal(await key.import(), await key.import())
  t.equal(key.weight, 1)
  t.equal(VerificationKey.read({ ...p256, kid: 'k'.repeat(16_384) })!.weight, 9)
})

const small = issuerKey('RS256', 's', 1024).jwk
const secp = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' })
const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' })
const ed448 = generateKeyPairSync('ed448').publicKey.export({ format: 'jwk' })

const USELESS: Readonly<Record<string, unknown>> = {
  'a text': 'key',
  null: null,
  'a list': [],
  'an empty object': {},
  'a secret': { kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' },
  'a secret that calls itself RS256': { kty: 'oct', k: 'c2VjcmV0', alg: 'RS256', kid: 'a' },
  'an RSA key of 1024 bits': small,
  'an RSA key of 16384 bits': { kty: 'RSA', n: Buffer.alloc(2048, 0xff).toString('base64url'), e: 'AQAB' },
  'an RSA key with an even exponent': { ...rsa, e: 'BA' },
  'an RSA key with the exponent 1': { ...rsa, e: 'AQ' },
  'an RSA key with the exponent 0': { ...rsa, e: 'AA' },
  'an RSA key with an empty exponent': { ...rsa, e: '' },
  'an RSA key with a huge exponent': { ...rsa, e: Buffer.alloc(200, 0xff).toString('base64url') },
  'an RSA key for HMAC': { ...rsa, alg: 'HS256' },
  'an RSA key for none': { ...rsa, alg: 'none' },
  'an RSA key for ES256': { ...rsa, alg: 'ES256' },
  'an RSA key for RS384': { ...rsa, alg: 'RS384' },
  'an RSA key for PS256': { ...rsa, alg: 'PS256' },
  'a key on P-384': issuerKey('ES384', 'x').jwk,
  'a key on P-521': issuerKey('ES512', 'x').jwk,
  'a key on Ed25519': issuerKey('EdDSA', 'x').jwk,
  'a key whose name no token can say': { ...p256, kid: 'k'.repeat(16_385) },
  'an RSA key for encryption': { ...rsa, use: 'enc' },
  'an RSA key for wrapping': { ...rsa, alg: 'RSA-OAEP' },
  'an RSA key whose algorithm is a list': { ...rsa, alg: ['RS256'] },
  'an RSA key without its modulus': { kty: 'RSA', e: 'AQAB' },
  'an RSA key whose modulus is a number': { ...rsa, n: 17 },
  'a key that may not verify': { ...p256, key_ops: ['encrypt'] },
  'a key whose operations are a text': { ...p256, key_ops: 'verify' },
  'a key whose use is null': { ...p256, use: null },
  'a key whose name is a number': { ...p256, kid: 1 },
  'a key on P-256 for ES384': { ...p256, alg: 'ES384' },
  'a key beside its curve': { ...p256, y: p256.x },
  'a key on secp256k1': secp,
  'a key on P-256 that calls itself OKP': { ...p256, kty: 'OKP' },
  'a key for X25519': x25519,
  'a key for Ed448': ed448,
  'a key on a curve called constructor': { ...p256, crv: 'constructor' },
  'a key whose kind is unknown': { ...p256, kty: 'AKP' },
}

for (const [what, jwk] of Object.entries(USELESS)) {
  void test(`${what} is skipped`, async (t) => {
    t.equal(await imported(jwk), null)
  })
}

void test('a private key that an issuer gives away is taken for its public half', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = await imported(privateKey.export({ format: 'jwk' }))
  t.equal(key?.key.type, 'public')
})
