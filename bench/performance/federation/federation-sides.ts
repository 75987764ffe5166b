/** The sides of a federation scenario: exchanges against bare `jose`, access tokens against keys. */
import { type CompactJWSHeaderParameters, decodeJwt, decodeProtectedHeader, type JWK } from 'jose'
import type { RequestSpec } from '../../harness/http/requests.js'
import type { LoadTarget } from '../../harness/server/sluice-server.js'
import type { LoopWork } from '../floor-loop.js'
import { chatWithKey, SLUICE_CHAT } from '../gateway/calls.js'
import { startGateway } from '../gateway/gateway-sides.js'
import { sampleReply } from '../sample-reply.js'
import type { FloorPlan } from '../scenarios.js'
import { loopFloor, type MeasuredSide, NO_IDS, runLoad, type ScenarioRun } from '../sides.js'
import { exchangeSpec } from './exchange-request.js'
import { type IssuingKey, newIssuingKey } from './issuing-key.js'
import { LocalIssuer } from './local-issuer.js'
import { AdminClient, FEDERATION_ENVIRONMENT } from './trust.js'

/** Different tokens in a cycle, so that no memory of one can help. */
const TOKENS = 64

/**
 * Starts a server that trusts a provider, before a mock upstream, and both sides of a scenario on it. Throws when a server
 * does not come up, or refuses one call before anything is measured.
 */
export async function startFederationSides(run: ScenarioRun, floor: FloorPlan & { kind: 'jws' | 'key' }) {
  const key = newIssuingKey(floor.kind === 'jws' ? floor.alg : 'ES256', 'bench')
  const issuer = await LocalIssuer.start([key])
  const { mock, server } = await startGateway(run, FEDERATION_ENVIRONMENT)
  const trust = await new AdminClient(server.origin).trustIssuer(issuer)
  const stop = () => Promise.all([server.stop(), mock.stop(), issuer.stop()])

  if (floor.kind === 'jws') {
    const tokens = Array.from({ length: TOKENS }, (_, index) => issuer.token({ jti: `bench-${index}` }))
    const requests = tokens.map((token) => exchangeSpec(trust.policyId, token))
    const accessToken = await exchangeToken(server, requests[0]!)
    const work = bareJoseWork(tokens[0]!, key, accessToken)
    const ours: MeasuredSide = (load) => runLoad(run, server, { requests, ...load })
    return { ours, floor: loopFloor(run, work), stop }
  }

  const side = (bearer: () => Promise<string>): MeasuredSide => {
    return async (load) => {
      const { path } = SLUICE_CHAT
      const { headers } = chatWithKey(await bearer())
      const requests = run.scenario.requests.map((spec) => ({ ...spec, path, headers }))
      for (const request of requests) await sampleReply(server.origin, request, NO_IDS)
      return await runLoad(run, server, { requests, upstreamPids: mock.pids, ...load })
    }
  }
  // A new token for every measurement: one lives for 15 minutes.
  const ours = side(() => exchangeToken(server, exchangeSpec(trust.policyId, issuer.token())))
  const withKey = side(async () => trust.key)
  return { ours, floor: withKey, stop }
}

/** What an exchange cannot do without: verifying that token, and signing one that says what ours does. */
function bareJoseWork(token: string, { alg, jwk }: IssuingKey, accessToken: string): LoopWork {
  const header = decodeProtectedHeader(accessToken) as CompactJWSHeaderParameters
  return { kind: 'jws', alg, jwk: jwk as JWK, token, header, claims: decodeJwt(accessToken) }
}

/** The access token of one exchange. Throws when it is refused. */
async function exchangeToken(server: LoadTarget, request: RequestSpec): Promise<string> {
  const { body } = await sampleReply(server.origin, request, NO_IDS)
  return (JSON.parse(body) as { access_token: string }).access_token
}
