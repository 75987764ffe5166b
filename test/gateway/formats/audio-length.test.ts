/** The length of a recording, by the recording itself. */
import fc from 'fast-check'
import { test } from 'tap'
import { measureSeconds } from '../../../src/gateway/formats/audio-length.js'

/** `pieceBytes`: as much as is read at a time. */
function measure(format: string, content: Uint8Array, pieceBytes = 1_000): Promise<number | null> {
  const read = async function* () {
    for (let at = 0; at < content.byteLength; at += pieceBytes) yield content.subarray(at, at + pieceBytes)
  }
  return measureSeconds({ format, bytes: { size: content.byteLength, read } })
}

function chunk(name: string, content: Buffer, told = content.byteLength): Buffer {
  const head = Buffer.alloc(8)
  head.write(name, 'latin1')
  head.writeUInt32LE(told, 4)
  return Buffer.concat([head, content])
}

interface Wav {
  readonly coding?: number
  readonly channels?: number
  readonly rate?: number
  readonly bits?: number
  /** Of samples. */
  readonly bytes?: number
  /** What the file says of them. */
  readonly told?: number
}

function wav({
  coding = 1,
  channels = 1,
  rate = 8_000,
  bits = 16,
  bytes = 32_000,
  told = bytes,
}: Wav): Buffer {
  const format = Buffer.alloc(16)
  format.writeUInt16LE(coding, 0)
  format.writeUInt16LE(channels, 2)
  format.writeUInt32LE(rate, 4)
  // A lie: nobody reads it.
  format.writeUInt32LE(0xff_ff_ff, 8)
  format.writeUInt16LE(bits, 14)
  const list = chunk('LIST', Buffer.from('INFOsoftware'))
  const parts = [Buffer.from('WAVE'), chunk('fmt ', format), list, chunk('data', Buffer.alloc(bytes), told)]
  return chunk('RIFF', Buffer.concat(parts))
}

const WAVS: readonly (readonly [string, Wav, number | null])[] = [
  ['16 bits, mono', {}, 2],
  ['two channels', { channels: 2 }, 1],
  ['a law of telephony', { coding: 7, bits: 8 }, 4],
  ['floats', { coding: 3, bits: 32 }, 1],
  ['written while it was sent', { told: 0xff_ff_ff_ff }, 2],
  ['without a length', { told: 0 }, 2],
  ['with something behind its samples', { told: 16_000 }, 1],
  ['compressed', { coding: 2, bits: 4 }, null],
  ['of an impossible rate', { rate: 4_000_000_000 }, null],
  ['of no channels', { channels: 0 }, null],
]

for (const [name, parts, seconds] of WAVS)
  test(`a WAV file, ${name}`, async (t) => t.equal(await measure('wav', wav(parts)), seconds))

test('samples without a head', async (t) => t.equal(await measure('pcm', Buffer.alloc(48_000)), 1.5))

// ── MP3 ─────────────────────────────────────────────────────────────────────

/** Of 44.1 kHz, 1152 samples. */
function frame(kilobits: 128 | 32): Buffer {
  const bytes = Buffer.alloc(kilobits === 128 ? 417 : 104, 0xff)
  bytes.writeUInt32BE(kilobits === 128 ? 0xff_fb_90_64 : 0xff_fb_10_64)
  return bytes
}
const FRAME_SECONDS = 1152 / 44_100

const frames = (count: number, kilobits: 128 | 32 = 128): Buffer[] => Array(count).fill(frame(kilobits))

function tagOf(bytes: number): Buffer {
  const head = Buffer.from([...Buffer.from('ID3'), 4, 0, 0, 0, 0, bytes >> 7, bytes & 0x7f])
  // Each of the bytes could be the beginning of a frame.
  return Buffer.concat([head, ...frames(Math.ceil(bytes / 417))]).subarray(0, 10 + bytes)
}

const MP3S: readonly (readonly [string, readonly Buffer[], number | null])[] = [
  ['of one rate', frames(100), 100],
  ['of several rates', [...frames(50), ...frames(50, 32)], 100],
  ['with a tag before it', [tagOf(2_000), ...frames(10)], 10],
  ['with something in the middle', [...frames(5), Buffer.alloc(3_000), ...frames(5)], 10],
  ['with a tag behind it', [...frames(5), Buffer.alloc(128, 'TAG')], 5],
  ['that is none', [Buffer.from('not a frame')], null],
  ['that hides its frames', [frame(32), Buffer.alloc(70_000), ...frames(500)], null],
]

for (const [name, parts, found] of MP3S) {
  test(`an MP3 ${name}`, async (t) => {
    const content = Buffer.concat(parts)
    for (const pieceBytes of [13, 1_000, content.byteLength]) {
      const seconds = await measure('mp3', content, pieceBytes)
      if (found === null) t.equal(seconds, null)
      else t.ok(Math.abs(seconds! - found * FRAME_SECONDS) < 1e-6, `${seconds} in pieces of ${pieceBytes}`)
    }
  })
}

test('whatever the bytes are, the length is a number, or is not told', async () => {
  const formats = fc.constantFrom('wav', 'mp3', 'pcm', 'flac', '')
  const heads = fc.constantFrom(Buffer.alloc(0), wav({ bytes: 4 }), tagOf(4), frame(128))
  await fc.assert(
    fc.asyncProperty(formats, heads, fc.uint8Array({ maxLength: 2_000 }), async (format, head, rest) => {
      const seconds = await measure(format, Buffer.concat([head, rest]), 64)
      return seconds === null || (Number.isFinite(seconds) && seconds >= 0)
    }),
  )
})

test('a recording that cannot be read any more has no length', async (t) => {
  const read = async function* (): AsyncIterable<Uint8Array> {
    yield frame(128)
    throw new Error('closed')
  }
  t.equal(await measureSeconds({ format: 'mp3', bytes: { size: 1_000, read } }), null)
})
