/** Work of the server that the CPU pool does. */
import { NEVER_ABORTED } from '../base/cancellation.js'
import type { CpuPool } from '../cpu-pool/pool.js'
import type { DeriveKey } from '../features/hash/endpoints.js'
import type { CountTokens } from '../gateway/metering/format.js'
import { addressBucket } from '../limits/address-limit.js'

/** Cost of counting in the pool's unit, PBKDF2 rounds, per character: both take about a quarter of a microsecond. */
const ROUNDS_PER_CHARACTER = 1
const MIN_COST = 100
/** Characters of a token in common text; the guess where counting is not possible. */
const CHARACTERS_PER_TOKEN = 4

/** Counts in the pool. A full pool, or a defect in it, leaves a guess by length: an estimate must not fail a call. */
export function pooledTokenCounter(pool: CpuPool): CountTokens {
  return async (texts) => {
    const characters = texts.reduce((sum, text) => sum + text.length, 0)
    try {
      const cost = Math.max(MIN_COST, characters * ROUNDS_PER_CHARACTER)
      // An inference is counted whether or not its caller is still there.
      const { value } = await pool.run(
        'count-tokens',
        { texts },
        { cost, caller: '', cancellation: NEVER_ABORTED },
      )
      return value.counts
    } catch {
      return texts.map((text) => Math.ceil(text.length / CHARACTERS_PER_TOKEN))
    }
  }
}

/**
 * Derives in the pool, where keys and addresses have equal shares. No async function: a refusal stays in the turn it
 * was made in.
 */
export function pooledKeyDerivation(pool: CpuPool, salt: string): DeriveKey {
  return (data, rounds, { keyHash }, call) => {
    const caller = keyHash || addressBucket(call.address)
    const order = { cost: rounds, caller, cancellation: call }
    return pool
      .run('pbkdf2', { data, salt, rounds }, order)
      .then(({ value: { hash, elapsedMs }, waitMs }) => ({ hash, elapsedMs, waitMs }))
  }
}
