/**
 * Work for refusals that come before a signature is checked: without it, how long an answer takes would tell a policy
 * that exists from one that does not.
 */
import { randomBytes } from 'node:crypto'
import { type CryptoKey, generateKeyPair, importJWK } from 'jose'
import { isCompactJws, isJwsSignedWith } from '../identity/compact-jws.js'
import { isSubjectTokenAlgorithm, type SubjectTokenAlgorithm } from './verification-key.js'

const CLAIMS = 'x'.repeat(1_000)

/** A token with a random signature, and a public key without a private one. */
interface UnverifiableToken {
  readonly token: string
  readonly key: CryptoKey
}

/** Verifies a random signature in place of the token's own, which was refused before. */
export class TimingEqualizer {
  /** By algorithm. */
  private readonly tokens = new Map<SubjectTokenAlgorithm, Promise<UnverifiableToken>>()

  /** Does what a verification of that token would cost, judged by the algorithm it names. */
  async spendVerificationTime(token: string): Promise<void> {
    const alg = isCompactJws(token) ? readNamedAlgorithm(token) : 'ES256'
    let forgery = this.tokens.get(alg)
    if (forgery === undefined) {
      forgery = createUnverifiableToken(alg)
      this.tokens.set(alg, forgery)
    }
    const { token: forged, key } = await forgery
    await isJwsSignedWith(forged, key)
  }
}

async function createUnverifiableToken(alg: SubjectTokenAlgorithm): Promise<UnverifiableToken> {
  const key = alg === 'RS256' ? await createFakeRsaKey() : (await generateKeyPair(alg)).publicKey
  const header = Buffer.from(JSON.stringify({ alg })).toString('base64url')
  return { token: `${header}.${CLAIMS}.${fakeSignature(alg).toString('base64url')}`, key }
}

function fakeSignature(alg: SubjectTokenAlgorithm): Buffer {
  return alg === 'RS256' ? Buffer.concat([Buffer.of(0), randomBytes(255)]) : Buffer.alloc(64, 1)
}

/**
 * Any odd number of the right size costs as much as a true modulus, and finding primes would take a tenth of a
 * second.
 */
async function createFakeRsaKey(): Promise<CryptoKey> {
  const n = randomBytes(256)
  n[0] = 0xff
  n[255] = 0x01
  return (await importJWK({ kty: 'RSA', n: n.toString('base64url'), e: 'AQAB' }, 'RS256')) as CryptoKey
}

const ALG = /"alg"\s*:\s*"([A-Za-z0-9]{1,10})"/

function readNamedAlgorithm(token: string): SubjectTokenAlgorithm {
  const header = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('latin1')
  const name = ALG.exec(header)?.[1] ?? ''
  return isSubjectTokenAlgorithm(name) ? name : 'ES256'
}
