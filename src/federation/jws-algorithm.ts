/** The signature algorithms of subject tokens (RFC 7518 section 3.1, RFC 8037). None of them is symmetric. */
import { constants, type KeyObject, verify } from 'node:crypto'

export interface JwsAlgorithm {
  readonly name: string
  verify(key: KeyObject, signed: string, signature: Uint8Array): boolean
}

function rsa(name: string, hash: string, options: object): JwsAlgorithm {
  return {
    name,
    verify: (key, signed, signature) => verify(hash, Buffer.from(signed), { key, ...options }, signature),
  }
}

const PKCS1 = { padding: constants.RSA_PKCS1_PADDING }
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }

/** `bytes` of r and s side by side; what else a library might take, DER above all, is no JWS (section 3.4). */
function ecdsa(name: string, hash: string, bytes: number): JwsAlgorithm {
  const dsaEncoding = 'ieee-p1363' as const
  return {
    name,
    verify: (key, signed, signature) =>
      signature.length === bytes && verify(hash, Buffer.from(signed), { key, dsaEncoding }, signature),
  }
}

function eddsa(name: string): JwsAlgorithm {
  return {
    name,
    verify: (key, signed, signature) =>
      signature.length === 64 && verify(null, Buffer.from(signed), key, signature),
  }
}

const ALGORITHMS: ReadonlyMap<string, JwsAlgorithm> = new Map(
  [
    rsa('RS256', 'sha256', PKCS1),
    rsa('RS384', 'sha384', PKCS1),
    rsa('RS512', 'sha512', PKCS1),
    rsa('PS256', 'sha256', PSS),
    rsa('PS384', 'sha384', PSS),
    rsa('PS512', 'sha512', PSS),
    ecdsa('ES256', 'sha256', 64),
    ecdsa('ES384', 'sha384', 96),
    ecdsa('ES512', 'sha512', 132),
    eddsa('EdDSA'),
    eddsa('Ed25519'), // the fully specified name of the same thing (RFC 9864)
  ].map((algorithm) => [algorithm.name, algorithm]),
)

/** The algorithm of that name; names are case-sensitive. Undefined for what is not taken, "none" and HMAC included. */
export function jwsAlgorithm(name: string): JwsAlgorithm | undefined {
  return ALGORITHMS.get(name)
}
