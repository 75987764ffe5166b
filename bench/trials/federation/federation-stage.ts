/** A server that trusts identity providers of this process, and connections over which it is asked for exchanges. */
import { Connection, ConnectionLost } from '../../harness/http/connection.js'
import type { HttpResponse } from '../../harness/http/raw-connection.js'
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

/** Starts the server. Faults: Error when it does not come up. */
export async function stageFederation({ staging }: TrialContext, workers: number) {
  const environment = { ...FEDERATION_ENVIRONMENT, ...ADMIN_ENVIRONMENT }
  const server = await staging.start({ workers, environment })
  const admin = new AdminClient(server.origin)
  const issuers: LocalIssuer[] = []
  return {
    server,
    admin,
    /** Starts a provider with one ES256 key, makes the server trust it, and ends it with the stage. */
    newIssuer: async () => {
      const issuer = await LocalIssuer.start([newIssuingKey('ES256', 'first')])
      issuers.push(issuer)
      return new TrustedIssuer(issuer, await admin.trustIssuer(issuer))
    },
    stop: async () => {
      await server.stop()
      await Promise.all(issuers.map((issuer) => issuer.stop()))
    },
  }
}

/** An answer with the time of its request's sending. */
interface TimedResponse extends HttpResponse {
  readonly sentAt: number
}

/**
 * Kept connections that take turns, so that every worker gets its share: each request gets the one that has rested
 * longest, or a new one while all are busy.
 */
export class ExchangeConnections {
  readonly #port: number
  readonly #free: Connection[]
  /** Requests without an answer. */
  lost = 0

  private constructor(port: number, free: Connection[]) {
    this.#port = port
    this.#free = free
  }

  /** Opens `count` connections. Faults: ConnectionLost. */
  static async open(port: number, count: number): Promise<ExchangeConnections> {
    return new ExchangeConnections(port, await Connection.openAll(port, count))
  }

  /** Null when the request got no answer, which is counted as well. */
  async ask(request: Buffer): Promise<TimedResponse | null> {
    try {
      let connection = this.#free.shift()
      if (!connection?.usable) connection = await Connection.open(this.#port)
      const sentAt = performance.now()
      const answer = await connection.send(request)
      if (connection.usable) this.#free.push(connection)
      return { ...answer, sentAt }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      this.lost++
      return null
    }
  }

  drop(): void {
    for (const connection of this.#free) connection.drop()
  }
}
