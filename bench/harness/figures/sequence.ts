/** Deterministic sequences: the same seed gives the same requests in the same order with every generator. */

/** The seed of every sequence below; it is printed in the report. */
export const SEQUENCE_SEED = 20_240_607

/** A generator of numbers in [0, 1) that repeats exactly for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

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
export function drawIds(count: number, items: number, seed = SEQUENCE_SEED): number[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => 1 + Math.floor(random() * items))
}
