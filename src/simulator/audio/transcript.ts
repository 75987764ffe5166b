/** A transcript with times, speakers and entities (contract/gateway 6.3) of a recording. */
import { createHash } from 'node:crypto'
import {
  type AudioFile,
  type Transcript,
  type TranscriptEntity,
  type TranscriptionRequest,
  type TranscriptSegment,
  type TranscriptWord,
  transcriptionUsage,
} from '../../gateway/formats/audio.js'
import { ProseGenerator } from '../answer/prose.js'
import { RANDOM_LANE, SeededRandom } from '../random.js'
import { RECORDING_HEAD_BYTES, readRecording } from './embedded-text.js'

/** Length of a recording that lies elsewhere and is never fetched. */
const REMOTE_SECONDS = 30
const WORDS_PER_SECOND = 2.5
/** Half an hour of speech; of a longer recording the words last longer. */
const MOST_WORDS = 5_000

/** Speakers take turns, sentence by sentence, where they are asked for. */
const SPEAKERS = 2

/**
 * What simulated speech has said, and otherwise a text that follows from the first bytes and the size: equal
 * recordings get equal ones.
 */
export async function transcribe(request: TranscriptionRequest, seed: number): Promise<Transcript> {
  const { audio } = request
  if (audio.kind === 'url') {
    return transcriptOf(inventText(audio.url, REMOTE_SECONDS, seed), REMOTE_SECONDS, request)
  }
  const head = await readHead(audio)
  const { text, seconds } = readRecording(head, audio.bytes.size, audio.format)
  return transcriptOf(text ?? inventText(head, seconds, seed), seconds, request)
}

/** The rest may be a hundred megabytes, and says nothing that is needed. */
async function readHead({ bytes }: AudioFile): Promise<Buffer> {
  const head = Buffer.allocUnsafe(Math.min(bytes.size, RECORDING_HEAD_BYTES))
  let at = 0
  for await (const piece of bytes.read()) {
    head.set(piece.subarray(0, head.byteLength - at), at)
    at = Math.min(head.byteLength, at + piece.byteLength)
    if (at === head.byteLength) break
  }
  return head.subarray(0, at)
}

function inventText(source: string | Uint8Array, seconds: number, seed: number): string {
  const digest = createHash('sha256').update(source).digest()
  const from = { low: digest.readInt32LE(0) ^ seed, high: digest.readInt32LE(4) }
  const count = Math.min(MOST_WORDS, Math.max(1, Math.round(seconds * WORDS_PER_SECOND)))
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
  const speakerIn = (sentence: number): SpeakerLabel => {
    if (request.diarize !== true) return {}
    const speaker = sentence % SPEAKERS
    return { speaker, speaker_label: `speaker_${speaker}` }
  }
  let said = 0
  /** Asked about one word after the other. */
  const sentenceOf = ({ start }: TextPassage): number => {
    while (said < sentences.length - 1 && start >= sentences[said]!.end) said++
    return said
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
      ...speakerIn(id),
    })),
    words: passagesOf(text, WORD).map((word) => ({
      word: word.text,
      ...times(word),
      confidence: confidenceOf(word.text, keyterms),
      type: 'word',
      ...speakerIn(sentenceOf(word)),
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

// A text may come from anybody, in a crafted recording: each pattern takes a time in proportion to its length.
const WORD = /\S+/g
/** Up to a stop that a blank follows, with any closing quotes, or to the end. */
const SENTENCE = /\S[\s\S]*?(?:[.!?\u2026]{1,4}["'\u201d\u2019)\]]{0,4}(?=\s|$)|[\u3002\uff01\uff1f]+|$)/g
/** A word without what stands around it. */
const BARE_WORD = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su

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
  const bare = BARE_WORD.exec(word)?.[0].toLowerCase() ?? ''
  if (keyterms.has(bare)) return 1
  return 0.9 + (Buffer.from(bare).reduce((sum, byte) => sum + byte, 0) % 90) / 1000
}

const ENTITIES: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['email', /\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g],
  ['url', /\bhttps?:\/\/[^\s"'<>]+/g],
  ['date', /\b\d{4}-\d{2}-\d{2}\b/g],
  ['money', /[$\u20ac£]\d+(?:[.,]\d+)*/g],
  ['number', /\b\d+(?:[.,]\d+)*\b/g],
]

/** Of those that overlap the first kind wins. */
function findEntities(text: string): TranscriptEntity[] {
  const found: TranscriptEntity[] = []
  /** By place, whether an entity is there. */
  const taken = new Uint8Array(text.length)
  for (const [type, pattern] of ENTITIES) {
    for (const match of text.matchAll(pattern)) {
      const start = match.index
      const end = start + match[0].length
      if (taken.subarray(start, end).includes(1)) continue
      taken.fill(1, start, end)
      found.push({ text: match[0], type, start_char: start, end_char: end })
    }
  }
  return found.sort((one, other) => one.start_char - other.start_char)
}

/** Seconds, as fine as a millisecond. */
function roundToMilliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}
