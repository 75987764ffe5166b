/**
 * Which of our key pairs does what, and when. Everything follows from the times in the ring and the time it is, so
 * all workers change over at the same moment without a word between them.
 *
 *     next      published, does not sign yet, so that caches of the key set know it before they need it
 *     active    signs
 *     retired   published until the last token it signed has expired
 */
import type { SigningKeyRecord, SigningKeyRing } from '../store/federation-store.js'

/** Longest life of an access token, in seconds (contract/decisions 14). */
export const MAX_ACCESS_TOKEN_SECONDS = 900

/** What a retired key stays beyond the last token, for clocks and changes that overlap. */
const GRACE_MS = 60_000
const AFTERLIFE_MS = MAX_ACCESS_TOKEN_SECONDS * 1000 + GRACE_MS
/** A key is published at least this long before it signs, unless a command wants it at once. */
const NOTICE_MS = 60 * 60_000

/**
 * The key that signs at a time: the latest that has begun. Should the clock have been put back to before them all,
 * the first. Null when there is none.
 */
export function activeSigningKey({ keys }: SigningKeyRing, now: number): SigningKeyRecord | null {
  return keys.findLast(({ activeFrom }) => activeFrom <= now) ?? keys[0] ?? null
}

/** Keys that are shown to verifiers, and that we accept. */
export function publishedSigningKeys({ keys }: SigningKeyRing, now: number): readonly SigningKeyRecord[] {
  return keys.filter((_, at) => {
    const successor = keys[at + 1]
    return successor === undefined || now < successor.activeFrom + AFTERLIFE_MS
  })
}

export interface RingRules {
  readonly now: number
  /** How long a key signs, in milliseconds. */
  readonly periodMs: number
  /** Makes a pair that signs from a time on. */
  readonly newKey: (activeFrom: number) => SigningKeyRecord
  /** Whether this process can sign with a key. */
  readonly isUsable: (key: SigningKeyRecord) => boolean
}

/**
 * The ring as it ought to be: a usable active key, a next one, nothing that is over. The very ring when it is so
 * already.
 */
export function maintainRing(ring: SigningKeyRing, rules: RingRules): SigningKeyRing {
  const { now, periodMs, newKey, isUsable } = rules
  const keys = publishedSigningKeys(ring, now).filter((key) => key.activeFrom <= now || isUsable(key))
  const active = activeSigningKey({ keys }, now)
  const signer = active !== null && isUsable(active) ? active : newKey(earliestStart(active, now))
  const begun = keys.filter(({ activeFrom }) => activeFrom <= signer.activeFrom)
  const waiting = keys.filter(({ activeFrom }) => activeFrom > signer.activeFrom)
  if (signer !== active) begun.push(signer)
  if (waiting.length === 0) waiting.push(newKey(Math.max(signer.activeFrom + periodMs, now + NOTICE_MS)))
  const next = [...begun, ...waiting]
  const isSame = next.length === ring.keys.length && next.every((key, at) => key === ring.keys[at])
  return isSame ? ring : { keys: next }
}

/** The next key signs from now on, and there is another next one. */
export function rotateRing(ring: SigningKeyRing, rules: RingRules): SigningKeyRing {
  const active = activeSigningKey(ring, rules.now)
  const begun = active === null ? [] : ring.keys.filter((key) => key.activeFrom <= active.activeFrom)
  return promoteNext(ring.keys, begun, rules)
}

/**
 * The ring without one key, at once: nothing it has signed is good any more. When it is the one that signs, the next
 * does from now on. The very ring when it has no such key.
 */
export function dropFromRing(ring: SigningKeyRing, kid: string, rules: RingRules): SigningKeyRing {
  const keys = ring.keys.filter((key) => key.kid !== kid)
  if (keys.length === ring.keys.length) return ring
  if (activeSigningKey(ring, rules.now)?.kid !== kid) return maintainRing({ keys }, rules)
  const begun = keys.filter(({ activeFrom }) => activeFrom <= rules.now)
  return promoteNext(keys, begun, rules)
}

/** The first usable key that has not begun begins now, or a new one. */
function promoteNext(
  keys: readonly SigningKeyRecord[],
  begun: readonly SigningKeyRecord[],
  rules: RingRules,
): SigningKeyRing {
  const { now, newKey, isUsable } = rules
  const next = keys.find((key) => !begun.includes(key) && isUsable(key))
  const from = earliestStart(begun.at(-1) ?? null, now)
  const signer = next === undefined ? newKey(from) : { ...next, activeFrom: from }
  return maintainRing({ keys: [...begun, signer] }, { ...rules, now: Math.max(now, from) })
}

/** Two keys never begin together. */
function earliestStart(active: SigningKeyRecord | null, now: number): number {
  return active === null ? now : Math.max(now, active.activeFrom + 1)
}
