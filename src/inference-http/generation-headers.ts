import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { Generation } from '../gateway/run/generation.js'
import { serverTiming } from '../gateway/run/server-timing.js'
import type { HttpCall } from '../http/endpoint.js'
import { wantsTiming } from './inference-headers.js'

/** Headers of every answer of an inference: which one it is and, for who asks, where its time went. */
export function generationHeaders(
  generation: Generation<RoutedRequest>,
  call: HttpCall,
): readonly (readonly [string, string])[] {
  const id = ['X-Generation-Id', generation.id] as const
  if (!wantsTiming((name) => call.header(name))) return [id]
  return [id, ['Server-Timing', serverTiming(generation, performance.now())]]
}
