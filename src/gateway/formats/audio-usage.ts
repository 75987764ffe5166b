/** What speech and transcription consume where the provider tells no figures. */
import type { AudioSource } from './audio.js'
import type { Usage } from './canonical.js'

const NO_USAGE: Usage = Object.freeze({
  prompt: 0,
  completion: 0,
  cached: 0,
  cacheWrite: 0,
  promptAudio: 0,
  reasoning: 0,
  completionAudio: 0,
})

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
  const seconds = maxAudioSeconds(audio)
  const prompt = seconds * INPUT_TOKENS_PER_SECOND
  const completion = seconds * OUTPUT_TOKENS_PER_SECOND
  return { ...transcriptionUsage(seconds), prompt, promptAudio: prompt, completion }
}

function maxAudioSeconds(audio: AudioSource): number {
  if (audio.kind === 'url') return REMOTE_AUDIO_SECONDS
  const rate = BYTES_PER_SECOND[audio.format] ?? COMPRESSED_BYTES_PER_SECOND
  return Math.min(MAX_AUDIO_SECONDS, Math.ceil(audio.bytes.size / rate))
}
