/** Tokens and keys that `jose` has made: every algorithm that is taken, from its key set to the signature. */
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type Test, test } from 'tap'
import { isTokenSignedBy, parseSubjectToken, type SubjectToken } from '../../src/federation/subject-token.js'
import { type ImportedKey, VerificationKey } from '../../src/federation/verification-key.js'
import { NOW } from '../support/data/subject-tokens.js'

const ALGORITHMS = ['RS256', 'ES256']

function read(token: string): SubjectToken {
  const parsed = parseSubjectToken(token)
  if (typeof parsed === 'string') throw new Error(parsed)
  return parsed
}

async function published(publicKey: CryptoKey, alg: string): Promise<ImportedKey> {
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg, use: 'sig' }
  return (await VerificationKey.read(jwk)!.import())!
}

function signed(alg: string, privateKey: CryptoKey, subject: string): Promise<string> {
  return new SignJWT({ scopes: ['deploy'], token_type: 'id' })
    .setProtectedHeader({ alg, kid: 'k', typ: 'JWT' })
    .setIssuer('https://ci.example')
    .setSubject(subject)
    .setAudience(['sluice', 'other'])
    .setIssuedAt(NOW)
    .setExpirationTime(NOW + 600)
    .sign(privateKey)
}

for (const alg of ALGORITHMS) {
  void test(`${alg}: a token of jose is read and verified with the key it has exported`, async (t: Test) => {
    const [{ publicKey, privateKey }, stranger] = await Promise.all([
      generateKeyPair(alg, { extractable: true }),
      generateKeyPair(alg, { extractable: true }),
    ])
    const token = read(await signed(alg, privateKey, 'repo:octo/app'))
    t.match(token, { alg, kid: 'k' })
    t.strictSame(token.claims, {
      issuer: 'https://ci.example',
      subject: 'repo:octo/app',
      audiences: ['sluice', 'other'],
      expiresAt: NOW + 600,
      notBefore: null,
      issuedAt: NOW,
      scopes: ['deploy'],
      areScopesListed: true,
      tokenType: 'id',
    })
    const key = await published(publicKey, alg)
    t.equal(await isTokenSignedBy(token, key), true)
    t.equal(await isTokenSignedBy(token, await published(stranger.publicKey, alg)), false)
    const other = read(await signed(alg, privateKey, 'repo:octo/other'))
    const [header, claims] = token.text.split('.')
    const [, , signature] = other.text.split('.')
    t.equal(await isTokenSignedBy(read(`${header}.${claims}.${signature}`), key), false)
  })
}
