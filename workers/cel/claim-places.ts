/** Places in the claims that a part of a condition reads, and what they are with another value in them. */
import type { ConditionClaims } from '../tasks.js'
import { SCOPES } from './compile.js'
import type { CelNode } from './syntax-tree.js'
import type { CelValue } from './value.js'

/** Most code points of a claim (contract/decisions 20). */
const MAX_POINTS = 512

/** Claims, and the item that a macro stands at. */
export interface Situation {
  readonly claims: ConditionClaims
  readonly loop: {
    readonly name: string
    readonly item: CelValue
    /** It is an entry yet to be added, so it may be chosen. */
    readonly isFree: boolean
  } | null
}

/** Where a value of a token can be put. */
export interface ClaimPlace {
  /** As it stands in a sentence. */
  readonly name: string
  readonly value: string | readonly string[]
  /** Null where no token can have this value there. */
  readonly put: (value: string | readonly string[]) => Situation | null
}

const CLAIM_NAMES = ['subject', 'audience', 'scopes', 'token_type'] as const

/** The place that a part is; null for what is no place. */
export function placeOf(node: CelNode, situation: Situation): ClaimPlace | null {
  const { loop } = situation
  if (node.op === 'call' && node.args[0] === 'dyn') return placeOf(node.args[1][0]!, situation)
  if (node.op === '[]') return entryPlace(node.args[0], node.args[1], situation)
  if (node.op !== 'id') return null
  if (loop !== null && loop.name === node.args) return loopPlace(loop, situation)
  const claim = CLAIM_NAMES.find((name) => name === node.args)
  return claim === undefined ? null : claimPlace(claim, situation)
}

function loopPlace(loop: NonNullable<Situation['loop']>, situation: Situation): ClaimPlace | null {
  if (!loop.isFree || typeof loop.item !== 'string') return null
  const put: ClaimPlace['put'] = (item) =>
    typeof item === 'string' && isClaimText(item) ? { ...situation, loop: { ...loop, item } } : null
  return { name: `\`${loop.name}\``, value: loop.item, put }
}

function claimPlace(claim: (typeof CLAIM_NAMES)[number], situation: Situation): ClaimPlace {
  const { claims } = situation
  const put: ClaimPlace['put'] = (value) => {
    const isList = typeof value !== 'string'
    if (isList !== (typeof claims[claim] !== 'string')) return null
    const fits = isList ? value.every(isClaimText) : isClaimText(value)
    // A token has a subject and an audience, and at most so many scopes.
    const isLack = value.length === 0 && (claim === 'subject' || claim === 'audience')
    const isExcess = claim === 'scopes' && value.length > SCOPES
    return fits && !isLack && !isExcess ? { ...situation, claims: { ...claims, [claim]: value } } : null
  }
  return { name: `\`${claim}\``, value: claims[claim], put }
}

/** An entry that there is, or the one behind the last. */
function entryPlace(holder: CelNode, index: CelNode, situation: Situation): ClaimPlace | null {
  const list = placeOf(holder, situation)
  const at = index.op === 'value' && typeof index.args === 'bigint' ? Number(index.args) : -1
  if (list === null || typeof list.value === 'string' || at < 0 || at > list.value.length) return null
  const entries = list.value
  return {
    name: `entry ${at} of ${list.name}`,
    value: entries[at] ?? '',
    put: (value) =>
      typeof value === 'string' ? list.put([...entries.slice(0, at), value, ...entries.slice(at + 1)]) : null,
  }
}

function isClaimText(text: string): boolean {
  return text.length <= 2 * MAX_POINTS && text.isWellFormed() && [...text].length <= MAX_POINTS
}
