/** A server that trusts identity providers of this process. */
import { KeptConnections } from '../../harness/http/kept-connections.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import { type IssuingKey, newIssuingKey } from '../../performance/federation/issuing-key.js'
import { LocalIssuer } from '../../performance/federation/local-issuer.js'
import {
  AdminClient,
  FEDERATION_ENVIRONMENT,
  type FederationTrust,
} from '../../performance/federation/trust.js'
import { ADMIN_ENVIRONMENT } from '../../performance/gateway/calls.js'
import type { TrialContext } from '../trial.js'

/** A provider with a server that trusts it. */
export class TrustedIssuer {
  constructor(
    readonly issuer: LocalIssuer,
    readonly trust: FederationTrust,
  ) {}

  /** The bytes of one exchange of a token that is made now. */
  exchange(claims: object = {}, key?: IssuingKey): Buffer {
    return exchangeBytes(this.trust.policyId, this.issuer.token(claims, key))
  }
}

/** Starts the server, and opens so many connections to it. Faults: Error when it does not come up. */
export async function stageFederation({ staging }: TrialContext, workers: number, connections = 0) {
  const environment = { ...FEDERATION_ENVIRONMENT, ...ADMIN_ENVIRONMENT }
  const server = await staging.start({ workers, environment })
  const admin = new AdminClient(server.origin)
  const lanes = await KeptConnections.open(server.port, connections)
  const issuers: LocalIssuer[] = []
  return {
    server,
    admin,
    lanes,
    /** Starts a provider with one ES256 key, makes the server trust it, and ends it with the stage. */
    newIssuer: async () => {
      const issuer = await LocalIssuer.start([newIssuingKey('ES256', 'first')])
      issuers.push(issuer)
      return new TrustedIssuer(issuer, await admin.trustIssuer(issuer))
    },
    stop: async () => {
      lanes.drop()
      await server.stop()
      await Promise.all(issuers.map((issuer) => issuer.stop()))
    },
  }
}
