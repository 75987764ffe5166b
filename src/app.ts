/** Ports in, endpoints out: the one list of features. */
import type { Clock } from './base/clock.js'
import { docsEndpoints } from './features/docs/endpoints.js'
import { type DeriveKey, hashEndpoints } from './features/hash/endpoints.js'
import { itemEndpoints } from './features/items/endpoints.js'
import type { Delays } from './features/report/delays.js'
import { reportEndpoints } from './features/report/endpoints.js'
import { INTERFACE_VERSION, type ServicePorts, serviceEndpoints } from './features/service/endpoints.js'
import type { Endpoint } from './http/endpoint.js'
import { openApiDocument } from './http/openapi.js'
import type { ItemStore } from './store/store.js'

export interface Ports {
  readonly items: ItemStore
  readonly derive: DeriveKey
  readonly delays: Delays
  readonly clock: Clock
  readonly service: ServicePorts
}

/** Every endpoint of the service, its own document included. */
export function endpoints(ports: Ports): Endpoint[] {
  const described = features(ports)
  return [...described, ...docsEndpoints(JSON.stringify(documentOf(described)))]
}

/** The document alone. The ports are only taken when a request comes, so none is needed to describe. */
export function serviceDocument(): Record<string, unknown> {
  const service = { metrics: () => Promise.resolve(''), metricsType: '' } as unknown as ServicePorts
  return documentOf(features({ service } as Ports))
}

function features(ports: Ports): Endpoint[] {
  return [
    ...serviceEndpoints(ports.service),
    ...itemEndpoints(ports.items),
    ...hashEndpoints(ports.derive),
    ...reportEndpoints(ports.items, ports.delays, ports.clock),
  ]
}

function documentOf(described: readonly Endpoint[]): Record<string, unknown> {
  return openApiDocument(described, {
    title: 'Load-test practice API',
    version: INTERFACE_VERSION,
    description: 'A target for practising load tests. Each operation has a load profile of its own.',
  })
}
