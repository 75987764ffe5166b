/** Ports in, endpoints out: the one list of features. */
import type { Clock } from './base/clock.js'
import { INTERFACE_VERSION } from './base/version.js'
import { type AudioPorts, audioEndpoints } from './features/audio/endpoints.js'
import { chatEndpoints } from './features/chat/endpoints.js'
import { consoleEndpoints } from './features/console/endpoints.js'
import { creditEndpoints } from './features/credits/endpoints.js'
import { docsEndpoints } from './features/docs/endpoints.js'
import { documentIntroduction } from './features/docs/introduction.js'
import { embeddingsEndpoints } from './features/embeddings/endpoints.js'
import { federationAdminEndpoints } from './features/federation-admin/endpoints.js'
import { signInProviderEndpoints } from './features/federation-admin/sign-in-provider.js'
import { type FilePorts, fileEndpoints } from './features/files/endpoints.js'
import { type FleetPorts, fleetEndpoints } from './features/fleet/endpoints.js'
import { generationEndpoints } from './features/generation/endpoints.js'
import { generationListEndpoints } from './features/generation/list.js'
import { usageEndpoints } from './features/generation/usage.js'
import { guideEndpoints } from './features/guide/endpoints.js'
import { type DeriveKey, hashEndpoints } from './features/hash/endpoints.js'
import { itemEndpoints } from './features/items/endpoints.js'
import { keyEndpoints } from './features/keys/endpoints.js'
import { type LivePorts, liveEndpoints } from './features/live/endpoints.js'
import { type MemberPorts, memberEndpoints } from './features/members/endpoints.js'
import { messagesEndpoints } from './features/messages/endpoints.js'
import { modelEndpoints } from './features/models/endpoints.js'
import { type OauthPorts, oauthEndpoints } from './features/oauth/endpoints.js'
import { organizationEndpoints } from './features/organizations/endpoints.js'
import { type ProviderKeyEndpointPorts, providerKeyEndpoints } from './features/provider-keys/endpoints.js'
import type { DelayObserver, DelaySource } from './features/report/delays.js'
import { reportEndpoints } from './features/report/endpoints.js'
import { routingEndpoints } from './features/routing/endpoints.js'
import { type WhatIfPorts, whatIfEndpoints } from './features/routing/what-if.js'
import { type ScimPorts, scimEndpoints } from './features/scim/endpoints.js'
import { type ConnectionPorts, scimConnectionEndpoints } from './features/scim-connections/endpoints.js'
import { type ScimProviderPorts, scimProviderEndpoints } from './features/scim-provider/endpoints.js'
import { type ServicePorts, serviceEndpoints, statsEndpoint } from './features/service/endpoints.js'
import { type SettingsPorts, settingsEndpoints } from './features/settings/endpoints.js'
import { type SessionPorts, sessionEndpoints } from './features/sign-in/session-endpoints.js'
import { type SignInPorts, signInEndpoints } from './features/sign-in/sign-in-endpoints.js'
import { type StartPorts, startEndpoints } from './features/start/endpoints.js'
import { toolEndpoints } from './features/tools/endpoints.js'
import type { FederationAdmin } from './federation/admin/ports.js'
import type { SignInProviderService } from './federation/admin/sign-in-provider-service.js'
import type { Catalog } from './gateway/catalog/catalog.js'
import type { GatewayConfig } from './gateway/catalog/configuration.js'
import type { RoutingState } from './gateway/routing/plan.js'
import { type Endpoint, isLockable } from './http/endpoint.js'
import { openApiDocument } from './http/openapi.js'
import type { People } from './identity/people.js'
import type { LoopingPorts } from './inference-http/inference-reply.js'
import type { UsageLedger } from './store/ledger-store.js'
import type { AccountStore, ItemStore } from './store/store.js'

/** Whether anybody may use the practice API, only who has a key, or nobody (contract/decisions 65). */
type PracticeAccess = 'open' | 'keyed' | 'off'

export interface AppPorts {
  readonly items: ItemStore
  readonly derive: DeriveKey
  readonly delays: DelaySource
  readonly delayed: DelayObserver
  readonly clock: Clock
  readonly service: ServicePorts
  readonly accounts: AccountStore
  readonly people: People
  readonly members: MemberPorts
  readonly providerKeys: ProviderKeyEndpointPorts
  readonly ledger: UsageLedger
  readonly catalog: () => Catalog
  readonly routing: RoutingState
  readonly whatIf: Pick<WhatIfPorts, 'readCatalog' | 'ask' | 'ledgerDays'>
  readonly inference: LoopingPorts
  readonly audio: Pick<AudioPorts, 'spool' | 'uploadBytes' | 'fetchFile'>
  readonly oauth: OauthPorts
  readonly federationAdmin: FederationAdmin
  readonly sessions: SessionPorts
  readonly signIn: SignInPorts
  readonly signInProviders: SignInProviderService
  readonly files: FilePorts
  readonly scim: ScimPorts
  readonly scimConnections: ConnectionPorts
  readonly scimProvider: ScimProviderPorts
  readonly fleet: FleetPorts
  readonly settings: SettingsPorts
  /** What the operator says of tools and plugins at this moment. */
  readonly operatorTerms: () => GatewayConfig
  readonly live: LivePorts
  readonly start: StartPorts
  readonly hasConsole: boolean
}

