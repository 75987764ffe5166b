import {
  CHIME_HZ,
  CHIME_S,
  checkTones,
  HEADER_TONE_S,
  HUM_HZ,
  headerOf,
  RATE,
  REST_S,
  toneHz,
  toneUnitsAt,
  UNITS_PER_S,
} from './tones.js'

/** Samples that are made at a time: a quarter of a second, a few milliseconds of work. */
const PIECE = RATE / 4
const TONE_LEVEL = 0.5
const HUM_LEVEL = 0.2
/** Samples over which a tone swells and fades. */
const EDGE = 48

/** One stretch of sound. 0 Hz is silence. */
interface Note {
  readonly hz: number
  readonly samples: number
  readonly hums: boolean
}

/** The text as signed 16-bit samples, piece by piece. The same text, voice and speed give the same samples. */
export function* spoken(text: string, voice: number, speed: number): Generator<Int16Array> {
  const mouth = new Mouth(HUM_HZ[voice]!)
  for (const note of notesOf(text, voice, speed)) yield* mouth.sing(note)
  yield mouth.rest()
}

function* notesOf(text: string, voice: number, speed: number): Generator<Note> {
  const bytes = Buffer.from(text)
  const toneUnits = toneUnitsAt(speed)
  yield { hz: CHIME_HZ, samples: CHIME_S * RATE, hums: false }
  for (const nibble of headerOf({ voice, toneUnits, bytes: bytes.byteLength })) {
    yield { hz: toneHz(nibble), samples: HEADER_TONE_S * RATE, hums: false }
  }
  const samples = (toneUnits * RATE) / UNITS_PER_S
  for (const byte of bytes) {
    yield { hz: toneHz(byte >> 4), samples, hums: true }
    yield { hz: toneHz(byte & 15), samples, hums: true }
  }
  for (const nibble of checkTones(bytes)) yield { hz: toneHz(nibble), samples, hums: true }
  yield { hz: 0, samples: REST_S * RATE, hums: false }
}

class Mouth {
  readonly #humHz: number
  #piece = new Int16Array(PIECE)
  #filled = 0
  /** Where the next note begins; tones may be a fraction of a sample too long. */
  #at = 0
  #sample = 0
  #phase = 0

  constructor(humHz: number) {
    this.#humHz = humHz
  }

  *sing({ hz, samples, hums }: Note): Generator<Int16Array> {
    const begin = this.#sample
    this.#at += samples
    const end = Math.round(this.#at)
    const step = (2 * Math.PI * hz) / RATE
    const humStep = (2 * Math.PI * this.#humHz) / RATE
    while (this.#sample < end) {
      const edge = Math.min(this.#sample - begin, end - 1 - this.#sample) / EDGE
      const swell = edge >= 1 ? 1 : 0.5 - 0.5 * Math.cos(Math.PI * Math.max(0, edge))
      this.#phase += step
      const tone = hz === 0 ? 0 : TONE_LEVEL * swell * Math.sin(this.#phase)
      const hum = hums ? HUM_LEVEL * Math.sin(humStep * this.#sample) : 0
      this.#piece[this.#filled++] = Math.round((tone + hum) * 32_767)
      this.#sample++
      if (this.#filled === PIECE) yield this.#full()
    }
  }

  rest(): Int16Array {
    return this.#piece.subarray(0, this.#filled)
  }

  #full(): Int16Array {
    const full = this.#piece
    this.#piece = new Int16Array(PIECE)
    this.#filled = 0
    return full
  }
}
