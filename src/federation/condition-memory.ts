/**
 * Remembers what conditions have said. A condition sees four claims and nothing else, neither a clock nor chance, so
 * the same text and the same claims give the same value for ever. A workload that comes every few minutes brings the
 * same claims each time, in a token that is new. Remembered, a condition takes no time that could be told from other
 * refusals, and the pool stays free. It is not there for speed: see bench/RESULTS.md.
 */

import { hash } from 'node:crypto'
import type { Cancellation } from '../base/cancellation.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import {
  type ConditionClaims,
  type ConditionEvaluator,
  type ConditionOutcome,
  isTransientOutcome,
} from './condition.js'

/** Oldest first out. An entry is a hash and a small object: half a megabyte in all. */
const MAX_OUTCOMES = 4096

/** The same conditions, asked once for each text and claims. */
export function cacheConditionOutcomes(
  conditions: ConditionEvaluator,
  most = MAX_OUTCOMES,
): ConditionEvaluator {
  const outcomes = new Map<string, ConditionOutcome>()

  function remember(key: string, outcome: ConditionOutcome): void {
    if (outcomes.size >= most) outcomes.delete(outcomes.keys().next().value!)
    outcomes.set(key, outcome)
  }

  async function ask(
    key: string,
    text: string,
    claims: ConditionClaims,
    caller: Cancellation,
  ): Promise<ConditionOutcome> {
    const outcome = await conditions.explainCondition(text, claims, caller)
    // What ran late or broke may do better the next time.
    if (!isTransientOutcome(outcome)) remember(key, outcome)
    return outcome
  }

  function explainCondition(
    text: string,
    claims: ConditionClaims,
    caller: Cancellation,
  ): MaybePromise<ConditionOutcome> {
    const key = conditionCacheKey(text, claims)
    return outcomes.get(key) ?? ask(key, text, claims, caller)
  }

  return {
    explainCondition,
    evaluateCondition: async (text, claims, caller) => (await explainCondition(text, claims, caller)).met,
    checkCondition: (text, caller) => conditions.checkCondition(text, caller),
  }
}

/** Collision-free by SHA-256, and unambiguous: JSON tells where one text ends and the next begins. */
function conditionCacheKey(
  text: string,
  { subject, audience, scopes, token_type: type }: ConditionClaims,
): string {
  return hash('sha256', JSON.stringify([text, subject, audience, scopes, type]), 'base64')
}
