/** Speech and transcription inside the gateway (contract/gateway 6 and 7); wire names throughout. */
import { measureSeconds } from './audio-length.js'
import { NO_USAGE, type RoutedRequest, type Usage } from './canonical.js'

/** A validated speech request. */
export interface SpeechRequest extends RoutedRequest {
  readonly model: string
  readonly input: string
  readonly voice: string
  readonly response_format: 'mp3' | 'pcm'
  /** 1 is the voice's own; models without it ignore it. */
  readonly speed?: number
  readonly instructions?: string
}

/** One step of spoken text. */
export type SpeechEvent =
  /** Encoded audio as it came, never empty; the bytes are the receiver's own. */
  | { readonly type: 'audio'; readonly bytes: Uint8Array }
  /** The provider's figures; at most once, before the end. */
  | { readonly type: 'usage'; readonly usage: Usage }

/** Speech is always streamed: no provider answers it whole. */
export type NoSpeechAnswer = never

/** Bytes that can be read more than once, so that another endpoint may have them too. */
interface AudioBytes {
  readonly size: number
  /** From the beginning; each call is a reading of its own. A piece is good until the next one is asked for. */
  read(): AsyncIterable<Uint8Array>
}

export interface AudioFile {
  readonly kind: 'bytes'
  readonly bytes: AudioBytes
  readonly format: string
  readonly filename: string
}

/** Audio that lies elsewhere. Providers that take an address fetch it themselves; for the others it is fetched here. */
export interface LinkedAudio {
  readonly kind: 'url'
  readonly url: string
  readonly format: string
  /** Null until it has been fetched. */
  readonly file: AudioFile | null
  /** Fetches it, once for all endpoints that want it. Rejects with the fault that the caller is told. */
  fetch(): Promise<AudioFile>
}

export type AudioSource = AudioFile | LinkedAudio

/** A validated transcription request. */
export interface TranscriptionRequest extends RoutedRequest {
  readonly model: string
  readonly audio: AudioSource
  readonly response_format: 'json' | 'verbose_json'
  /** ISO 639-1 */
  readonly language?: string
  readonly temperature?: number
  readonly timestamp_granularities?: readonly ('word' | 'segment')[]
  readonly diarize?: boolean
  readonly keyterms?: readonly string[]
  /** What the recording is about, for servers of OpenAI's form. */
  readonly prompt?: string
  /** How servers of OpenAI's form cut long recordings. */
  readonly chunking_strategy?: unknown
}

/** Times are seconds. */
export interface TranscriptSegment {
  readonly id: number
  readonly seek: number
  readonly start: number
  readonly end: number
  readonly text: string
  readonly tokens: readonly number[]
  readonly temperature: number
  readonly avg_logprob: number
  readonly compression_ratio: number
  readonly no_speech_prob: number
  readonly speaker?: number
  readonly speaker_label?: string
  readonly channel?: number
}

export interface TranscriptWord {
  readonly word: string
  readonly start: number
  readonly end: number
  readonly confidence?: number
  readonly speaker?: number
  readonly speaker_label?: string
  readonly channel?: number
  readonly type?: 'word' | 'audio_event'
}

export interface TranscriptEntity {
  readonly text: string
  readonly type: string
  /** Zero-based offsets into the text, the end exclusive. */
  readonly start_char: number
  readonly end_char: number
}

/** What a provider heard; as much of it as it says. */
export interface Transcript {
  readonly text: string
  readonly language?: string
  readonly language_confidence?: number
  readonly duration?: number
  readonly confidence?: number
  readonly segments?: readonly TranscriptSegment[]
  readonly words?: readonly TranscriptWord[]
  readonly entities?: readonly TranscriptEntity[]
  /** Null when the provider sent no figures, or some that cannot be true. */
  readonly usage: Usage | null
}

// ── What speech and transcription consume where the provider tells no figures ───

/** Speech without a provider's figures is counted in characters of the input. */
export function speechUsage(input: string): Usage {
  let characters = 0
  for (const _ of input) characters++
  return { ...NO_USAGE, characters }
}

/** A transcript without a provider's figures is counted in seconds of audio, where the provider says how many. */
export function transcriptionUsage(seconds: number): Usage {
  return { ...NO_USAGE, milliseconds: Math.round(seconds * 1000) }
}

/** Bytes of a second of speech, low rather than high, so that a recording is not taken for shorter than it is. */
const BYTES_PER_SECOND: Readonly<Record<string, number>> = { wav: 16_000, pcm: 32_000, flac: 12_000 }
/** Of everything that is compressed with losses. */
const COMPRESSED_BYTES_PER_SECOND = 4_000
/** Of a recording that lies elsewhere. */
const REMOTE_AUDIO_SECONDS = 600
const MAX_AUDIO_SECONDS = 2 * 60 * 60
/** Where a provider counts tokens: of sound that is heard, and of its transcript. */
const INPUT_TOKENS_PER_SECOND = 25
const OUTPUT_TOKENS_PER_SECOND = 5

/** What a recording may come to, by its size: in seconds and in tokens, of which a provider is paid for one. */
export function maxTranscriptionUsage(audio: AudioSource): Usage {
  return usageOfLength(maxAudioSeconds(audio))
}

/** What a recording comes to, by its own length where that can be told. */
export async function measureTranscriptionUsage(audio: AudioSource): Promise<Usage> {
  const file = audio.kind === 'url' ? audio.file : audio
  return usageOfLength((file && (await measureSeconds(file))) ?? maxAudioSeconds(audio))
}

function usageOfLength(seconds: number): Usage {
  const prompt = Math.ceil(seconds * INPUT_TOKENS_PER_SECOND)
  const completion = Math.ceil(seconds * OUTPUT_TOKENS_PER_SECOND)
  return { ...transcriptionUsage(seconds), prompt, promptAudio: prompt, completion }
}

function maxAudioSeconds(audio: AudioSource): number {
  const file = audio.kind === 'url' ? audio.file : audio
  if (file === null) return REMOTE_AUDIO_SECONDS
  const rate = BYTES_PER_SECOND[file.format] ?? COMPRESSED_BYTES_PER_SECOND
  return Math.min(MAX_AUDIO_SECONDS, Math.ceil(file.bytes.size / rate))
}
