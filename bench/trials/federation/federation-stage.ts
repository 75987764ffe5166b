import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { type DocumentFetches, LocalIssuer } from '../../performance/federation/local-issuer.js'
import {
  AdminClient,
  FEDERATION_ENVIRONMENT,
  type FederationTrust,
} from '../../performance/federation/trust.js'
import { API_KEY, MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import type { TrialContext } from '../trial.js'

/** A server that may be told to trust the providers of this process. */
interface FederationStage {
  readonly server: SluiceServer
  readonly admin: AdminClient
  /** Starts a provider with one ES256 key, and ends it with the stage. */
  newIssuer(): Promise<LocalIssuer>
  stop(): Promise<void>
}

export const ADMIN_KEYS = { SLUICE_API_KEY: API_KEY, SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY }

/** Starts the server, held on its core when it has a single worker. Faults: Error when it does not come up. */
export async function stageFederation(context: TrialContext, workers: number): Promise<FederationStage> {
  const { staging, cores } = context
  const core = workers === 1 ? (cores?.server ?? null) : null
  const environment = { ...FEDERATION_ENVIRONMENT, ...ADMIN_KEYS }
  const server = await staging.start({ workers, poolThreads: 1, core, environment })
  const issuers: LocalIssuer[] = []
  return {
    server,
    admin: adminOf(server),
    newIssuer: async () => {
      const issuer = await LocalIssuer.start([newIssuingKey('ES256', 'first')])
      issuers.push(issuer)
      return issuer
    },
    stop: async () => {
      await server.stop()
      await Promise.all(issuers.map((issuer) => issuer.stop()))
    },
  }
}

export function adminOf(server: SluiceServer): AdminClient {
  return new AdminClient(`http://127.0.0.1:${server.port}`)
}

/** A provider with a server that trusts it. */
export interface TrustedIssuer {
  readonly issuer: LocalIssuer
  readonly trust: FederationTrust
}

export async function trustedIssuer(stage: FederationStage): Promise<TrustedIssuer> {
  const issuer = await stage.newIssuer()
  return { issuer, trust: await stage.admin.trustIssuer(issuer) }
}

/** Fetches since `before`. */
export function fetchesSince(issuer: LocalIssuer, before: DocumentFetches): DocumentFetches {
  const { discovery, jwks } = issuer.fetches()
  return { discovery: discovery - before.discovery, jwks: jwks - before.jwks }
}
