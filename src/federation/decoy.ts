/**
 * Work for refusals that come before a signature is checked: without it, how long an answer takes would tell a policy
 * that exists from one that does not.
 */
import { randomBytes } from 'node:crypto'
import { type CryptoKey, generateKeyPair, importJWK } from 'jose'
import { isSignedWith, looksCompact } from '../identity/compact-jws.js'
import { ALGORITHMS } from './verification-key.js'

const CLAIMS = 'x'.repeat(1_000)
const EC_BYTES = { ES256: 64, ES384: 96, ES512: 132 } as const

/** A token that nobody signed, and a key that nobody has. */
interface Forgery {
  readonly token: string
  readonly key: CryptoKey
}

/** Checks a signature nobody made, with a key nobody has. */
export class Decoy {
  /** By algorithm. */
  private readonly forgeries = new Map<string, Promise<Forgery>>()

  /** Does what a verification of that token would cost, judged by the algorithm it names. */
  async check(token: string): Promise<void> {
    const alg = looksCompact(token) ? namedAlgorithm(token) : 'ES256'
    let forgery = this.forgeries.get(alg)
    if (forgery === undefined) {
      forgery = forge(alg)
      this.forgeries.set(alg, forgery)
    }
    const { token: forged, key } = await forgery
    await isSignedWith(forged, key)
  }
}

async function forge(alg: string): Promise<Forgery> {
  const key = isOfRsa(alg) ? await numberWithoutFactors(alg) : (await generateKeyPair(alg)).publicKey
  const header = Buffer.from(JSON.stringify({ alg })).toString('base64url')
  return { token: `${header}.${CLAIMS}.${signatureFor(alg).toString('base64url')}`, key }
}

function isOfRsa(alg: string): boolean {
  return alg.startsWith('RS') || alg.startsWith('PS')
}

function signatureFor(alg: string): Buffer {
  if (isOfRsa(alg)) return Buffer.concat([Buffer.of(0), randomBytes(255)])
  return Buffer.alloc(EC_BYTES[alg as keyof typeof EC_BYTES] ?? 64, 1)
}

/** Any odd number of the right size costs as much as a true modulus, and finding primes would take a tenth of a second. */
async function numberWithoutFactors(alg: string): Promise<CryptoKey> {
  const n = randomBytes(256)
  n[0] = 0xff
  n[255] = 0x01
  return (await importJWK({ kty: 'RSA', n: n.toString('base64url'), e: 'AQAB' }, alg)) as CryptoKey
}

const ALG = /"alg"\s*:\s*"([A-Za-z0-9]{1,10})"/

function namedAlgorithm(token: string): string {
  const header = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('latin1')
  const name = ALG.exec(header)?.[1] ?? ''
  return ALGORITHMS.has(name) ? name : 'ES256'
}
