/** Public keys of an issuer: from JSON to imported keys, once (RFC 7517, RFC 7518 section 6, RFC 8037). */
import { type CryptoKey, importJWK } from 'jose'
import { isObject, type JsonObject, ownMember } from '../base/strict-json.js'

export interface VerificationKey {
  /** Case-sensitive; null when the issuer gave it none. */
  readonly kid: string | null
  /** What the key verifies, and with what. Decided by the key alone; a token can only choose among these. */
  readonly algorithms: ReadonlyMap<string, CryptoKey>
}

const RSA_PKCS1 = ['RS256', 'RS384', 'RS512']
const RSA_PSS = ['PS256', 'PS384', 'PS512']
/** The second is the fully specified name of the same thing (RFC 9864). */
const EDWARDS = ['EdDSA', 'Ed25519']
/** One algorithm per curve. */
const ALGORITHMS_OF_CURVE: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: EDWARDS,
}

/**
 * The signature algorithms of subject tokens (RFC 7518 section 3.1, RFC 8037); names are case-sensitive. None of them
 * is symmetric.
 */
export const SUBJECT_TOKEN_ALGORITHMS: ReadonlySet<string> = new Set([
  ...RSA_PKCS1,
  ...RSA_PSS,
  ...Object.values(ALGORITHMS_OF_CURVE).flat(),
])

const LEAST_RSA_BITS = 2048
/** Larger keys cost a thread more than a millisecond per signature, and are not in use anywhere. */
const MOST_RSA_BITS = 8192
const LARGEST_EXPONENT = 2n ** 32n

/** `jwt-svid` is how a SPIFFE bundle says `sig` (SPIFFE trust domain and bundle, section 4.2.2). */
const SIGNATURE_USES: readonly unknown[] = [undefined, 'sig', 'jwt-svid']

/**
 * The key a member of a key set stands for; null when it is of no use to us: a set may hold anything. Never
 * rejects.
 */
export async function importVerificationKey(jwk: unknown): Promise<VerificationKey | null> {
  if (!isObject(jwk) || !isSignatureKey(jwk)) return null
  const kid = ownMember(jwk, 'kid')
  if (kid !== undefined && typeof kid !== 'string') return null
  const algorithms = new Map<string, CryptoKey>()
  for (const name of algorithmsOfJwk(jwk)) {
    const key = await importPublicKey(jwk, name)
    if (key === null || !isStrongEnoughKey(key)) return null
    algorithms.set(name, key)
  }
  return algorithms.size === 0 ? null : { kid: kid ?? null, algorithms }
}

function isSignatureKey(jwk: JsonObject): boolean {
  const operations = ownMember(jwk, 'key_ops')
  const verifies = operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  return verifies && SIGNATURE_USES.includes(ownMember(jwk, 'use'))
}

/** What its kind allows, narrowed by its own `alg`. An RSA key that says nothing is for PKCS #1, as is usual. */
function algorithmsOfJwk(jwk: JsonObject): readonly string[] {
  const alg = ownMember(jwk, 'alg')
  const possible = algorithmsOfKeyType(jwk)
  if (alg === undefined) return possible.filter((name) => !RSA_PSS.includes(name))
  return possible.filter(
    (name) => name === alg || (EDWARDS.includes(name) && EDWARDS.includes(alg as string)),
  )
}

function algorithmsOfKeyType(jwk: JsonObject): readonly string[] {
  const kty = ownMember(jwk, 'kty')
  if (kty === 'RSA') return [...RSA_PKCS1, ...RSA_PSS]
  const curve = ownMember(jwk, 'crv')
  if (typeof curve !== 'string' || !Object.hasOwn(ALGORITHMS_OF_CURVE, curve)) return []
  return kty === (curve === 'Ed25519' ? 'OKP' : 'EC') ? ALGORITHMS_OF_CURVE[curve]! : []
}

const PUBLIC_MEMBERS = ['crv', 'n', 'e', 'x', 'y']

/** Only the public members count, so that a set which gives away private ones is no private key here. */
async function importPublicKey(jwk: JsonObject, algorithm: string): Promise<CryptoKey | null> {
  const key: Record<string, unknown> = {}
  for (const name of PUBLIC_MEMBERS) if (Object.hasOwn(jwk, name)) key[name] = jwk[name]
  try {
    return (await importJWK({ ...key, kty: ownMember(jwk, 'kty') as string }, algorithm)) as CryptoKey
  } catch {
    return null // not on the curve, not base64url, missing
  }
}

function isStrongEnoughKey(key: CryptoKey): boolean {
  // Only an RSA key has these; the exponent is big-endian.
  const { modulusLength, publicExponent } = key.algorithm as {
    readonly modulusLength?: number
    readonly publicExponent?: Uint8Array
  }
  if (modulusLength === undefined || publicExponent === undefined) return true
  if (modulusLength < LEAST_RSA_BITS || modulusLength > MOST_RSA_BITS) return false
  const exponent = BigInt(`0x0${Buffer.from(publicExponent).toString('hex')}`)
  return exponent >= 3n && exponent % 2n === 1n && exponent < LARGEST_EXPONENT
}
