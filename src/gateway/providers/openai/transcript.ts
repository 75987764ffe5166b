/** What a server of OpenAI's form has heard (contract/gateway 6.3). */
import {
  type Transcript,
  type TranscriptEntity,
  type TranscriptSegment,
  type TranscriptWord,
  transcriptionUsage,
} from '../../formats/audio.js'
import type { Usage } from '../../formats/canonical.js'
import {
  asList,
  asObject,
  type JsonObject,
  nonEmptyText,
  optionalMember,
  UsageReader,
} from '../../formats/json-values.js'
import { numbersIn, SEGMENT_FIGURES, SpeakerNames } from '../audio/transcript-members.js'

/** Null when the body has no text; silence is an empty one. Members of a wrong type count as absent. */
export function parseTranscript(body: JsonObject): Transcript | null {
  const { text } = body
  if (typeof text !== 'string') return null
  const speakers = new SpeakerNames()
  return {
    text,
    ...optionalMember('language', nonEmptyText(body.language)),
    ...numbersIn(body, ['language_confidence', 'duration', 'confidence']),
    ...optionalMember('segments', parseList(body.segments, speakers, parseSegment)),
    ...optionalMember('words', parseList(body.words, speakers, parseWord)),
    ...optionalMember('entities', parseList(body.entities, speakers, parseEntity)),
    usage: transcriptUsage(body),
  }
}

/** Tokens, seconds, or both; of a server that tells no seconds in its usage the length of the audio. */
function transcriptUsage(body: JsonObject): Transcript['usage'] {
  const read = new UsageReader()
  const usage = readTranscriptUsage(body, read)
  return read.isPlausible ? usage : null
}

function readTranscriptUsage(body: JsonObject, read: UsageReader): Usage | null {
  const usage = asObject(body.usage)
  const input = read.tokens(usage?.input_tokens)
  const seconds = read.seconds(usage?.seconds) ?? read.seconds(body.duration)
  if (input === undefined) return seconds === undefined ? null : transcriptionUsage(seconds)
  const details = asObject(usage?.input_token_details)
  return {
    ...transcriptionUsage(seconds ?? 0),
    prompt: input,
    completion: read.tokens(usage?.output_tokens) ?? 0,
    promptAudio: Math.min(input, read.tokens(details?.audio_tokens) ?? 0),
  }
}

type MemberReader<T> = (member: JsonObject, speakers: SpeakerNames, at: number) => T | null

const parseSegment: MemberReader<TranscriptSegment> = (value, speakers, at) => {
  const { start, end, id = at } = numbersIn(value, ['start', 'end', 'id'])
  const text = nonEmptyText(value.text)
  if (start === undefined || end === undefined || text === undefined) return null
  const tokens = asList(value.tokens).filter((token): token is number => Number.isInteger(token))
  const figures = { ...SEGMENT_FIGURES, ...numbersIn(value, Object.keys(SEGMENT_FIGURES)) }
  return { id, start, end, text, tokens, ...figures, ...speakerMembers(value, speakers) }
}

const parseWord: MemberReader<TranscriptWord> = (value, speakers) => {
  const { start, end, ...confidence } = numbersIn(value, ['start', 'end', 'confidence'])
  const { type } = value
  const word = nonEmptyText(value.word)
  if (start === undefined || end === undefined || word === undefined) return null
  const known = (type === 'word' || type === 'audio_event') && ({ type } as const)
  return { word, start, end, ...confidence, ...speakerMembers(value, speakers), ...known }
}

const parseEntity: MemberReader<TranscriptEntity> = (value) => {
  const { start_char, end_char } = numbersIn(value, ['start_char', 'end_char'])
  const text = nonEmptyText(value.text)
  const type = nonEmptyText(value.type)
  if (text === undefined || type === undefined || start_char === undefined || end_char === undefined)
    return null
  return { text, type, start_char, end_char }
}

/** A server names speakers by number, by label, or by both. */
function speakerMembers(
  value: JsonObject,
  speakers: SpeakerNames,
): Pick<TranscriptWord, 'speaker' | 'speaker_label' | 'channel'> {
  const label = nonEmptyText(value.speaker_label)
  const named = speakers.of(value.speaker ?? label)
  return { ...numbersIn(value, ['channel']), ...named, ...optionalMember('speaker_label', label) }
}

function parseList<T>(value: unknown, speakers: SpeakerNames, read: MemberReader<T>): T[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.flatMap((each, at) => read(asObject(each) ?? {}, speakers, at) ?? [])
}
