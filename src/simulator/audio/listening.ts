/** Understands what a simulated voice has said (`tones.ts`), in any sampling rate, also after a lossy codec. */
import {
  CHECK_TONES,
  CHIME_HZ,
  CHIME_S,
  checkTones,
  HEADER_TONE_S,
  HEADER_TONES,
  type Opening,
  openingIn,
  toneHz,
  UNITS_PER_S,
} from './tones.js'

export interface Sound {
  readonly samples: Float32Array
  /** Samples per second. */
  readonly rate: number
}

interface Understood {
  readonly text: string
  readonly voice: number
  /** Seconds at which the byte of that number begins; one more than there are bytes, for the end. */
  timeOf(byte: number): number
}

/** Where a chime may begin, from the start of the sound. */
const SEARCHED_S = 5
const WINDOW_S = 0.02
const HOP_S = 0.005
/** Share of a tone that is listened to, in its middle. */
const MIDDLE = 0.6
/** The chime's end is known this well. */
const SLACK_S = 0.008
const SLACK_STEP_S = 0.001
/** Bytes understood in one turn of the loop. */
const BYTES_A_TURN = 128

/** Null when it is none of ours, or was damaged. Gives the loop a turn now and then. */
export async function understood(sound: Sound): Promise<Understood | null> {
  const chimeEnd = endOfChime(sound)
  if (chimeEnd === null) return null
  const found = header(sound, chimeEnd)
  if (found === null) return null
  const { opening, at } = found
  const toneS = opening.toneUnits / UNITS_PER_S
  const textAt = at + HEADER_TONES * HEADER_TONE_S
  const bytes = await bytesIn(sound, textAt, toneS, opening.bytes)
  if (bytes === null) return null
  return { text: bytes.toString(), voice: opening.voice, timeOf: (byte) => textAt + 2 * byte * toneS }
}

/** Power of a frequency in a stretch of samples (Goertzel), relative to a full tone's. */
function power({ samples, rate }: Sound, hz: number, from: number, length: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hz) / rate)
  let one = 0
  let two = 0
  const end = Math.min(samples.length, from + length)
  for (let at = Math.max(0, from); at < end; at++) {
    const next = samples[at]! + coefficient * one - two
    two = one
    one = next
  }
  return (one * one + two * two - coefficient * one * two) / (length * length)
}

function energy({ samples }: Sound, from: number, length: number): number {
  let sum = 0
  const end = Math.min(samples.length, from + length)
  for (let at = Math.max(0, from); at < end; at++) sum += samples[at]! * samples[at]!
  return sum / length
}

/** A pure tone has half its energy as power. */
function isChime(sound: Sound, from: number, length: number): boolean {
  const whole = energy(sound, from, length)
  return whole > 1e-5 && power(sound, CHIME_HZ, from, length) > 0.3 * whole
}

/** Seconds at which the first chime ends; null when there is none. */
function endOfChime(sound: Sound): number | null {
  const { rate, samples } = sound
  const window = Math.round(WINDOW_S * rate)
  const hop = Math.max(1, Math.round(HOP_S * rate))
  const last = Math.min(samples.length - window, SEARCHED_S * rate)
  for (let at = 0; at <= last; at += hop) {
    if (!isChime(sound, at, window)) continue
    let end = at
    while (end <= samples.length - window && isChime(sound, end, window)) end += Math.max(1, hop >> 2)
    const seconds = (end + window / 2) / rate
    // Shorter ones are something else's.
    if (end - at > ((CHIME_S - 2 * WINDOW_S) * rate) / 2) return seconds
    at = end
  }
  return null
}

/** The header, and when it begins: in the middle of all beginnings from which it can be read. */
function header(sound: Sound, near: number): { readonly opening: Opening; readonly at: number } | null {
  const good: number[] = []
  let opening: Opening | null = null
  for (let slack = -2 * SLACK_S; slack <= SLACK_S; slack += SLACK_STEP_S) {
    const nibbles = Array.from({ length: HEADER_TONES }, (_, tone) =>
      loudest(sound, near + slack + tone * HEADER_TONE_S, HEADER_TONE_S),
    )
    const read = openingIn(nibbles)
    if (read === null) continue
    opening = read
    good.push(near + slack)
  }
  return opening === null ? null : { opening, at: good[good.length >> 1]! }
}

/** Which of the sixteen tones a stretch is. */
function loudest(sound: Sound, atS: number, lengthS: number): number {
  const length = Math.round(lengthS * MIDDLE * sound.rate)
  const from = Math.round((atS + (lengthS * (1 - MIDDLE)) / 2) * sound.rate)
  let best = 0
  let most = -1
  for (let nibble = 0; nibble < 16; nibble++) {
    const loud = power(sound, toneHz(nibble), from, length)
    if (loud <= most) continue
    best = nibble
    most = loud
  }
  return best
}

async function bytesIn(sound: Sound, atS: number, toneS: number, count: number): Promise<Buffer | null> {
  const tones = 2 * count + CHECK_TONES
  if (atS + tones * toneS > sound.samples.length / sound.rate + toneS) return null
  const bytes = Buffer.alloc(count)
  for (let byte = 0; byte < count; byte++) {
    const high = loudest(sound, atS + 2 * byte * toneS, toneS)
    bytes[byte] = high * 16 + loudest(sound, atS + (2 * byte + 1) * toneS, toneS)
    if (byte % BYTES_A_TURN === BYTES_A_TURN - 1) await new Promise((resolve) => setImmediate(resolve))
  }
  const check = Array.from({ length: CHECK_TONES }, (_, at) =>
    loudest(sound, atS + (2 * count + at) * toneS, toneS),
  )
  return checkTones(bytes).join() === check.join() ? bytes : null
}
