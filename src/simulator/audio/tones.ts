/**
 * The sound of a simulated voice. It hums at the pitch of its speaker, and above that it says each half of a byte of
 * the text as one of sixteen tones: enough of a melody to be told from silence, and robust enough to be understood
 * after MP3 has been at it. What is spoken begins with a chime, which tells the speed and the length.
 */

/** Samples per second of everything that is synthesised (contract/decisions 30). */
export const RATE = 24_000
/** Seconds. */
export const CHIME_S = 0.1
export const HEADER_TONE_S = 0.04
/** Of the text, at speed 1. */
const TONE_S = 0.04
/** A faster voice would not outlive MP3. */
const FASTEST = 1.6
const SLOWEST = 0.25
/** At the end, so that the last tone is not cut. */
export const REST_S = 0.06

export const CHIME_HZ = 3_200
const LOWEST_HZ = 500
const STEP_HZ = 150

export function toneHz(nibble: number): number {
  return LOWEST_HZ + STEP_HZ * nibble
}

export const VOICES = ['alba', 'bruno', 'carla', 'dario', 'elsa', 'fabio'] as const
/** Pitch of each voice. */
export const HUM_HZ: readonly number[] = [196, 98, 220, 110, 175, 131]

/** Marks what follows a chime as ours. */
const MARK = [0xa, 0x5] as const
export const HEADER_TONES = 13

/** Tells voice, length of a tone in tenths of a millisecond, and the number of bytes. */
export interface Opening {
  readonly voice: number
  readonly toneUnits: number
  readonly bytes: number
}

export const UNITS_PER_S = 10_000

export function headerOf({ voice, toneUnits, bytes }: Opening): number[] {
  const nibbles = [...MARK, voice, ...nibblesOf(toneUnits, 3), ...nibblesOf(bytes, 6)]
  return [...nibbles, nibbles.reduce((sum, nibble) => sum ^ nibble, 0)]
}

/** Null when the nibbles are no header. */
export function openingIn(nibbles: readonly number[]): Opening | null {
  if (nibbles.length !== HEADER_TONES || nibbles[0] !== MARK[0] || nibbles[1] !== MARK[1]) return null
  if (nibbles.reduce((sum, nibble) => sum ^ nibble, 0) !== 0) return null
  return { voice: nibbles[2]!, toneUnits: numberIn(nibbles, 3, 3), bytes: numberIn(nibbles, 6, 6) }
}

function nibblesOf(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => (value >>> (4 * (count - 1 - at))) & 15)
}

function numberIn(nibbles: readonly number[], from: number, count: number): number {
  let value = 0
  for (let at = from; at < from + count; at++) value = value * 16 + nibbles[at]!
  return value
}

/** CRC-16/CCITT over the text, four tones at its end: what was misheard is known to be. */
function checksum(bytes: Uint8Array): number {
  let crc = 0xffff
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++)
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff
  }
  return crc
}

export const CHECK_TONES = 4

export function checkTones(bytes: Uint8Array): number[] {
  return nibblesOf(checksum(bytes), CHECK_TONES)
}

/** Length of a tone of the text at a speed, in units. */
export function toneUnitsAt(speed: number): number {
  const bounded = Math.min(FASTEST, Math.max(SLOWEST, speed))
  return Math.round((TONE_S * UNITS_PER_S) / bounded)
}
