import type { Fault } from '../base/fault.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { Generation } from '../gateway/run/generation.js'
import type { ServiceMetadata } from '../gateway/run/metadata.js'

/** The fault, saying in which generation it happened: dialects render its id and, for who opted in, its routing. */
export function attachGeneration(
  fault: Fault,
  { id }: Generation<RoutedRequest>,
  metadata: ServiceMetadata | null,
): Fault {
  return fault.withGeneration({ id, serviceMetadata: metadata })
}
