/** Public keys of an issuer: from JSON to key objects, once (RFC 7517, RFC 7518 section 6, RFC 8037). */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isObject, type JsonObject, member } from '../base/strict-json.js'
import { type JwsAlgorithm, jwsAlgorithm } from './jws-algorithm.js'

export interface VerificationKey {
  /** Case-sensitive; null when the issuer gave it none. */
  readonly kid: string | null
  /** What the key verifies. Decided by the key alone; a token can only choose among these. */
  readonly algorithms: ReadonlyMap<string, JwsAlgorithm>
  readonly key: KeyObject
}

const RSA_PKCS1 = ['RS256', 'RS384', 'RS512']
const RSA_PSS = ['PS256', 'PS384', 'PS512']
const EDWARDS = ['EdDSA', 'Ed25519']
/** One algorithm per curve. */
const OF_CURVE: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: EDWARDS,
}

const LEAST_RSA_BITS = 2048
/** Larger ones cost the loop more than a millisecond and are used by nobody. */
const MOST_RSA_BITS = 8192
const LARGEST_EXPONENT = 2n ** 32n

/** `jwt-svid` is how a SPIFFE bundle says `sig` (SPIFFE trust domain and bundle, section 4.2.2). */
const SIGNATURE_USES: readonly unknown[] = [undefined, 'sig', 'jwt-svid']

/** The key a member of a key set stands for; null when it is of no use to us: a set may hold anything. */
export function verificationKey(jwk: unknown): VerificationKey | null {
  if (!isObject(jwk) || !isForSignatures(jwk)) return null
  const kid = member(jwk, 'kid')
  const names = algorithmsOf(jwk)
  if ((kid !== undefined && typeof kid !== 'string') || names.length === 0) return null
  const key = publicKey(jwk)
  if (key === null || !isStrongEnough(key)) return null
  return { kid: kid ?? null, algorithms: new Map(names.map((name) => [name, jwsAlgorithm(name)!])), key }
}

function isForSignatures(jwk: JsonObject): boolean {
  const operations = member(jwk, 'key_ops')
  const verifies = operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  return verifies && SIGNATURE_USES.includes(member(jwk, 'use'))
}

/** What its kind allows, narrowed by its own `alg`. An RSA key that says nothing is for PKCS #1, as is usual. */
function algorithmsOf(jwk: JsonObject): readonly string[] {
  const alg = member(jwk, 'alg')
  const possible = algorithmsOfKind(jwk)
  if (alg === undefined) return possible.filter((name) => !RSA_PSS.includes(name))
  return possible.filter(
    (name) => name === alg || (EDWARDS.includes(name) && EDWARDS.includes(alg as string)),
  )
}

function algorithmsOfKind(jwk: JsonObject): readonly string[] {
  const kty = member(jwk, 'kty')
  if (kty === 'RSA') return [...RSA_PKCS1, ...RSA_PSS]
  const curve = member(jwk, 'crv')
  if (typeof curve !== 'string' || !Object.hasOwn(OF_CURVE, curve)) return []
  return kty === (curve === 'Ed25519' ? 'OKP' : 'EC') ? OF_CURVE[curve]! : []
}

const PUBLIC_MEMBERS = ['kty', 'crv', 'n', 'e', 'x', 'y']

/** Only the public members count, so that a set which gives away private ones is no private key here. */
function publicKey(jwk: JsonObject): KeyObject | null {
  const key: Record<string, unknown> = {}
  for (const name of PUBLIC_MEMBERS) if (Object.hasOwn(jwk, name)) key[name] = jwk[name]
  try {
    return createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
  } catch {
    return null // not on the curve, not base64url, missing
  }
}

function isStrongEnough(key: KeyObject): boolean {
  if (key.asymmetricKeyType !== 'rsa') return true
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < LEAST_RSA_BITS || modulusLength > MOST_RSA_BITS) return false
  return publicExponent >= 3n && publicExponent % 2n === 1n && publicExponent < LARGEST_EXPONENT
}
