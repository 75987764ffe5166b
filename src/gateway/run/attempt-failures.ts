/** Failures of attempts that no provider has told. */
import { Fault } from '../../base/fault.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { HealthRegistry } from '../health/health-registry.js'
import type { ProviderFailure } from '../providers/port/provider.js'
import type { Generation } from './generation.js'

/** A defect of ours: nothing was sent. */
export function defectFailure(cause: unknown): ProviderFailure {
  return { fault: new Fault('internal', { cause }), class: 'not-sent', status: 0 }
}

/** No endpoint has been asked, because every breaker is open. */
export function noHealthyEndpoint(of: Generation<RoutedRequest>, health: HealthRegistry): ProviderFailure {
  const now = health.now()
  const { endpoints, requested } = of.plan
  const waits = endpoints.map((endpoint) => health.of(endpoint).waitMs(now, of.caller.organizationId))
  const fault = new Fault('unavailable', {
    note: `No endpoint of ${requested} is healthy at the moment`,
    metadata: { error_type: 'provider_unavailable' },
    retryAfter: Math.max(1, Math.ceil(Math.min(...waits) / 1000)),
    detail: 'every breaker is open',
  })
  return { fault, class: 'not-sent', status: 0 }
}

/** A provider that ends properly without a single event has answered nothing. */
export function emptyAnswerFailure({ provider }: ModelEndpoint): ProviderFailure {
  const metadata = { error_type: 'provider_unavailable', provider_name: provider.name } as const
  return {
    fault: new Fault('provider-failed', { metadata, detail: 'the stream ended without an event' }),
    class: 'maybe-processed',
    status: 200,
  }
}

export function brokenAnswerFailure({ provider }: ModelEndpoint): ProviderFailure {
  const metadata = { error_type: 'provider_unavailable', provider_name: provider.name } as const
  const fault = new Fault('provider-failed', { metadata, detail: 'a whole answer that broke off' })
  return { fault, class: 'maybe-processed', status: 200 }
}
