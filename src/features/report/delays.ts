import { createHash } from 'node:crypto'

/** A source of delays in milliseconds. */
export type DelaySource = () => number

/** Is told of every delay that is over: of the call that arrived then, what was intended and how long it took. */
export type DelayObserver = (arrivedAt: number, intendedMs: number, achievedMs: number) => void

const LEAST_MS = 100
const SPREAD_MS = 400

/** Uniform over [100, 500] ms. The same seed gives the same sequence; without one it differs at every start. */
export function uniformDelays(seed: number | null): DelaySource {
  const random = seed === null ? Math.random : seededUniform(seed)
  return () => LEAST_MS + SPREAD_MS * random()
}

/** Uniform over [0, 1): the first 48 bits of a hash of seed and position. Some microseconds, far below the delay. */
function seededUniform(seed: number): () => number {
  let position = 0
  return () => {
    const digest = createHash('sha256').update(`${seed}:${position++}`).digest()
    return digest.readUIntBE(0, 6) / 2 ** 48
  }
}
