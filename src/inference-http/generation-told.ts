/** What every answer of an inference tells of its generation: headers, and the routing metadata for who asks. */
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { Generation } from '../gateway/run/generation.js'
import { type ServiceMetadata, serviceMetadata } from '../gateway/run/metadata.js'
import { serverTiming } from '../gateway/run/server-timing.js'
import type { HttpCall } from '../http/endpoint.js'
import { TIMING_HEADER, wantsMetadata } from './call-headers.js'

/** Headers of every answer of an inference: which one it is and, for callers who ask, where its time went. */
export function generationHeaders(
  generation: Generation<RoutedRequest>,
  call: HttpCall,
): readonly (readonly [string, string])[] {
  const id = ['X-Generation-Id', generation.id] as const
  if (call.header(TIMING_HEADER).toLowerCase() !== 'enabled') return [id]
  return [id, ['Server-Timing', serverTiming(generation, performance.now())]]
}

/** The routing metadata, for callers who ask for it. */
export function requestedMetadata(
  generation: Generation<RoutedRequest>,
  call: HttpCall,
): ServiceMetadata | null {
  return wantsMetadata(call) ? serviceMetadata(generation, performance.now()) : null
}

/** The routing metadata as the last member of a JSON object, after a comma; `''` where the caller does not ask for it. */
export function metadataMember(metadata: ServiceMetadata | null): string {
  return metadata === null ? '' : `,"service_metadata":${JSON.stringify(metadata)}`
}
