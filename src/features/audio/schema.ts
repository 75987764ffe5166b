/** Bodies of the audio operations (contract/gateway 6 and 7). */
import { z } from 'zod'
import {
  boundedString,
  finiteNumber,
  limitOpenValue,
  openObject,
  optional,
  stringWithRule,
} from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import {
  identity,
  modelId,
  providerPreferencesWithOptions,
  unsupportedMember,
} from '../../inference-http/request-members.js'

/** Bytes of an encoding, a container or a file ending. */
const FORMAT = /^[A-Za-z0-9][A-Za-z0-9+._-]{0,15}$/
const LONGEST_URL = 8000
/** Most characters of a text that is to be spoken. */
const LONGEST_INPUT = 100_000
const MOST_KEYTERMS = 100
const LONGEST_KEYTERM = 1000

const audioFormat = stringWithRule(
  (text) => (FORMAT.test(text) ? null : 'must be the name of an audio format, such as mp3 or wav'),
  FORMAT.source,
)

/** Only its form is looked at here; what may be fetched is decided when it is (contract/gateway 6.1). */
export const audioUrl = stringWithRule(
  (text) => (isWebUrl(text) ? null : `must be an http or https URL of at most ${LONGEST_URL} characters`),
  '^https?://',
)

function isWebUrl(text: string): boolean {
  if (text.length > LONGEST_URL || !/^https?:\/\/[^/]/i.test(text)) return false
  // Node's parser would take blanks away without a word.
  return !/\s/.test(text) && URL.canParse(text)
}

const language = stringWithRule(
  (text) => (/^[A-Za-z]{2}$/.test(text) ? null : 'must be a language of two letters (ISO 639-1)'),
  '^[A-Za-z]{2}$',
)

const granularity = z.enum(['word', 'segment'])
const keyterms = z.array(boundedString(1, LONGEST_KEYTERM)).min(1).max(MOST_KEYTERMS)
const transcriptFormat = z.enum(['json', 'verbose_json'])
/** No bound: the provider judges it (contract/decisions 48). */
const temperature = finiteNumber()
/** Most characters of what a recording is said to be about. */
const LONGEST_PROMPT = 20_000

/** Transcripts come whole, so there is nothing that could be streamed. */
const notStreamed = unsupportedMember(
  'is not supported: a transcript comes whole',
  (value) => value === false,
)

const who = optional({
  provider: providerPreferencesWithOptions.nullable(),
  providers: providerPreferencesWithOptions.nullable().meta({ description: 'Another word for provider.' }),
  ...identity,
})

export const TranscriptionIn = nameSchema(
  'TranscriptionRequest',
  z.looseObject({
    model: modelId,
    input_audio: z.union(
      [
        z.strictObject({ data: z.string().min(1), format: audioFormat }),
        z.strictObject({ url: audioUrl, format: audioFormat.exactOptional() }),
      ],
      'must hold data and format, or url and perhaps format, each as described, and nothing else',
    ),
    language: language.nullable().exactOptional(),
    temperature: temperature.nullable().exactOptional(),
    response_format: transcriptFormat.exactOptional(),
    timestamp_granularities: z.array(granularity).nullable().exactOptional(),
    diarize: z.boolean().nullable().exactOptional(),
    keyterms: keyterms.nullable().exactOptional(),
    prompt: boundedString(0, LONGEST_PROMPT).nullable().exactOptional(),
    chunking_strategy: z.union([z.string(), openObject()]).nullable().exactOptional(),
    stream: notStreamed.exactOptional(),
    ...who,
  }),
)

/** The form, for the document: its fields are read one by one. */
export const TranscriptionForm = nameSchema(
  'TranscriptionForm',
  TranscriptionIn.omit({ input_audio: true }).extend({
    file: z.string().exactOptional().meta({ format: 'binary', description: 'Its name ends in the format.' }),
    source_url: audioUrl.exactOptional().meta({ description: 'Instead of a file.' }),
  }),
)

export const SpeechIn = nameSchema(
  'SpeechRequest',
  z.looseObject({
    model: modelId,
    input: boundedString(1, LONGEST_INPUT),
    voice: boundedString(1, 256),
    response_format: z.enum(['mp3', 'pcm']).exactOptional(),
    speed: finiteNumber().exactOptional(),
    instructions: boundedString(0, 4096).exactOptional(),
    input_references: z.array(z.unknown()).exactOptional(),
    stream_format: z.string().exactOptional(),
    ...who,
  }),
)

export type SpeechBody = z.output<typeof SpeechIn>

// ── Answers ─────────────────────────────────────────────────────────────────

const figure = z.number()
const optionalFigure = figure.optional()
const speaker = {
  speaker: z.int().optional(),
  speaker_label: z.string().optional(),
  channel: z.int().optional(),
}

export const Transcription = nameSchema(
  'Transcription',
  z.object({
    text: z.string(),
    usage: z.object({
      seconds: optionalFigure,
      input_tokens: z.int().optional(),
      output_tokens: z.int().optional(),
      total_tokens: z.int().optional(),
      cost: figure,
    }),
    task: z.literal('transcribe').optional(),
    language: z.string().optional(),
    language_confidence: optionalFigure,
    duration: optionalFigure,
    confidence: optionalFigure,
    segments: z
      .array(
        z.object({
          id: z.int(),
          seek: figure,
          start: figure,
          end: figure,
          text: z.string(),
          tokens: z.array(z.int()),
          temperature: figure,
          avg_logprob: figure,
          compression_ratio: figure,
          no_speech_prob: figure,
          ...speaker,
        }),
      )
      .optional(),
    words: z
      .array(
        z.object({
          word: z.string(),
          start: figure,
          end: figure,
          confidence: optionalFigure,
          type: z.enum(['word', 'audio_event']).optional(),
          ...speaker,
        }),
      )
      .optional(),
    entities: z
      .array(z.object({ text: z.string(), type: z.string(), start_char: z.int(), end_char: z.int() }))
      .optional(),
    service_metadata: limitOpenValue(z.looseObject({})).optional(),
  }),
)
