/** Ports in, endpoints out: the one list of features. */
import type { Clock } from './base/clock.js'
import { type ChatPorts, chatEndpoints } from './features/chat/endpoints.js'
import { docsEndpoints } from './features/docs/endpoints.js'
import { type FederationAdminPorts, federationAdminEndpoints } from './features/federation-admin/endpoints.js'
import { type DeriveKey, hashEndpoints } from './features/hash/endpoints.js'
import { itemEndpoints } from './features/items/endpoints.js'
import { keyEndpoints } from './features/keys/endpoints.js'
import { modelEndpoints } from './features/models/endpoints.js'
import { type OauthPorts, oauthEndpoints } from './features/oauth/endpoints.js'
import { organizationEndpoints } from './features/organizations/endpoints.js'
import type { Delays } from './features/report/delays.js'
import { reportEndpoints } from './features/report/endpoints.js'
import { INTERFACE_VERSION, type ServicePorts, serviceEndpoints } from './features/service/endpoints.js'
import type { Catalog } from './gateway/catalog.js'
import { type Endpoint, isLockable } from './http/endpoint.js'
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
  readonly oauth: OauthPorts
  readonly federationAdmin: FederationAdminPorts
}

/** Every endpoint of the service, its own document included. */
export function endpoints(ports: Ports): Endpoint[] {
  const described = features(ports)
  return [...described, ...docsEndpoints(JSON.stringify(documentOf(described)))]
}

/** The document alone. */
export function serviceDocument(): Record<string, unknown> {
  return documentOf(described())
}

/** Operations of the gateway that are still to come and whose permission is given already (contract/decisions 3). */
const TO_COME = ['transcription', 'file-content']

/** Names of the operations whose callers the configuration may choose. */
export function lockableOperations(): ReadonlySet<string> {
  const lockable = described().filter(isLockable)
  return new Set([...lockable.map(({ name }) => name), ...TO_COME])
}

/** The ports are only taken when a request comes, so none is needed to describe. */
function described(): Endpoint[] {
  const service = { metrics: () => Promise.resolve(''), metricsType: '' } as unknown as ServicePorts
  const chat = {} as ChatPorts
  const oauth = {} as OauthPorts
  const federationAdmin = {} as FederationAdminPorts
  return features({ service, chat, oauth, federationAdmin } as Ports)
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
    ...oauthEndpoints(ports.oauth),
    ...federationAdminEndpoints(ports.federationAdmin),
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
