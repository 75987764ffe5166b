/** Deterministic sequences: the same seed gives the same requests in the same order with every generator. */

import { seededRandom } from '../../../src/base/random.js'

/** The seed of every sequence below; it is printed in the report. */
export const SEQUENCE_SEED = 20_240_607

/** A copy in an order that depends on the seed only (Fisher-Yates). */
export function shuffled<T>(values: readonly T[], seed = SEQUENCE_SEED): T[] {
  const random = seededRandom(seed)
  const copy = [...values]
  for (let last = copy.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[copy[last], copy[other]] = [copy[other]!, copy[last]!]
  }
  return copy
}

/** `count` item ids drawn evenly from 1..`items`. */
export function randomIds(count: number, items: number, seed = SEQUENCE_SEED): number[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => 1 + Math.floor(random() * items))
}

/** One of the values, by chance. */
export function pickRandom<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)]!
}
