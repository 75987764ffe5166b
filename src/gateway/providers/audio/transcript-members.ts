/** Readers of what transcripts have in common, whoever sends them (contract/gateway 6.3). */
import {
  type Transcript,
  type TranscriptEntity,
  type TranscriptSegment,
  type TranscriptWord,
  transcriptionUsage,
} from '../../formats/audio.js'
import { optionalMember, UsageReader } from '../../formats/json-values.js'

/** Those of the members that are finite numbers. */
export function numbersIn<K extends string>(
  value: Readonly<Record<string, unknown>>,
  names: readonly K[],
): { readonly [N in K]?: number } {
  const found = names.filter((name) => Number.isFinite(value[name]))
  return Object.fromEntries(found.map((name) => [name, value[name]])) as { readonly [N in K]?: number }
}

/**
 * What a service is paid for by the length of the recording. `seconds` is what it says, whatever that is; where it says
 * nothing the recording itself is believed.
 */
function secondsUsage(seconds: unknown): Transcript['usage'] {
  const read = new UsageReader()
  const told = read.seconds(seconds)
  return told === undefined || !read.isPlausible ? null : transcriptionUsage(told)
}

// ── Speakers ────────────────────────────────────────────────────────────────

type SpeakerMembers = Pick<TranscriptWord, 'speaker' | 'speaker_label'>

/** The speakers of one transcript: a service names them by a number or by a label, and callers are told both. */
export class SpeakerNames {
  readonly #numbers = new Map<string, number>()

  of(name: unknown): SpeakerMembers {
    if (Number.isSafeInteger(name)) return { speaker: name as number, speaker_label: `speaker_${name}` }
    if (typeof name !== 'string' || name === '') return {}
    const known = this.#numbers.get(name) ?? this.#numbers.size
    this.#numbers.set(name, known)
    return { speaker: known, speaker_label: name }
  }
}

// ── Channels ────────────────────────────────────────────────────────────────

/** What a service has heard on one channel of a recording, or on all of them together. */
export interface HeardChannel
  extends Pick<Transcript, 'text' | 'language' | 'language_confidence' | 'confidence'> {
  readonly words: readonly TranscriptWord[]
  readonly entities?: readonly TranscriptEntity[]
}

/**
 * The transcript of a service that gives words, channel by channel; at least one channel. `seconds`: what it says of the
 * length of the recording, whatever that is. Each channel is paid.
 */
export function transcriptOfChannels(channels: readonly HeardChannel[], seconds: unknown): Transcript {
  const [first] = channels
  const { language, language_confidence, confidence } = first!
  const heard = channels.length === 1 ? first! : joinChannels(channels)
  const duration = Number.isFinite(seconds) ? (seconds as number) : undefined
  return {
    text: heard.text,
    ...optionalMember('language', language),
    ...optionalMember('language_confidence', language_confidence),
    ...optionalMember('duration', duration),
    ...optionalMember('confidence', channels.length === 1 ? confidence : undefined),
    segments: byTime(channels.flatMap(({ text, words }) => sentencesOf(text, words))).map((each, id) => ({
      ...each,
      id,
    })),
    words: heard.words,
    ...optionalMember('entities', heard.entities),
    usage: secondsUsage(duration === undefined ? seconds : duration * channels.length),
  }
}

/** One text below the other, and the words as they were spoken. */
function joinChannels(channels: readonly HeardChannel[]): HeardChannel {
  const entities: TranscriptEntity[] = []
  let text = ''
  for (const channel of channels) {
    if (text !== '') text += '\n'
    for (const each of channel.entities ?? [])
      entities.push({
        ...each,
        start_char: each.start_char + text.length,
        end_char: each.end_char + text.length,
      })
    text += channel.text
  }
  return {
    text,
    words: byTime(channels.flatMap(({ words }) => words)),
    ...(entities.length > 0 && { entities }),
  }
}

function byTime<T extends { readonly start: number }>(parts: readonly T[]): T[] {
  return parts.toSorted((one, other) => one.start - other.start)
}

// ── Segments ────────────────────────────────────────────────────────────────

/** Some clients refuse a segment without any of these (contract/gateway 12.4). */
export const SEGMENT_FIGURES = {
  seek: 0,
  temperature: 0,
  avg_logprob: 0,
  compression_ratio: 0,
  no_speech_prob: 0,
}

/** Full stops, marks and ellipses of several scripts, with closing quotes. */
const SENTENCE_END = /[.!?\u3002\uff01\uff1f\u061f\u0964\u2026]["'\u201d\u2019)\]]*$/

/**
 * The sentences of a transcript whose service gives words alone, with the times of their words: one ends behind its
 * mark, and where another speaker or channel begins.
 */
function sentencesOf(text: string, words: readonly TranscriptWord[]): TranscriptSegment[] {
  const places = placesOf(text, words)
  const segments: TranscriptSegment[] = []
  let first = 0
  for (const [at, { word, speaker, channel }] of words.entries()) {
    const next = words[at + 1]
    const isLast = next === undefined || next.speaker !== speaker || next.channel !== channel
    if (!isLast && !SENTENCE_END.test(word)) continue
    segments.push(segmentOf(segments.length, text, words.slice(first, at + 1), places.slice(first, at + 1)))
    first = at + 1
  }
  return segments
}

function segmentOf(
  id: number,
  text: string,
  words: readonly TranscriptWord[],
  places: readonly (TextPlace | null)[],
): TranscriptSegment {
  const [first] = words
  const { start, speaker, speaker_label, channel } = first!
  const [from, to] = [places[0], places.at(-1)]
  const isFound = from != null && to != null
  return {
    id,
    start,
    end: words.at(-1)!.end,
    text: isFound ? text.slice(from.start, to.end) : words.map(({ word }) => word).join(' '),
    tokens: [],
    ...SEGMENT_FIGURES,
    ...(speaker !== undefined && { speaker }),
    ...(speaker_label !== undefined && { speaker_label }),
    ...(channel !== undefined && { channel }),
  }
}

/** Zero-based, the end exclusive. */
interface TextPlace {
  readonly start: number
  readonly end: number
}

/**
 * An entity that a service places by its first word. Offsets are of its own text where that stands there, else of the
 * words; null where they were not found either.
 */
export function entityBetween(
  text: string,
  { value, type }: { readonly value: string; readonly type: string },
  first: TextPlace | null | undefined,
  last: TextPlace | null | undefined,
): TranscriptEntity | null {
  if (first == null) return null
  const near = text.slice(first.start, first.start + NEAR_CHARS + value.length).indexOf(value)
  if (near >= 0) {
    const start = first.start + near
    return { text: value, type, start_char: start, end_char: start + value.length }
  }
  const end = last?.end ?? first.end
  return { text: text.slice(first.start, end), type, start_char: first.start, end_char: end }
}

/** Words stand close behind each other: a word that is not there is not looked for in the whole rest of the text. */
const NEAR_CHARS = 100

/** Where each word stands in the text; null for one that is not found close behind the one before. */
export function placesOf(text: string, words: readonly TranscriptWord[]): (TextPlace | null)[] {
  let from = 0
  return words.map(({ word }) => {
    const near = text.slice(from, from + NEAR_CHARS + word.length)
    const at = near.indexOf(word)
    if (at < 0) return null
    const start = from + at
    from = start + word.length
    return { start, end: from }
  })
}
