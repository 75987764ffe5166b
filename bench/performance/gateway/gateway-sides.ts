/** The sides of gateway scenarios: our server, the bare relay and another gateway, all before one mock upstream. */
import { isCompleteBody, type RequestSpec } from '../../harness/http/requests.js'
import {
  type ChildProcesses,
  exchangeMessage,
  freePort,
  startProgram,
} from '../../harness/server/child-processes.js'
import type { LoadTarget } from '../../harness/server/sluice-server.js'
import type { LoadJob } from '../job.js'
import { sampleReply } from '../sample-reply.js'
import type { Scenario } from '../scenarios.js'
import {
  type MeasuredSide,
  NO_IDS,
  programTarget,
  runLoad,
  type ScenarioRun,
  type ScenarioSides,
  startServer,
} from '../sides.js'
import type { RelayJob, RelayReady } from './bare-relay.js'
import { BARE_TARGET, type CallTarget, callSpec, SLUICE_CHAT } from './calls.js'
import { gatewayEnvironment } from './gateway-config.js'
import { PEER_PATH, peerHeaders, startPeer } from './peer.js'

/** Starts a program that listens on the port it is sent, with the rest of its job. */
async function startListening(
  children: ChildProcesses,
  cores: readonly number[] | null,
  program: URL,
  job: object,
): Promise<LoadTarget> {
  const child = startProgram(children, cores, program)
  const port = await freePort()
  await exchangeMessage<RelayReady>(child, { ...job, port })
  return programTarget(child, port, children)
}

/** Starts the mock upstream on the generator's core. */
export function startMock(children: ChildProcesses, cores: readonly number[] | null): Promise<LoadTarget> {
  return startListening(children, cores, new URL('./mock-upstream.js', import.meta.url), {})
}

/** Starts the mock upstream, and our server before it; `more` are settings of the server besides. */
export async function startGateway(run: ScenarioRun, more: Readonly<Record<string, string>> = {}) {
  const { serverCores, generatorCores } = run.settings.pinning
  // Where latencies are compared the direct call crosses the cores as the one through the server does.
  const mock = await startMock(run.children, run.scenario.pairs === true ? serverCores : generatorCores)
  const environment = (folder: string) => ({ ...gatewayEnvironment(folder, mock.origin), ...more })
  return { mock, server: await startServer(run, 0, environment) }
}

/**
 * A side that sends `requests` to `target`, streams by the driver that checks them. Throws when it does not give one whole
 * answer to each of them before anything is measured.
 */
async function provenSide(
  run: ScenarioRun,
  target: LoadTarget,
  mock: LoadTarget,
  requests: readonly RequestSpec[],
): Promise<MeasuredSide> {
  for (const request of requests) {
    const { body } = await sampleReply(target.origin, request, NO_IDS)
    if (request.answer === undefined || isCompleteBody(request.answer, body)) continue
    throw new Error(
      `${run.scenario.name}: ${target.origin}${request.path} gave no whole answer: ${body.slice(-300)}`,
    )
  }
  const changes = { requests, upstreamPids: mock.pids, ...driverOf(run.scenario, requests, mock) }
  return (load) => runLoad(run, target, { ...changes, ...load })
}

/** The driver of our own that a scenario needs, whichever the command line names. */
function driverOf(
  { pairs }: Scenario,
  [request]: readonly RequestSpec[],
  mock: LoadTarget,
): Partial<LoadJob> {
  if (request === undefined) return {}
  if (pairs === true) {
    const direct = { origin: mock.origin, request: { ...request, ...BARE_TARGET } }
    return { tool: 'pairs', direct }
  }
  return request.answer?.kind === 'stream' ? { tool: 'streams' } : {}
}

function stopAll(targets: readonly LoadTarget[]): () => Promise<unknown> {
  return () => Promise.all(targets.map((target) => target.stop()))
}

/** Starts relay, our server and perhaps another gateway. What was started when one of them fails ends with `children`. */
export async function startGatewaySides(run: ScenarioRun): Promise<ScenarioSides> {
  const { scenario, settings, children } = run
  const { serverCores } = settings.pinning
  const { mock, server } = await startGateway(run)
  const side = (target: LoadTarget, { path, headers }: CallTarget): Promise<MeasuredSide> => {
    const requests = scenario.requests.map((spec) => ({ ...spec, path, headers }))
    return provenSide(run, target, mock, requests)
  }
  const relayProgram = new URL('./bare-relay.js', import.meta.url)
  const relayJob: Omit<RelayJob, 'port'> = { upstream: mock.origin }
  const relay = await startListening(children, serverCores, relayProgram, relayJob)
  const floor = await side(relay, BARE_TARGET)
  const ours = await side(server, SLUICE_CHAT)
  if (settings.peerProgram === null) return { ours, floor, stop: stopAll([relay, server, mock]) }
  const other = await startPeer(children, serverCores, settings.peerProgram)
  const peer = await side(other, { path: PEER_PATH, headers: peerHeaders(mock.origin) })
  return { ours, floor, peer, stop: stopAll([relay, server, other, mock]) }
}

/** Starts one server that is asked in the messages format and, as the floor, in chat's; `chat` is what chat asks for, and says. */
export async function startMessagesSides(
  run: ScenarioRun,
  { model, text }: { readonly model: string; readonly text?: string },
): Promise<ScenarioSides> {
  const { mock, server } = await startGateway(run)
  const ours = await provenSide(run, server, mock, run.scenario.requests)
  const floor = await provenSide(run, server, mock, [callSpec(SLUICE_CHAT, model, text)])
  return { ours, floor, stop: stopAll([server, mock]) }
}