/** Every endpoint of the service, its own document included. */
export function appEndpoints(ports: AppPorts, practice: PracticeAccess): Endpoint[] {
  const described = featureEndpoints(ports, practice)
  // Made at the first request: it takes a tenth of a second, which every start of a worker would pay otherwise.
  return [
    ...described,
    ...docsEndpoints(() => JSON.stringify(openApiOf(described))),
    ...guideEndpoints(),
    ...startEndpoints(ports.start, ports.catalog),
    ...(ports.hasConsole ? consoleEndpoints() : []),
  ]
}

/** The document alone. */
export function serviceDocument(practice: PracticeAccess): Record<string, unknown> {
  return openApiOf(describedEndpoints(practice))
}

/** Names of the operations whose callers the configuration may choose. */
export function lockableOperations(): ReadonlySet<string> {
  const lockable = describedEndpoints().filter(isLockable)
  return new Set(lockable.map(({ name }) => name))
}

/** Names of all operations, those without a path of their own aside. */
export function operationNames(): ReadonlySet<string> {
  return new Set(describedEndpoints().map(({ name }) => name))
}

/** Stands for every port: ports are only used when a request comes, so none is needed to describe. */
const UNUSED_PORT: object = new Proxy(() => {}, { get: () => UNUSED_PORT, construct: () => UNUSED_PORT })

function describedEndpoints(practice: PracticeAccess = 'open'): Endpoint[] {
  return featureEndpoints(UNUSED_PORT as AppPorts, practice)
}

/** Health is not among them: who balances load has to ask for it in any case. */
function practiceEndpoints(ports: AppPorts, practice: PracticeAccess): Endpoint[] {
  if (practice === 'off') return []
  const endpoints = [
    statsEndpoint(ports.service),
    ...itemEndpoints(ports.items),
    ...hashEndpoints(ports.derive),
    ...reportEndpoints(ports.items, ports.delays, ports.clock, ports.delayed),
  ]
  return practice === 'open' ? endpoints : endpoints.map((each) => Object.freeze({ ...each, access: 'key' }))
}

function featureEndpoints(ports: AppPorts, practice: PracticeAccess): Endpoint[] {
  return [
    ...serviceEndpoints(ports.service),
    ...practiceEndpoints(ports, practice),
    ...chatEndpoints(ports.inference),
    ...messagesEndpoints(ports.inference),
    ...embeddingsEndpoints(ports.inference),
    ...audioEndpoints({ ...ports.inference, ...ports.audio, catalog: ports.catalog }),
    ...modelEndpoints(ports.catalog, ports.routing.health),
    ...routingEndpoints({ ...ports.routing, catalog: ports.catalog, loops: ports.inference.loops }),
    ...whatIfEndpoints({ ...ports, ...ports.whatIf }),
    ...keyEndpoints(ports.accounts, ports.people, ports.ledger, ports.clock),
    ...memberEndpoints(ports.members),
    ...providerKeyEndpoints(ports.providerKeys),
    ...organizationEndpoints(ports.accounts, ports.people, ports.ledger, ports.clock),
    ...creditEndpoints(ports.accounts, ports.ledger, ports.clock),
    ...generationEndpoints(ports.ledger, ports.accounts, ports.people),
    ...generationListEndpoints(ports.ledger, ports.accounts, ports.people),
    ...usageEndpoints(ports.ledger, ports.accounts, ports.people, ports.clock),
    ...oauthEndpoints(ports.oauth),
    ...federationAdminEndpoints(ports.federationAdmin),
    ...sessionEndpoints(ports.sessions),
    ...signInEndpoints(ports.signIn),
    ...signInProviderEndpoints(ports.signInProviders),
    ...fileEndpoints(ports.files),
    ...scimEndpoints(ports.scim),
    ...scimConnectionEndpoints(ports.scimConnections),
    ...scimProviderEndpoints(ports.scimProvider),
    ...fleetEndpoints(ports.fleet),
    ...settingsEndpoints(ports.settings),
    ...toolEndpoints(ports.operatorTerms),
    ...liveEndpoints(ports.live),
  ]
}

function openApiOf(described: readonly Endpoint[]): Record<string, unknown> {
  return openApiDocument(described, documentIntroduction(INTERFACE_VERSION))
}
