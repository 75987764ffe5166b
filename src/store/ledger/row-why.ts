/**
 * What a row tells of how it came about, as a part of its line: positional JSON, in the order of `encodeWhy`. New
 * members go to the end; lines of before have none of it, and say nothing.
 */

import {
  NOTHING_TOLD,
  type RowAsked,
  type RowAttempt,
  type RowCandidate,
  type RowWhy,
} from '../ledger-store.js'
import { rememberLatest } from './latest-text.js'
import { quoteName } from './quoted-names.js'

/** Stands for a list without members, and for an object that is absent. */
const NONE = 0

export function encodeWhy(why: RowWhy): string {
  const { queueMs, connectMs, admitMs, candidates, unlisted, attempts, metadata, trace } = why
  const versions = encodeVersions(why.configVersion, why.priceVersion, why.region, null)
  const thought = candidates.length === 0 ? NONE : JSON.stringify(candidates.map(encodeCandidate))
  const made = attempts.length === 0 ? NONE : JSON.stringify(attempts.map(encodeAttempt))
  const user = why.user === null ? 'null' : JSON.stringify(why.user)
  const caller = `${user},${encodeClient(why.referer, why.agent, why.title, null)}`
  const words = `${metadata === null ? NONE : JSON.stringify(metadata)},${trace === null ? NONE : JSON.stringify(trace)}`
  const asked = why.asked === null ? NONE : why.asked === 'untold' ? 'null' : JSON.stringify(why.asked)
  return `[${versions},${queueMs},${connectMs},${admitMs},${thought},${unlisted},${made},${caller},${words},${why.cacheDiscount},${asked}]`
}

const quoteThree = (a: string | null, b: string | null, c: string | null): string =>
  `${quoteName(a)},${quoteName(b)},${quoteName(c)}`
const encodeVersions = rememberLatest(quoteThree)
const encodeClient = rememberLatest(quoteThree)

function encodeCandidate({ provider, model, place, chance, why }: RowCandidate) {
  return [provider, model, place, chance, ...why]
}

function encodeAttempt({ provider, model, status, fault, durationMs, startMs }: RowAttempt) {
  const attempt = [provider, model, status, fault, durationMs]
  return startMs === undefined ? attempt : [...attempt, startMs]
}

type EncodedWhy = readonly [
  ...versions: [string | null, string | null, string | null],
  ...phases: [number, number, number],
  candidates: readonly (readonly [string, string, number, number | null, ...string[]])[] | 0,
  unlisted: number,
  attempts: readonly (readonly [string, string, number, string | null, number, number?])[] | 0,
  ...caller: [string | null, string | null, string | null, string | null],
  metadata: RowWhy['metadata'] | 0,
  trace: RowWhy['trace'] | 0,
  cacheDiscount: number,
  asked?: RowAsked | 0 | null,
]

/** `value`: as parsed from a line; undefined where that is of before. */
export function decodeWhy(value: unknown): RowWhy {
  if (value === undefined) return NOTHING_TOLD
  const [configVersion, priceVersion, region, queueMs, connectMs, admitMs, thought, unlisted, made, ...rest] =
    value as EncodedWhy
  const [user, referer, agent, title, metadata, trace, cacheDiscount, asked] = rest
  const candidates = thought === NONE ? [] : thought
  const attempts = made === NONE ? [] : made
  return {
    ...{ configVersion, priceVersion, region, queueMs, connectMs, admitMs, unlisted },
    ...{ user, referer, agent, title, cacheDiscount },
    candidates: candidates.map(([provider, model, place, chance, ...why]) => ({
      ...{ provider, model, place, chance, why },
    })),
    attempts: attempts.map(([provider, model, status, fault, durationMs, startMs]) => ({
      ...{ provider, model, status, fault, durationMs },
      ...(startMs !== undefined && { startMs }),
    })),
    metadata: metadata === NONE ? null : metadata,
    trace: trace === NONE ? null : trace,
    asked: asked === NONE ? null : (asked ?? 'untold'),
  }
}
