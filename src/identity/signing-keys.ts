/** Our own keys for access tokens: ES256 pairs that all workers share through the store (contract/gateway 10.3). */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { FederationStore, SigningKeyRecord, SigningRing } from '../store/federation-store.js'
import type { Sealer } from './sealing-key.js'
import { activeKey, dropped, publishedKeys, type RingRules, rotated, tended } from './signing-ring.js'

/** A public key of ours, as the key set shows it. */
export interface PublicJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly alg: 'ES256'
  readonly use: 'sig'
  readonly kid: string
  readonly x: string
  readonly y: string
}

export interface Jwks {
  readonly keys: readonly PublicJwk[]
}

export interface SigningKeysOptions {
  readonly store: Pick<FederationStore, 'signingRing' | 'changeSigningRing'>
  readonly sealer: Sealer
  readonly clock: Clock
  /** How long a key signs before the next takes over, in milliseconds. */
  readonly periodMs?: number
}

export const SIGNING_PERIOD_MS = 30 * 24 * 60 * 60_000
const ENCODING = 'ieee-p1363'
const SIGNATURE_BYTES = 64

/** A key pair as this process holds it. `sign` is null when the store's secret is not ours. */
interface Pair {
  readonly privateKey: KeyObject | null
  readonly publicKey: KeyObject
}

/**
 * The ring is read from the store with every use, a microsecond, so no worker signs with a key that another has
 * retired. Signing runs on the loop: 22 µs on the machine that ran the tests, less than sending it to a thread.
 */
export class SigningKeys {
  private readonly pairs = new Map<string, Pair>()
  /** The record that `activeKid` has told of last, so that signing with it does not read the ring again. */
  private told: SigningKeyRecord | null = null

  constructor(private readonly options: SigningKeysOptions) {}

  /** Brings the ring in order. To be awaited when a worker starts and called from time to time, by every worker. */
  async tend(): Promise<void> {
    const { store } = this.options
    const ring = store.signingRing()
    if (ring !== null && tended(ring, this.rules()) === ring) return
    // The time is taken within the transaction: before it, another process may have begun a key later than ours.
    await store.changeSigningRing((current) => tended(current, this.rules()))
    this.forget()
  }

  /** Lets the next key sign from now on; resolves with its `kid`. Tokens of the old one stay good until they expire. */
  async rotate(): Promise<string> {
    let kid = ''
    await this.options.store.changeSigningRing((current) => {
      const ring = rotated(current, this.rules())
      kid = ring.keys.at(-2)!.kid
      return ring
    })
    return kid
  }

  /**
   * Takes a key out of use that others may have got hold of: it signs nothing more, is published no more, and the
   * tokens it has signed are refused. Resolves with the `kid` of the key that signs now; null when there is no such
   * key.
   */
  async drop(kid: string): Promise<string | null> {
    const before = this.record(kid)
    if (before === null) return null
    await this.options.store.changeSigningRing((current) =>
      dropped(current ?? { keys: [] }, kid, this.rules()),
    )
    this.forget()
    return this.activeKid()
  }

  /** Stands for the keys as they are: another object after every change, whichever process has made it. */
  edition(): object | null {
    return this.options.store.signingRing()
  }

  /** `kid` of the key that signs now. Throws `unavailable` before the first `tend`. */
  activeKid(): string {
    this.told = this.active()
    return this.told.kid
  }

  /** Signs a text with the key that `activeKid` has named; the signature is r and s side by side. */
  sign(kid: string, text: string): Buffer {
    const record = this.told?.kid === kid ? this.told : this.record(kid)
    const privateKey = record === null ? null : this.pairOf(record).privateKey
    if (privateKey === null) throw new Fault('internal', { detail: 'there is no private key to sign with' })
    return sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: ENCODING })
  }

  /** Whether a signature over a text is by a published key of ours. */
  verifies(kid: string, text: string, signature: Uint8Array): boolean {
    if (signature.length !== SIGNATURE_BYTES) return false
    const record = this.record(kid)
    if (record === null) return false
    const { publicKey } = this.pairOf(record)
    return verify('sha256', Buffer.from(text), { key: publicKey, dsaEncoding: ENCODING }, signature)
  }

  /** What verifiers need: the keys that sign, will sign, or have signed tokens that may still be good. */
  jwks(): Jwks {
    const keys = publishedKeys(this.ring(), this.now())
    return { keys: keys.map(publicJwk) }
  }

  private active(): SigningKeyRecord {
    const active = activeKey(this.ring(), this.now())
    if (active === null)
      throw new Fault('unavailable', { retryAfter: 1, detail: 'there is no signing key yet' })
    return active
  }

  private record(kid: string): SigningKeyRecord | null {
    return publishedKeys(this.ring(), this.now()).find((key) => key.kid === kid) ?? null
  }

  private ring(): SigningRing {
    return this.options.store.signingRing() ?? { keys: [] }
  }

  private rules(): RingRules {
    const { periodMs = SIGNING_PERIOD_MS, sealer } = this.options
    return {
      now: this.now(),
      periodMs,
      newKey: (activeFrom) => newKey(sealer, this.now(), activeFrom),
      isUsable: (key) => this.pairOf(key).privateKey !== null,
    }
  }

  private pairOf(record: SigningKeyRecord): Pair {
    let pair = this.pairs.get(record.kid)
    if (pair === undefined) {
      pair = { privateKey: unsealed(this.options.sealer, record), publicKey: publicKey(record) }
      this.pairs.set(record.kid, pair)
    }
    return pair
  }

  /** Lets go of pairs that have left the ring. */
  private forget(): void {
    const kids = new Set(this.ring().keys.map(({ kid }) => kid))
    for (const kid of this.pairs.keys()) if (!kids.has(kid)) this.pairs.delete(kid)
  }

  private now(): number {
    return Math.floor(this.options.clock.unixSeconds() * 1000)
  }
}

/** How often a worker looks after the keys; a small part of the notice that verifiers get. */
const TEND_MS = 10 * 60_000

/**
 * Tends the keys from now on, until the returned function is called. `failed` is told why a time was in vain; the
 * next comes all the same.
 */
export function tendRegularly(
  keys: Pick<SigningKeys, 'tend'>,
  clock: Clock,
  failed: (error: unknown) => void,
): () => void {
  let cancel: () => void = () => {}
  const again = (): void => {
    cancel = clock.after(TEND_MS, () => {
      again()
      keys.tend().catch(failed)
    })
  }
  again()
  return () => cancel()
}

function newKey(sealer: Sealer, createdAt: number, activeFrom: number): SigningKeyRecord {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = pair.publicKey.export({ format: 'jwk' }) as { x: string; y: string }
  const kid = thumbprint(x, y)
  const sealed = sealer.seal(pair.privateKey.export({ format: 'der', type: 'pkcs8' }), kid)
  return { kid, x, y, sealed, createdAt, activeFrom }
}

/** RFC 7638 section 3: the required members in alphabetical order. */
function thumbprint(x: string, y: string): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url')
}

function unsealed(sealer: Sealer, { sealed, kid }: SigningKeyRecord): KeyObject | null {
  const der = sealer.open(sealed, kid)
  return der === null ? null : createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

function publicKey(record: SigningKeyRecord): KeyObject {
  const { kty, crv, x, y } = publicJwk(record)
  const key: JsonWebKey = { kty, crv, x, y }
  return createPublicKey({ key, format: 'jwk' })
}

function publicJwk({ kid, x, y }: SigningKeyRecord): PublicJwk {
  return { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid, x, y }
}
