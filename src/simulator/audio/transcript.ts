/** A transcript with times, speakers and entities (contract/gateway 6.3) of a recording. */
import { createHash } from 'node:crypto'
import {
  type AudioSource,
  type Transcript,
  type TranscriptEntity,
  type TranscriptionRequest,
  type TranscriptSegment,
  type TranscriptWord,
  transcriptionUsage,
} from '../../gateway/formats/audio.js'
import { ProseGenerator } from '../answer/prose.js'
import { RANDOM_LANE, SeededRandom } from '../random.js'
import { readRecording } from './embedded-text.js'

/** Length of a recording that lies elsewhere and is never fetched. */
const REMOTE_SECONDS = 30
const WORDS_PER_SECOND = 2.5

/** Speakers take turns, sentence by sentence, where they are asked for. */
const SPEAKERS = 2

/**
 * What simulated speech has said, and otherwise a text that follows from the bytes: equal recordings get equal
 * ones.
 */
export async function transcribe(request: TranscriptionRequest, seed: number): Promise<Transcript> {
  const { audio } = request
  if (audio.kind === 'url') {
    return transcriptOf(inventText(audio.url, REMOTE_SECONDS, seed), REMOTE_SECONDS, request)
  }
  const bytes = await readAll(audio)
  const { text, seconds } = readRecording(bytes, audio.format)
  return transcriptOf(text ?? inventText(bytes, seconds, seed), seconds, request)
}

async function readAll({ bytes }: AudioSource & { readonly kind: 'bytes' }): Promise<Buffer> {
  const all = Buffer.allocUnsafe(bytes.size)
  let at = 0
  for await (const piece of bytes.read()) {
    all.set(piece, at)
    at += piece.byteLength
  }
  return all
}

function inventText(source: string | Uint8Array, seconds: number, seed: number): string {
  const digest = createHash('sha256').update(source).digest()
  const from = { low: digest.readInt32LE(0) ^ seed, high: digest.readInt32LE(4) }
  const count = Math.max(1, Math.round(seconds * WORDS_PER_SECOND))
  const prose = new ProseGenerator(new SeededRandom(from, RANDOM_LANE.words), count)
  return Array.from({ length: count }, () => prose.nextToken()).join('')
}

/** Every character takes the same time. */
function transcriptOf(text: string, duration: number, request: TranscriptionRequest): Transcript {
  const times = ({ start, end }: TextPassage) => ({
    start: roundToMilliseconds((duration * start) / text.length),
    end: roundToMilliseconds((duration * end) / text.length),
  })
  const sentences = passagesOf(text, SENTENCE)
  const speakerOf = ({ start }: TextPassage): SpeakerLabel => {
    if (request.diarize !== true) return {}
    const sentence = sentences.findIndex(({ end }) => start < end)
    const speaker = Math.max(0, sentence) % SPEAKERS
    return { speaker, speaker_label: `speaker_${speaker}` }
  }
  const keyterms = new Set(request.keyterms?.map((term) => term.toLowerCase()))
  return {
    text,
    language: request.language ?? 'en',
    language_confidence: 0.98,
    duration: roundToMilliseconds(duration),
    confidence: 0.97,
    segments: sentences.map((sentence, id) => ({
      ...segmentOf(sentence.text, id, times(sentence)),
      ...speakerOf(sentence),
    })),
    words: passagesOf(text, WORD).map((word) => ({
      word: word.text,
      ...times(word),
      confidence: confidenceOf(word.text, keyterms),
      type: 'word',
      ...speakerOf(word),
    })),
    entities: findEntities(text),
    usage: transcriptionUsage(duration),
  }
}

type SpeakerLabel = Pick<TranscriptWord, 'speaker' | 'speaker_label'>

/** A part of the text; indices are of UTF-16 units, the end exclusive. */
interface TextPassage {
  readonly start: number
  readonly end: number
  readonly text: string
}

const WORD = /\S+/g
/** Up to a stop that a blank follows, with any closing quotes, or to the end. */
const SENTENCE = /\S[\s\S]*?(?:[.!?…]+["'”’)\]]*(?=\s|$)|[。！？]+|$)/g

function passagesOf(text: string, pattern: RegExp): TextPassage[] {
  return [...text.matchAll(pattern)].map((match) => {
    const found = match[0].trimEnd()
    return { start: match.index, end: match.index + found.length, text: found }
  })
}

function segmentOf(
  text: string,
  id: number,
  times: Pick<TranscriptSegment, 'start' | 'end'>,
): TranscriptSegment {
  return {
    id,
    // Whisper counts frames of ten milliseconds.
    seek: Math.floor(times.start * 100),
    ...times,
    text,
    tokens: Array.from(Buffer.from(text)),
    temperature: 0,
    avg_logprob: -0.1,
    compression_ratio: 1,
    no_speech_prob: 0.01,
  }
}

/** A key term is certain; any other word is by what it is made of. */
function confidenceOf(word: string, keyterms: ReadonlySet<string>): number {
  const bare = word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '').toLowerCase()
  if (keyterms.has(bare)) return 1
  return 0.9 + (Buffer.from(bare).reduce((sum, byte) => sum + byte, 0) % 90) / 1000
}

const ENTITIES: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['email', /\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g],
  ['url', /\bhttps?:\/\/[^\s"'<>]+/g],
  ['date', /\b\d{4}-\d{2}-\d{2}\b/g],
  ['money', /[$€£]\d+(?:[.,]\d+)*/g],
  ['number', /\b\d+(?:[.,]\d+)*\b/g],
]

/** Of those that overlap the first kind wins. */
function findEntities(text: string): TranscriptEntity[] {
  const found: TranscriptEntity[] = []
  for (const [type, pattern] of ENTITIES) {
    for (const match of text.matchAll(pattern)) {
      const start = match.index
      const end = start + match[0].length
      if (found.some((each) => start < each.end_char && each.start_char < end)) continue
      found.push({ text: match[0], type, start_char: start, end_char: end })
    }
  }
  return found.sort((one, other) => one.start_char - other.start_char)
}

/** Seconds, as fine as a millisecond. */
function roundToMilliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}
