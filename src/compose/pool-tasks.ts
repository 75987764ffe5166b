/** Work of the server that the CPU pool does. */
import { addressBucket } from '../base/caller-address.js'
import type { CpuPool } from '../cpu-pool/pool.js'
import type { DeriveKey } from '../features/hash/endpoints.js'
import type { CountTokens } from '../gateway/metering/format.js'

/**
 * Cost of counting in the pool's unit, PBKDF2 rounds of a quarter of a microsecond: one for a character, and six more
 * for each byte that its UTF-8 has besides. Measured: 0.05 to 0.9 µs for ASCII, 1 to 3 for Cyrillic, CJK, Thai, emoji.
 */
const ROUNDS_PER_FURTHER_BYTE = 6
const MIN_COST = 100
/** Most that one count may cost, a twentieth of a second: of texts that would cost more, samples are counted. */
const MAX_COST = 200_000
/** Characters of a sample's pieces. */
const PIECE_CHARS = 2_000
/** Bytes of a token in common text, whatever its script; the guess where counting is not possible. */
const BYTES_PER_TOKEN = 4

/** Counts in the pool. A full pool, or a defect in it, leaves a guess by length: an estimate must not fail a call. */
export function pooledTokenCounter(pool: CpuPool): CountTokens {
  return async (texts, caller, cancellation) => {
    try {
      const total = texts.reduce((sum, text) => sum + countingCost(text), 0)
      const samples = texts.map((text) => sampleText(text, MAX_COST / total))
      const cost = Math.min(MAX_COST, Math.max(MIN_COST, total))
      const { value } = await pool.run('count-tokens', { texts: samples }, { cost, caller, cancellation })
      const counts = value.counts.map((count, at) =>
        scaleCount(count, samples[at]!.length, texts[at]!.length),
      )
      return { counts, areGuessed: false }
    } catch {
      return { counts: texts.map(guessTokens), areGuessed: true }
    }
  }
}

function countingCost(text: string): number {
  return text.length + ROUNDS_PER_FURTHER_BYTE * (Buffer.byteLength(text) - text.length)
}

function guessTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/**
 * That share of a text, or all of it: as many pieces as equal parts, each from anywhere in its part. Who knew where they
 * lie could have something cheap counted there.
 */
export function sampleText(text: string, share: number, random: () => number = Math.random): string {
  if (share >= 1 || text.length <= PIECE_CHARS) return text
  const pieces = Math.max(1, Math.floor((text.length * share) / PIECE_CHARS))
  const distance = text.length / pieces
  let sample = ''
  for (let piece = 0; piece < pieces; piece++) {
    const from = Math.floor(piece * distance + random() * (distance - PIECE_CHARS))
    sample += text.slice(from, from + PIECE_CHARS)
  }
  return sample
}

function scaleCount(count: number, counted: number, length: number): number {
  return counted === length ? count : Math.round((count * length) / counted)
}

/**
 * Derives in the pool, where organizations and addresses have equal shares. No async function: a refusal stays in the turn it
 * was made in.
 */
export function pooledKeyDerivation(pool: CpuPool, salt: string): DeriveKey {
  return (data, rounds, { organizationId }, call) => {
    const caller = organizationId || addressBucket(call.address)
    const order = { cost: rounds, caller, cancellation: call }
    return pool
      .run('pbkdf2', { data, salt, rounds }, order)
      .then(({ value: { hash, elapsedMs }, waitMs }) => ({ hash, elapsedMs, waitMs }))
  }
}
