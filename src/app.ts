/** Ports in, endpoints out: the one list of features. */
import type { Clock } from './base/clock.js'
import { type ChatPorts, chatEndpoints } from './features/chat/endpoints.js'
import { docsEndpoints } from './features/docs/endpoints.js'
import { type DeriveKey, hashEndpoints } from './features/hash/endpoints.js'
import { itemEndpoints } from './features/items/endpoints.js'
import { keyEndpoints } from './features/keys/endpoints.js'
import { modelEndpoints } from './features/models/endpoints.js'
import { organizationEndpoints } from './features/organizations/endpoints.js'
import type { Delays } from './features/report/delays.js'
import { reportEndpoints } from './features/report/endpoints.js'
import { INTERFACE_VERSION, type ServicePorts, serviceEndpoints } from './features/service/endpoints.js'
import type { Catalog } from './gateway/catalog.js'
import type { Endpoint } from './http/endpoint.js'
import { openApiDocument } from './http/openapi.js'
import type { AccountStore, ItemStore } from './store/store.js'

export interface Ports {
  readonly items: ItemStore
  readonly derive: DeriveKey
  readonly delays: Delays
  readonly clock: Clock
  readonly service: ServicePorts
  readonly accounts: AccountStore
  readonly catalog: () => Catalog
  readonly chat: ChatPorts
}

/** Every endpoint of the service, its own document included. */
export function endpoints(ports: Ports): Endpoint[] {
  const described = features(ports)
  return [...described, ...docsEndpoints(JSON.stringify(documentOf(described)))]
}

/** The document alone. The ports are only taken when a request comes, so none is needed to describe. */
export function serviceDocument(): Record<string, unknown> {
  const service = { metrics: () => Promise.resolve(''), metricsType: '' } as unknown as ServicePorts
  const chat = {} as ChatPorts
  return documentOf(features({ service, chat } as Ports))
}

function features(ports: Ports): Endpoint[] {
  return [
    ...serviceEndpoints(ports.service),
    ...itemEndpoints(ports.items),
    ...hashEndpoints(ports.derive),
    ...reportEndpoints(ports.items, ports.delays, ports.clock),
    ...chatEndpoints(ports.chat),
    ...modelEndpoints(ports.catalog),
    ...keyEndpoints(ports.accounts, ports.clock),
    ...organizationEndpoints(ports.accounts, ports.clock),
  ]
}

function documentOf(described: readonly Endpoint[]): Record<string, unknown> {
  return openApiDocument(described, {
    title: 'Sluice',
    version: INTERFACE_VERSION,
    description:
      'Two faces on one port. The practice API is a target for load tests: each operation has a load profile of its ' +
      'own. The model gateway is one API in front of many model providers.',
  })
}
