/**
 * Work for refusals that come before a signature is checked: without it, how long an answer takes would tell a policy
 * that exists from one that does not.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { looksCompact } from '../identity/compact-jws.js'
import { jwsAlgorithm } from './jws-algorithm.js'

const SIGNED = 'x'.repeat(1_000)
const CURVES = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const
const EC_BYTES = { ES256: 64, ES384: 96, ES512: 132 } as const

/** Checks a signature nobody made, with a key nobody has. */
export class Decoy {
  private readonly keys = new Map<string, KeyObject>()
  private readonly rsaSignature = Buffer.concat([Buffer.of(0), randomBytes(255)])

  /** Does what a verification of that token would cost, judged by the algorithm it names. */
  check(token: string): void {
    const name = looksCompact(token) ? namedAlgorithm(token) : 'ES256'
    jwsAlgorithm(name)!.verify(this.keyFor(name), SIGNED, this.signatureFor(name))
  }

  private keyFor(name: string): KeyObject {
    let key = this.keys.get(name)
    if (key === undefined) {
      key = newKey(name)
      this.keys.set(name, key)
    }
    return key
  }

  private signatureFor(name: string): Buffer {
    const bytes = EC_BYTES[name as keyof typeof EC_BYTES]
    if (bytes !== undefined) return Buffer.alloc(bytes, 1)
    return name.startsWith('Ed') ? Buffer.alloc(64, 1) : this.rsaSignature
  }
}

function newKey(name: string): KeyObject {
  const curve = CURVES[name as keyof typeof CURVES]
  if (curve !== undefined) return generateKeyPairSync('ec', { namedCurve: curve }).publicKey
  if (name.startsWith('Ed')) return generateKeyPairSync('ed25519').publicKey
  return numberWithoutFactors()
}

/** Any odd number of the right size costs as much as a true modulus, and finding primes would take a tenth of a second. */
function numberWithoutFactors(): KeyObject {
  const n = randomBytes(256)
  n[0] = 0xff
  n[255] = 0x01
  return createPublicKey({ key: { kty: 'RSA', n: n.toString('base64url'), e: 'AQAB' }, format: 'jwk' })
}

const ALG = /"alg"\s*:\s*"([A-Za-z0-9]{1,10})"/

function namedAlgorithm(token: string): string {
  const header = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('latin1')
  const name = ALG.exec(header)?.[1] ?? ''
  return jwsAlgorithm(name) === undefined ? 'ES256' : name
}
