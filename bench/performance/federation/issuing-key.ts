/** Keys of an identity provider and the tokens it signs with them (RFC 7515, 7517, 7519). */
import { generateKeyPairSync, type JsonWebKey, type KeyObject, sign } from 'node:crypto'

export type IssuingAlgorithm = 'RS256' | 'ES256'

export interface IssuingKey {
  readonly alg: IssuingAlgorithm
  readonly kid: string
  readonly privateKey: KeyObject
  /** As it stands in the provider's key set. */
  readonly jwk: JsonWebKey
}

const RSA_BITS = 2048

/** A new pair. An RSA pair takes a tenth of a second or more. */
export function newIssuingKey(alg: IssuingAlgorithm, kid: string): IssuingKey {
  const { privateKey, publicKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: RSA_BITS })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { alg, kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), alg, use: 'sig', kid } }
}

/** The header of an ordinary token. */
export const tokenHeader = ({ alg, kid }: IssuingKey): Record<string, unknown> => ({ alg, typ: 'JWT', kid })

/** A token over a header and claims; either may be given as the raw text that is to stand there. */
export function signToken(header: object | string, claims: object | string, key: IssuingKey): string {
  const signed = `${tokenSegment(header)}.${tokenSegment(claims)}`
  return `${signed}.${signText(signed, key).toString('base64url')}`
}

/** The signature over a text, r and s side by side when it is of an elliptic curve. */
export function signText(signed: string, { privateKey }: IssuingKey): Buffer {
  return sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
}

/** A part of a token. */
export function tokenSegment(value: object | string): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}
