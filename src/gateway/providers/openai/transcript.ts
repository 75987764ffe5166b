/** What an OpenAI-compatible server has heard, in the gateway's words (contract/gateway 6.3). */
import type { Transcript, TranscriptEntity, TranscriptSegment, TranscriptWord } from '../../formats/audio.js'
import { heardUsage } from '../../formats/audio-usage.js'
import type { Usage } from '../../formats/canonical.js'
import { type Members, objectOf, textOf } from '../../formats/shape.js'
import { FigureReader } from '../http/figures.js'

/** Null when the body has no text. Members of a wrong type count as absent. */
export function transcriptOf(body: Members): Transcript | null {
  const text = textOf(body.text)
  if (text === undefined) return null
  const segments = listOf(body.segments, segmentOf)
  const words = listOf(body.words, wordOf)
  const entities = listOf(body.entities, entityOf)
  return {
    text,
    ...optional('language', textOf(body.language)),
    ...optional('language_confidence', numberOf(body.language_confidence)),
    ...optional('duration', numberOf(body.duration)),
    ...optional('confidence', numberOf(body.confidence)),
    ...(segments !== null && { segments }),
    ...(words !== null && { words }),
    ...(entities !== null && { entities }),
    usage: usageOf(body),
  }
}

/** Tokens, or seconds; a server that says neither but how long the audio was is paid by that. */
function usageOf(body: Members): Transcript['usage'] {
  const read = new FigureReader()
  const usage = figuresIn(body, read)
  return read.believable ? usage : 'unbelievable'
}

function figuresIn(body: Members, read: FigureReader): Usage | null {
  const usage = objectOf(body.usage)
  const input = read.tokens(usage?.input_tokens)
  if (input !== undefined) {
    const details = objectOf(usage?.input_token_details)
    return {
      ...heardUsage(0),
      milliseconds: 0,
      prompt: input,
      completion: read.tokens(usage?.output_tokens) ?? 0,
      promptAudio: Math.min(input, read.tokens(details?.audio_tokens) ?? 0),
    }
  }
  const seconds = read.seconds(usage?.seconds) ?? read.seconds(body.duration)
  return seconds === undefined ? null : heardUsage(seconds)
}

function segmentOf(value: Members, at: number): TranscriptSegment | null {
  const start = numberOf(value.start)
  const end = numberOf(value.end)
  const text = textOf(value.text)
  if (start === undefined || end === undefined || text === undefined) return null
  return {
    id: numberOf(value.id) ?? at,
    // Some clients refuse a segment without any of these (contract/gateway 12.4).
    seek: numberOf(value.seek) ?? 0,
    start,
    end,
    text,
    tokens: Array.isArray(value.tokens) ? value.tokens.filter((token) => Number.isInteger(token)) : [],
    temperature: numberOf(value.temperature) ?? 0,
    avg_logprob: numberOf(value.avg_logprob) ?? 0,
    compression_ratio: numberOf(value.compression_ratio) ?? 0,
    no_speech_prob: numberOf(value.no_speech_prob) ?? 0,
    ...whoSpoke(value),
  }
}

function wordOf(value: Members): TranscriptWord | null {
  const start = numberOf(value.start)
  const end = numberOf(value.end)
  const word = textOf(value.word)
  if (start === undefined || end === undefined || word === undefined) return null
  const { type } = value
  return {
    word,
    start,
    end,
    ...optional('confidence', numberOf(value.confidence)),
    ...whoSpoke(value),
    ...((type === 'word' || type === 'audio_event') && { type }),
  }
}

function entityOf(value: Members): TranscriptEntity | null {
  const text = textOf(value.text)
  const type = textOf(value.type)
  const from = numberOf(value.start_char)
  const to = numberOf(value.end_char)
  if (text === undefined || type === undefined || from === undefined || to === undefined) return null
  return { text, type, start_char: from, end_char: to }
}

function whoSpoke(value: Members): Pick<TranscriptWord, 'speaker' | 'speaker_label' | 'channel'> {
  return {
    ...optional('speaker', numberOf(value.speaker)),
    ...optional('speaker_label', textOf(value.speaker_label)),
    ...optional('channel', numberOf(value.channel)),
  }
}

function listOf<T>(value: unknown, read: (member: Members, at: number) => T | null): T[] | null {
  if (!Array.isArray(value)) return null
  return value.flatMap((each, at) => {
    const members = objectOf(each)
    const made = members === null ? null : read(members, at)
    return made === null ? [] : [made]
  })
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function optional<K extends string, V>(name: K, value: V | undefined): { readonly [N in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in K]?: V }
}
