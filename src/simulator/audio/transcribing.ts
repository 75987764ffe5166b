/** A transcript with times, speakers and entities (contract/gateway 6.3) of a text whose times are known. */
import type {
  Transcript,
  TranscriptEntity,
  TranscriptionRequest,
  TranscriptSegment,
  TranscriptWord,
} from '../../gateway/formats/audio.js'
import { transcriptionUsage } from '../../gateway/formats/audio-usage.js'

/** A text, and when each of its characters is said. */
export interface Timed {
  readonly text: string
  /** Seconds of the whole sound. */
  readonly duration: number
  /** Seconds at which the character (UTF-16 unit) of that index begins; also of the index behind the last. */
  readonly timeOf: (index: number) => number
}

const MILLI = 1000

/** Two take turns, sentence by sentence, where speakers are asked for. */
const SPEAKERS = 2

export function transcriptOf(timed: Timed, request: TranscriptionRequest): Transcript {
  const { text, duration } = timed
  const sentences = stretchesOf(text, SENTENCE)
  const words = stretchesOf(text, WORD)
  const speakerAt = (index: number): number =>
    Math.max(
      0,
      sentences.findIndex(({ end }) => index < end),
    ) % SPEAKERS
  const who = (index: number): Partial<TranscriptWord> =>
    request.diarize === true
      ? { speaker: speakerAt(index), speaker_label: `speaker_${speakerAt(index)}` }
      : {}
  const keyterms = new Set(request.keyterms?.map((term) => term.toLowerCase()))
  return {
    text,
    language: request.language ?? 'en',
    language_confidence: 0.98,
    duration: rounded(duration),
    confidence: 0.97,
    segments: sentences.map((each, at) => segmentOf(timed, each, at, who(each.start))),
    words: words.map((each) => wordOf(timed, each, keyterms, who(each.start))),
    entities: entitiesIn(text),
    usage: transcriptionUsage(duration),
  }
}

interface Stretch {
  readonly start: number
  readonly end: number
  readonly text: string
}

const WORD = /\S+/g
/** Up to a stop that a blank follows, with any closing quotes, or to the end. */
const SENTENCE = /\S[\s\S]*?(?:[.!?…]+["'”’)\]]*(?=\s|$)|[。！？]+|$)/g

function stretchesOf(text: string, pattern: RegExp): Stretch[] {
  return [...text.matchAll(pattern)].map((match) => {
    const found = match[0].trimEnd()
    return { start: match.index, end: match.index + found.length, text: found }
  })
}

function segmentOf(
  { timeOf }: Timed,
  { start, end, text }: Stretch,
  id: number,
  who: Partial<TranscriptWord>,
): TranscriptSegment {
  const from = rounded(timeOf(start))
  return {
    id,
    // Whisper counts frames of ten milliseconds.
    seek: Math.floor(from * 100),
    start: from,
    end: rounded(timeOf(end)),
    text,
    tokens: Array.from(Buffer.from(text)),
    temperature: 0,
    avg_logprob: -0.1,
    compression_ratio: 1,
    no_speech_prob: 0.01,
    ...speakerOnly(who),
  }
}

function speakerOnly({ speaker, speaker_label: label }: Partial<TranscriptWord>): Partial<TranscriptSegment> {
  return speaker === undefined || label === undefined ? {} : { speaker, speaker_label: label }
}

function wordOf(
  { timeOf }: Timed,
  { start, end, text }: Stretch,
  keyterms: ReadonlySet<string>,
  who: Partial<TranscriptWord>,
): TranscriptWord {
  const bare = text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '').toLowerCase()
  return {
    word: text,
    start: rounded(timeOf(start)),
    end: rounded(timeOf(end)),
    confidence: keyterms.has(bare) ? 1 : 0.9 + (sumOf(bare) % 90) / MILLI,
    type: 'word',
    ...who,
  }
}

function sumOf(text: string): number {
  let sum = 0
  for (let at = 0; at < text.length; at++) sum += text.charCodeAt(at)
  return sum
}

const ENTITIES: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['email', /\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g],
  ['url', /\bhttps?:\/\/[^\s"'<>]+/g],
  ['date', /\b\d{4}-\d{2}-\d{2}\b/g],
  ['money', /[$€£]\d+(?:[.,]\d+)*/g],
  ['number', /\b\d+(?:[.,]\d+)*\b/g],
]

/** Of those that overlap the first kind wins. */
function entitiesIn(text: string): TranscriptEntity[] {
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

/** Milliseconds are as fine as anybody needs. */
function rounded(seconds: number): number {
  return Math.round(seconds * MILLI) / MILLI
}
