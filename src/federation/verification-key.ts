/** Public keys of an issuer, imported when the first token asks for them (RFC 7517, RFC 7518 section 6). */
import { type CryptoKey, importJWK } from 'jose'
import type { MaybePromise } from '../base/maybe-promise.js'
import { isObject, type JsonObject, ownMember } from '../base/strict-json.js'

/** The signature algorithms of subject tokens (contract/decisions 52); names are case-sensitive. */
export type SubjectTokenAlgorithm = 'ES256' | 'RS256'

export function isSubjectTokenAlgorithm(name: unknown): name is SubjectTokenAlgorithm {
  return name === 'ES256' || name === 'RS256'
}

const LEAST_RSA_BITS = 2048
/** Larger keys cost a thread more than a millisecond per signature, and are not in use anywhere. */
const MOST_RSA_BITS = 8192
const LARGEST_EXPONENT = 2n ** 32n
/** More than the longest modulus has. */
const LONGEST_MEMBER = 2048
/** No token is longer, so none can name a longer one. */
const LONGEST_KID = 16_384
const CHARS_OF_USUAL_KEY = 2048

/** `jwt-svid` is how a SPIFFE bundle says `sig` (SPIFFE trust domain and bundle, section 4.2.2). */
const SIGNATURE_USES: readonly unknown[] = [undefined, 'sig', 'jwt-svid']
const MEMBERS_OF = { RS256: ['n', 'e'], ES256: ['x', 'y'] } as const

/** A key of an issuer that a token of this algorithm can be verified with. */
export interface ImportedKey {
  readonly kid: string | null
  readonly alg: SubjectTokenAlgorithm
  readonly key: CryptoKey
}

/**
 * A key of a key set. It verifies one algorithm, decided by the key alone: a token can only choose among keys. To
 * import one takes a tenth of a millisecond, so a set of a hundred is not imported for the one that is needed.
 */
export class VerificationKey {
  /** Null when it turned out to be of no use, undefined before somebody asked. */
  private imported: ImportedKey | null | undefined

  private constructor(
    /** Case-sensitive; null when the issuer gave it none. */
    readonly kid: string | null,
    readonly alg: SubjectTokenAlgorithm,
    private readonly jwk: Readonly<Record<string, string>>,
  ) {}

  /** The key a member of a key set stands for; null when it is of no use to us: a set may hold anything. */
  static read(jwk: unknown): VerificationKey | null {
    if (!isObject(jwk) || !isSignatureKey(jwk)) return null
    const kid = ownMember(jwk, 'kid')
    if (kid !== undefined && (typeof kid !== 'string' || kid.length > LONGEST_KID)) return null
    const alg = algorithmOf(jwk)
    const material = alg && publicMembers(jwk, alg)
    return alg && material && new VerificationKey(kid ?? null, alg, material)
  }

  /** What it takes to keep the key: one for a usual key, about two kilobytes. */
  get weight(): number {
    return 1 + Math.floor((this.kid?.length ?? 0) / CHARS_OF_USUAL_KEY)
  }

  /** Imports it, once; then at once. Null when it is too weak or no point of its curve. Never rejects. */
  import(): MaybePromise<ImportedKey | null> {
    return this.imported === undefined ? this.importAnew() : this.imported
  }

  private async importAnew(): Promise<ImportedKey | null> {
    const { kid, alg } = this
    const key = await importPublicKey(this.jwk, alg)
    this.imported = key && { kid, alg, key }
    return this.imported
  }
}

function isSignatureKey(jwk: JsonObject): boolean {
  const operations = ownMember(jwk, 'key_ops')
  const verifies = operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  return verifies && SIGNATURE_USES.includes(ownMember(jwk, 'use'))
}

/** What its kind allows, unless its own `alg` says otherwise. */
function algorithmOf(jwk: JsonObject): SubjectTokenAlgorithm | null {
  const kty = ownMember(jwk, 'kty')
  const alg = kty === 'RSA' ? 'RS256' : kty === 'EC' && ownMember(jwk, 'crv') === 'P-256' ? 'ES256' : null
  return [undefined, alg].includes(ownMember(jwk, 'alg') as string | undefined) ? alg : null
}

/** Only the public members count, so that a set which gives away private ones is no private key here. */
function publicMembers(jwk: JsonObject, alg: SubjectTokenAlgorithm): Readonly<Record<string, string>> | null {
  const members: Record<string, string> = alg === 'RS256' ? { kty: 'RSA' } : { kty: 'EC', crv: 'P-256' }
  for (const name of MEMBERS_OF[alg]) {
    const value = ownMember(jwk, name)
    if (typeof value !== 'string' || value.length > LONGEST_MEMBER) return null
    members[name] = value
  }
  return members
}

async function importPublicKey(
  jwk: Readonly<Record<string, string>>,
  alg: SubjectTokenAlgorithm,
): Promise<CryptoKey | null> {
  try {
    const key = (await importJWK(jwk, alg)) as CryptoKey
    return isStrongEnoughKey(key) ? key : null
  } catch {
    return null // not on the curve, not base64url
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
