/** The sides of a federation scenario: exchanges against bare cryptography, access tokens against keys. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { RequestSpec } from '../../harness/http/requests.js'
import type { ChildProcesses } from '../../harness/server/child-processes.js'
import type { LoadTarget } from '../../harness/server/sluice-server.js'
import type { LoopWork } from '../floor-loop.js'
import { chatWithKey, SLUICE_CHAT } from '../gateway/calls.js'
import { gatewayEnvironment } from '../gateway/gateway-config.js'
import { startMock } from '../gateway/gateway-sides.js'
import { sampleReply } from '../sample-reply.js'
import type { FloorPlan, Scenario } from '../scenarios.js'
import { type CampaignSettings, loopFloor, type MeasuredSide, runLoad } from '../sides.js'
import { exchangeSpec } from './exchange-request.js'
import { type IssuingKey, newIssuingKey } from './issuing-key.js'
import { LocalIssuer } from './local-issuer.js'
import { AdminClient, FEDERATION_ENVIRONMENT, type FederationTrust } from './trust.js'

interface FederationSides {
  readonly ours: MeasuredSide
  readonly floor: MeasuredSide
  stop(): Promise<void>
}

/** Different tokens in a cycle, so that no memory of one can help. */
const TOKENS = 64
const NO_IDS = { next: 1, spread: 1 }

/** A server that trusts a provider, and the mock upstream behind it. */
interface FederationServer {
  readonly issuer: LocalIssuer
  readonly key: IssuingKey
  readonly mock: LoadTarget
  readonly server: LoadTarget
  readonly trust: FederationTrust
  stop(): Promise<void>
}

async function startFederationServer(
  alg: IssuingKey['alg'],
  settings: CampaignSettings,
  children: ChildProcesses,
): Promise<FederationServer> {
  const key = newIssuingKey(alg, 'bench')
  const issuer = await LocalIssuer.start([key])
  const mock = await startMock(children, settings.pinning.generatorCores)
  const folder = mkdtempSync(join(settings.tempFolder, 'federation-'))
  const server = await children.startServer({
    program: settings.serverProgram,
    workers: settings.workers,
    cores: settings.pinning.serverCores,
    dataFolder: folder,
    environment: { ...gatewayEnvironment(folder, mock.origin), ...FEDERATION_ENVIRONMENT },
  })
  const trust = await new AdminClient(server.origin).trustIssuer(issuer)
  const stop = async () => {
    await Promise.all([server.stop(), mock.stop(), issuer.stop()])
  }
  return { issuer, key, mock, server, trust, stop }
}

/**
 * Starts both sides of a scenario. Throws when a server does not come up, or refuses one call before anything is
 * measured.
 */
export async function startFederationSides(
  scenario: Scenario,
  floor: FloorPlan & { kind: 'jws' | 'key' },
  settings: CampaignSettings,
  children: ChildProcesses,
): Promise<FederationSides> {
  const ground = await startFederationServer(floor.kind === 'jws' ? floor.alg : 'ES256', settings, children)
  const sides =
    floor.kind === 'jws'
      ? await exchangeSides(scenario, ground, settings, children)
      : await bearerSides(scenario, ground, settings, children)
  return { ...sides, stop: ground.stop }
}

type OursAndFloor = Pick<FederationSides, 'ours' | 'floor'>

async function exchangeSides(
  scenario: Scenario,
  { issuer, key, server, trust }: FederationServer,
  settings: CampaignSettings,
  children: ChildProcesses,
): Promise<OursAndFloor> {
  const tokens = Array.from({ length: TOKENS }, (_, index) => issuer.token({ jti: `bench-${index}` }))
  const requests = tokens.map((token) => exchangeSpec(trust.policyId, token))
  const accessToken = await exchangeToken(server, requests[0]!)
  const work = bareSignatureWork(tokens[0]!, key, accessToken)
  const nothingToStop = async () => {}
  return {
    ours: {
      measure: () => runLoad(server, scenario, settings, children, { requests }),
      stop: nothingToStop,
    },
    floor: loopFloor(work, settings, children),
  }
}

/** What an exchange cannot do without: checking that token's signature, and one over a token like ours. */
function bareSignatureWork(token: string, { alg, jwk }: IssuingKey, accessToken: string): LoopWork {
  const end = token.lastIndexOf('.')
  const minted = accessToken.slice(0, accessToken.lastIndexOf('.'))
  return { kind: 'jws', alg, jwk, signed: token.slice(0, end), signature: token.slice(end + 1), minted }
}

async function bearerSides(
  scenario: Scenario,
  { issuer, server, mock, trust }: FederationServer,
  settings: CampaignSettings,
  children: ChildProcesses,
): Promise<OursAndFloor> {
  const side = (bearer: () => Promise<string>): MeasuredSide => ({
    measure: async () => {
      const to = chatWithKey(await bearer())
      const requests = scenario.requests.map((spec) => ({
        ...spec,
        path: SLUICE_CHAT.path,
        headers: to.headers,
      }))
      for (const request of requests) await sampleReply(server.origin, request, NO_IDS)
      return await runLoad(server, scenario, settings, children, { requests, upstreamPids: mock.pids })
    },
    stop: async () => {},
  })
  // A new token for every measurement: one lives for 15 minutes.
  const ours = side(() => exchangeToken(server, exchangeSpec(trust.policyId, issuer.token())))
  const floor = side(async () => trust.key)
  // Both sides are the same process: without this the first would warm it up for the second.
  await floor.measure()
  return { ours, floor }
}

/** The access token of one exchange. Throws when it is refused. */
async function exchangeToken(server: LoadTarget, request: RequestSpec): Promise<string> {
  const { body } = await sampleReply(server.origin, request, NO_IDS)
  return (JSON.parse(body) as { access_token: string }).access_token
}
