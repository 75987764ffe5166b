/** A transcript as the wire has it (contract/gateway 6.3). */
import { nanosToDollars } from '../../base/money.js'
import type { Transcript, TranscriptionRequest } from '../../gateway/formats/audio.js'
import type { Consumption, Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'

export function encodeTranscript(
  generation: Generation<TranscriptionRequest>,
  transcript: Transcript,
  metadata: ServiceMetadata | null,
): string {
  const { request, consumption } = generation
  const usage = encodeUsage(consumption!)
  const routing = metadata === null ? {} : { service_metadata: metadata }
  if (request.response_format === 'json') return JSON.stringify({ text: transcript.text, usage, ...routing })
  const { usage: _, words, segments, ...heard } = transcript
  const wanted = request.timestamp_granularities ?? ['segment']
  return JSON.stringify({
    task: 'transcribe',
    ...heard,
    ...(segments !== undefined && wanted.includes('segment') && { segments }),
    ...(words !== undefined && wanted.includes('word') && { words }),
    usage,
    ...routing,
  })
}

/** Seconds or tokens, whichever the provider is paid by. */
function encodeUsage({ usage, cost }: Consumption): Record<string, number> {
  const { milliseconds = 0, prompt, completion } = usage
  return {
    ...(milliseconds > 0 && { seconds: milliseconds / 1000 }),
    ...(prompt + completion > 0 && {
      input_tokens: prompt,
      output_tokens: completion,
      total_tokens: prompt + completion,
    }),
    cost: nanosToDollars(cost.total),
  }
}
