/** Endpoints that go on callers' own accounts, and what they are made of. */
import type { ModelEndpoint } from './catalog.js'

/** Each endpoint once, whatever it is called with. */
export function distinctEndpoints(endpoints: readonly ModelEndpoint[]): readonly ModelEndpoint[] {
  if (!endpoints.some(({ own }) => own !== undefined)) return endpoints
  return [...new Set(endpoints.map((endpoint) => baseOf(endpoint)))]
}

export function baseOf(endpoint: ModelEndpoint): ModelEndpoint {
  return endpoint.own?.base ?? endpoint
}
