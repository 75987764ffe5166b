import { test } from 'tap'
import type { TranscriptionRequest } from '../../src/gateway/formats/audio.js'
import { embedInSamples, encodeForSamples, id3Tag } from '../../src/simulator/audio/embedded-text.js'
import { transcribe } from '../../src/simulator/audio/transcript.js'

const MIB = 2 ** 20
const MOST_SECONDS = 7200
const PIECE_BYTES = 64 * 1024

/** A recording of these first bytes and of zeros behind them. Counts the bytes that are read. */
function recordingOf(head: Uint8Array, format: string, size = head.byteLength) {
  const counted = { read: 0 }
  const bytes = {
    size,
    async *read(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < size; at += PIECE_BYTES) {
        const piece = new Uint8Array(Math.min(PIECE_BYTES, size - at))
        piece.set(head.subarray(at, at + piece.byteLength))
        counted.read += piece.byteLength
        yield piece
      }
    },
  }
  const request: TranscriptionRequest = {
    model: 'sim/transcribe',
    audio: { kind: 'bytes', bytes, format, filename: `a.${format}` },
    response_format: 'verbose_json',
    diarize: true,
  }
  return { counted, transcript: () => transcribe(request, 1) }
}

/** The first 44 bytes of a WAV file of 16-bit samples. */
function wavHead(rate: number, dataBytes: number, channels = 1): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF')
  head.writeUInt32LE(36 + dataBytes, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt16LE(2 * channels, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(dataBytes, 40)
  return head
}

function samplesOf(text: string): Uint8Array {
  const embedded = encodeForSamples(text)
  const samples = new Int16Array(embedded.byteLength * 8)
  embedInSamples(samples, 0, embedded)
  return new Uint8Array(samples.buffer)
}

for (const rate of [0, 1, 3999, 192_001, 0xffff_ffff]) {
  test(`a WAV file is not believed ${rate} samples a second: its length follows from its size`, async (t) => {
    const { transcript } = recordingOf(wavHead(rate, 16 * MIB), 'wav', 16 * MIB + 44)
    const { duration, words } = await transcript()
    t.equal(Math.round(duration!), 1049)
    t.equal(words!.length, 2621)
  })
}

for (const rate of [4000, 192_000]) {
  test(`a WAV file is believed ${rate} samples a second`, async (t) => {
    const { transcript } = recordingOf(wavHead(rate, 2 * rate), 'wav', 2 * rate + 44)
    t.equal((await transcript()).duration, 1)
  })
}

for (const [name, head, format] of [
  ['a WAV file', wavHead(4000, 0xfff0_0000), 'wav'],
  ['samples', Buffer.alloc(16), 'pcm'],
  ['an MP3', Buffer.from('ID3\x04'), 'mp3'],
  ['a file of another kind', Buffer.alloc(16), 'flac'],
] as const) {
  test(`of ${name} of 300 MiB only the beginning is read, and two hours are heard`, async (t) => {
    const { counted, transcript } = recordingOf(head, format, 300 * MIB)
    const { duration, words } = await transcript()
    t.equal(duration, MOST_SECONDS)
    t.equal(words!.length, 5000)
    t.equal(counted.read, MIB)
  })
}

test('a text longer than speech can be is none, wherever it is hidden', async (t) => {
  const longest = 'あ'.repeat(4096)
  const tooLong = 'a. '.repeat(300_000)
  for (const [format, hide] of [
    ['mp3', (text: string) => Buffer.concat([id3Tag(text, 1), Buffer.alloc(1000)])],
    ['pcm', samplesOf],
  ] as const) {
    t.equal((await recordingOf(hide(longest), format).transcript()).text, longest, format)
    const { text } = await recordingOf(hide(tooLong), format).transcript()
    t.not(text.slice(0, 6), 'a. a. ', format)
    t.ok(text.length < 20_000, format)
  }
})

test('an MP3 whose tag tells more seconds than its bytes can hold is not one of ours', async (t) => {
  const lying = Buffer.concat([id3Tag('hello', 60), Buffer.alloc(32_000)])
  const { text, duration } = await recordingOf(lying, 'mp3').transcript()
  t.not(text, 'hello')
  t.ok(duration! < 3)
  const honest = Buffer.concat([id3Tag('hello', 30), Buffer.alloc(32_000)])
  t.match(await recordingOf(honest, 'mp3').transcript(), { text: 'hello', duration: 30 })
})

test('speakers take turns by sentence, and each word has the speaker of its sentence', async (t) => {
  const spoken = Buffer.concat([id3Tag('One two. Three four! Five', 3), Buffer.alloc(24_000)])
  const { words, segments } = await recordingOf(spoken, 'mp3').transcript()
  t.same(
    segments!.map(({ speaker }) => speaker),
    [0, 1, 0],
  )
  t.same(
    words!.map(({ speaker }) => speaker),
    [0, 0, 1, 1, 0],
  )
})

test('entities do not overlap, and the first kind wins', async (t) => {
  const text = 'Write to a.b@example.org or https://example.org/1 by 2026-01-02 for $12.50, 7 times.'
  const spoken = Buffer.concat([id3Tag(text, 3), Buffer.alloc(24_000)])
  const { entities } = await recordingOf(spoken, 'mp3').transcript()
  t.same(
    entities!.map(({ type, text: found }) => [type, found]),
    [
      ['email', 'a.b@example.org'],
      ['url', 'https://example.org/1'],
      ['date', '2026-01-02'],
      ['money', '$12.50'],
      ['number', '7'],
    ],
  )
})
