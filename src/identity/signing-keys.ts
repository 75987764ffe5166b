/** Our own keys for access tokens: ES256 pairs that all workers share through the store (contract/gateway 10.3). */
import { createPrivateKey, KeyObject } from 'node:crypto'
import { CompactSign, calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { type Clock, unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { FederationStore, SigningKeyRecord, SigningKeyRing } from '../store/federation-store.js'
import { isJwsSignedWith } from './compact-jws.js'
import type { Sealer } from './sealing-key.js'
import {
  activeSigningKey,
  dropFromRing,
  maintainRing,
  publishedSigningKeys,
  type RingRules,
  rotateRing,
} from './signing-ring.js'

/** A public key as the key set shows it. */
interface PublicJwk {
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

interface SigningKeysOptions {
  readonly store: Pick<FederationStore, 'signingKeyRing' | 'changeSigningKeyRing'>
  readonly sealer: Sealer
  readonly clock: Clock
  /** How long a key signs before the next takes over, in milliseconds. */
  readonly periodMs?: number
}

export const SIGNING_PERIOD_MS = 30 * 24 * 60 * 60_000

/** A key pair as this process holds it. The private key is null when the store's secret is not ours. */
interface SigningKeyPair {
  readonly privateKey: KeyObject | null
  readonly publicKey: PublicJwk
}

/** A new pair as a record, but for the times that its place in the ring gives it. */
type SpareKeyPair = Omit<SigningKeyRecord, 'createdAt' | 'activeFrom'>

/** A change of the ring begins two keys at most. */
const MAX_NEW_KEYS = 2

/**
 * The ring is read from the store with every use, a microsecond, so no worker signs with a key that another has
 * retired. `jose` imports a key when it is first used and remembers it by the object that `pairs` keeps.
 */
export class SigningKeys {
  private readonly pairs = new Map<string, SigningKeyPair>()

  constructor(private readonly options: SigningKeysOptions) {}

  /** Brings the ring in order. To be awaited when a worker starts and called from time to time, by every worker. */
  maintain(): Promise<void> {
    return this.changeRing(maintainRing)
  }

  /** Lets the next key sign from now on; resolves with its `kid`. Tokens of the old one stay good until they expire. */
  async rotate(): Promise<string> {
    let kid = ''
    await this.changeRing((current, rules) => {
      const ring = rotateRing(current, rules)
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
    if (this.publishedRecord(kid) === null) return null
    await this.changeRing((ring, rules) => dropFromRing(ring, kid, rules))
    return this.activeKid()
  }

  /** Stands for the keys as they are: another object after every change, whichever process has made it. */
  edition(): object | null {
    return this.options.store.signingKeyRing()
  }

  /** `kid` of the key that signs now. Throws `unavailable` before the first `maintain`. */
  activeKid(): string {
    return this.activeRecord().kid
  }

  /**
   * The access token (RFC 9068 section 2.1) of some claims, signed with the key that is active now. Rejects with
   * `unavailable` before the first `maintain`.
   */
  async sign(claims: object): Promise<string> {
    const record = this.activeRecord()
    const { privateKey } = this.pairOf(record)
    if (privateKey === null) throw new Fault('internal', { detail: 'there is no private key to sign with' })
    return new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: record.kid })
      .sign(privateKey)
  }

  /** Whether a token whose header says ES256 is signed by the published key of ours that has this `kid`. */
  async isSignedByKey(kid: string, token: string): Promise<boolean> {
    const record = this.publishedRecord(kid)
    return record !== null && (await isJwsSignedWith(token, this.pairOf(record).publicKey))
  }

  /** Whether a published key of ours has this `kid`. */
  publishes(kid: string): boolean {
    return this.publishedRecord(kid) !== null
  }

  /** What verifiers need: the keys that sign, will sign, or have signed tokens that may still be good. */
  jwks(): Jwks {
    return { keys: this.publishedRecords().map(toPublicJwk) }
  }

  /** The time is taken within the transaction: before it, another process may have begun a key later than ours. */
  private async changeRing(
    change: (ring: SigningKeyRing, rules: RingRules) => SigningKeyRing,
  ): Promise<void> {
    // Made before: pairs come by promises, and a transaction of the store waits for none.
    const newPairs = Array.from({ length: MAX_NEW_KEYS }, () => generateSealedPair(this.options.sealer))
    const spares = await Promise.all(newPairs)
    const ring = this.ring()
    if (change(ring, this.ringRules(spares)) === ring) return
    await this.options.store.changeSigningKeyRing((current) =>
      change(current ?? { keys: [] }, this.ringRules(spares)),
    )
    const kids = new Set(this.ring().keys.map(({ kid }) => kid))
    for (const kid of this.pairs.keys()) if (!kids.has(kid)) this.pairs.delete(kid)
  }

  private ringRules(spares: readonly SpareKeyPair[]): RingRules {
    const { clock, periodMs = SIGNING_PERIOD_MS } = this.options
    const left = [...spares]
    return {
      now: unixMs(clock),
      periodMs,
      newKey: (activeFrom) => {
        const spare = left.pop()
        if (spare === undefined) throw new Error(`a change of the ring began more than ${MAX_NEW_KEYS} keys`)
        return { ...spare, createdAt: unixMs(clock), activeFrom }
      },
      isUsable: (key) => this.pairOf(key).privateKey !== null,
    }
  }

  private ring(): SigningKeyRing {
    return this.options.store.signingKeyRing() ?? { keys: [] }
  }

  private activeRecord(): SigningKeyRecord {
    const active = activeSigningKey(this.ring(), unixMs(this.options.clock))
    if (active !== null) return active
    throw new Fault('unavailable', { retryAfter: 1, detail: 'there is no signing key yet' })
  }

  private publishedRecords(): readonly SigningKeyRecord[] {
    return publishedSigningKeys(this.ring(), unixMs(this.options.clock))
  }

  private publishedRecord(kid: string): SigningKeyRecord | null {
    return this.publishedRecords().find((key) => key.kid === kid) ?? null
  }

  private pairOf(record: SigningKeyRecord): SigningKeyPair {
    let pair = this.pairs.get(record.kid)
    if (pair === undefined) {
      const privateKey = unsealPrivateKey(this.options.sealer, record)
      pair = { privateKey, publicKey: toPublicJwk(record) }
      this.pairs.set(record.kid, pair)
    }
    return pair
  }
}

/** How often a worker looks after the keys; a small part of the notice that verifiers get. */
const MAINTENANCE_MS = 10 * 60_000

/**
 * Maintains the keys from now on, until the returned function is called. `onError` is told why one time failed; the
 * next comes all the same.
 */
export function maintainPeriodically(
  keys: Pick<SigningKeys, 'maintain'>,
  clock: Clock,
  onError: (error: unknown) => void,
): () => void {
  let cancel: () => void = () => {}
  const again = (): void => {
    cancel = clock.runAfter(MAINTENANCE_MS, () => {
      again()
      keys.maintain().catch(onError)
    })
  }
  again()
  return () => cancel()
}

/** Its `kid` is the thumbprint of the public key (RFC 7638). */
async function generateSealedPair(sealer: Sealer): Promise<SpareKeyPair> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(jwk)
  const der = KeyObject.from(privateKey).export({ format: 'der', type: 'pkcs8' })
  return { kid, x: jwk.x!, y: jwk.y!, sealed: sealer.seal(der, kid) }
}

function unsealPrivateKey(sealer: Sealer, { sealed, kid }: SigningKeyRecord): KeyObject | null {
  const der = sealer.open(sealed, kid)
  return der === null ? null : createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

function toPublicJwk({ kid, x, y }: SigningKeyRecord): PublicJwk {
  return { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid, x, y }
}
