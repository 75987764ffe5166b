/** What an OpenAI-compatible server has heard, in the gateway's words (contract/gateway 6.3). */
import {
  type Transcript,
  type TranscriptEntity,
  type TranscriptSegment,
  type TranscriptWord,
  transcriptionUsage,
} from '../../formats/audio.js'
import type { Usage } from '../../formats/canonical.js'
import { asObject, type Members, nonEmptyText, optionalMember } from '../../formats/json-values.js'
import { UsageReader } from '../http/usage-reader.js'

/** Null when the body has no text. Members of a wrong type count as absent. */
export function parseTranscript(body: Members): Transcript | null {
  const text = nonEmptyText(body.text)
  if (text === undefined) return null
  const segments = parseList(body.segments, parseSegment)
  const words = parseList(body.words, parseWord)
  const entities = parseList(body.entities, parseEntity)
  return {
    text,
    ...optionalMember('language', nonEmptyText(body.language)),
    ...optionalMember('language_confidence', finiteNumber(body.language_confidence)),
    ...optionalMember('duration', finiteNumber(body.duration)),
    ...optionalMember('confidence', finiteNumber(body.confidence)),
    ...(segments !== null && { segments }),
    ...(words !== null && { words }),
    ...(entities !== null && { entities }),
    usage: transcriptUsage(body),
  }
}

/** Tokens, or seconds; a server that says neither but how long the audio was is paid by that. */
function transcriptUsage(body: Members): Transcript['usage'] {
  const read = new UsageReader()
  const usage = readTranscriptUsage(body, read)
  return read.isPlausible ? usage : 'unbelievable'
}

function readTranscriptUsage(body: Members, read: UsageReader): Usage | null {
  const usage = asObject(body.usage)
  const input = read.tokens(usage?.input_tokens)
  if (input !== undefined) {
    const details = asObject(usage?.input_token_details)
    return {
      ...transcriptionUsage(0),
      milliseconds: 0,
      prompt: input,
      completion: read.tokens(usage?.output_tokens) ?? 0,
      promptAudio: Math.min(input, read.tokens(details?.audio_tokens) ?? 0),
    }
  }
  const seconds = read.seconds(usage?.seconds) ?? read.seconds(body.duration)
  return seconds === undefined ? null : transcriptionUsage(seconds)
}

function parseSegment(value: Members, at: number): TranscriptSegment | null {
  const start = finiteNumber(value.start)
  const end = finiteNumber(value.end)
  const text = nonEmptyText(value.text)
  if (start === undefined || end === undefined || text === undefined) return null
  return {
    id: finiteNumber(value.id) ?? at,
    // Some clients refuse a segment without any of these (contract/gateway 12.4).
    seek: finiteNumber(value.seek) ?? 0,
    start,
    end,
    text,
    tokens: Array.isArray(value.tokens) ? value.tokens.filter((token) => Number.isInteger(token)) : [],
    temperature: finiteNumber(value.temperature) ?? 0,
    avg_logprob: finiteNumber(value.avg_logprob) ?? 0,
    compression_ratio: finiteNumber(value.compression_ratio) ?? 0,
    no_speech_prob: finiteNumber(value.no_speech_prob) ?? 0,
    ...speakerMembers(value),
  }
}

function parseWord(value: Members): TranscriptWord | null {
  const start = finiteNumber(value.start)
  const end = finiteNumber(value.end)
  const word = nonEmptyText(value.word)
  if (start === undefined || end === undefined || word === undefined) return null
  const { type } = value
  return {
    word,
    start,
    end,
    ...optionalMember('confidence', finiteNumber(value.confidence)),
    ...speakerMembers(value),
    ...((type === 'word' || type === 'audio_event') && { type }),
  }
}

function parseEntity(value: Members): TranscriptEntity | null {
  const text = nonEmptyText(value.text)
  const type = nonEmptyText(value.type)
  const from = finiteNumber(value.start_char)
  const to = finiteNumber(value.end_char)
  if (text === undefined || type === undefined || from === undefined || to === undefined) return null
  return { text, type, start_char: from, end_char: to }
}

function speakerMembers(value: Members): Pick<TranscriptWord, 'speaker' | 'speaker_label' | 'channel'> {
  return {
    ...optionalMember('speaker', finiteNumber(value.speaker)),
    ...optionalMember('speaker_label', nonEmptyText(value.speaker_label)),
    ...optionalMember('channel', finiteNumber(value.channel)),
  }
}

function parseList<T>(value: unknown, read: (member: Members, at: number) => T | null): T[] | null {
  if (!Array.isArray(value)) return null
  return value.flatMap((each, at) => {
    const members = asObject(each)
    const made = members === null ? null : read(members, at)
    return made === null ? [] : [made]
  })
}

function finiteNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
