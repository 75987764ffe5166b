/** The sides of a gateway scenario: our server, the bare relay and another gateway, all before one mock upstream. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { isCompleteBody, type RequestSpec } from '../../harness/http/requests.js'
import type { ChildProcesses } from '../../harness/server/child-processes.js'
import { exchangeMessage, freePort, startProgram } from '../../harness/server/program.js'
import type { LoadTarget } from '../../harness/server/sluice-server.js'
import type { LoadJob } from '../job.js'
import { sampleReply } from '../sample-reply.js'
import type { Scenario } from '../scenarios.js'
import { type CampaignSettings, type MeasuredSide, runLoad } from '../sides.js'
import type { RelayJob, RelayReady } from './bare-relay.js'
import { BARE_TARGET, type CallTarget, SLUICE_CHAT } from './calls.js'
import { gatewayEnvironment } from './gateway-config.js'
import type { MockJob, MockReady } from './mock-upstream.js'
import { PEER_PATH, peerHeaders, startPeer } from './peer.js'

interface GatewaySides {
  readonly ours: MeasuredSide
  readonly floor: MeasuredSide
  readonly peer: MeasuredSide | null
  stop(): Promise<unknown>
}

/** Starts the mock upstream on the generator's core. */
export async function startMock(
  children: ChildProcesses,
  cores: readonly number[] | null,
): Promise<LoadTarget> {
  const child = startProgram(children, cores, new URL('./mock-upstream.js', import.meta.url))
  const port = await freePort()
  await exchangeMessage<MockReady>(child, { port } satisfies MockJob)
  return targetOf(child, port, children)
}

/** Starts the bare relay before `upstream`. */
async function startRelay(
  children: ChildProcesses,
  cores: readonly number[] | null,
  upstream: string,
): Promise<LoadTarget> {
  const child = startProgram(children, cores, new URL('./bare-relay.js', import.meta.url))
  const port = await freePort()
  await exchangeMessage<RelayReady>(child, { port, upstream } satisfies RelayJob)
  return targetOf(child, port, children)
}

function targetOf(
  child: ReturnType<typeof startProgram>,
  port: number,
  children: ChildProcesses,
): LoadTarget {
  return {
    origin: `http://127.0.0.1:${port}`,
    pids: [child.pid!],
    gone: () => child.exitCode !== null || child.signalCode !== null,
    stop: () => children.stop(child),
  }
}

/** Starts our server with `upstream` as its only provider and a data folder of its own. */
export async function startGateway(
  children: ChildProcesses,
  settings: Pick<CampaignSettings, 'serverProgram' | 'workers' | 'pinning' | 'tempFolder'>,
  upstream: string,
): Promise<LoadTarget> {
  const folder = mkdtempSync(join(settings.tempFolder, 'gateway-'))
  return await children.startServer({
    program: settings.serverProgram,
    workers: settings.workers,
    cores: settings.pinning.serverCores,
    dataFolder: folder,
    environment: gatewayEnvironment(folder, upstream),
  })
}

/**
 * Starts every side of a gateway scenario. Throws when one of them does not come up, or does not give one whole
 * answer before anything is measured. What was started by then ends with `children`.
 */
export async function startGatewaySides(
  scenario: Scenario,
  settings: CampaignSettings,
  children: ChildProcesses,
): Promise<GatewaySides> {
  const { pinning, peerProgram } = settings
  const mock = await startMock(children, pinning.generatorCores)
  const sides: GatewaySide[] = []
  const add = async (name: string, target: LoadTarget, to: CallTarget): Promise<GatewaySide> => {
    const side = new GatewaySide(name, target, to, mock, scenario, settings, children)
    sides.push(side)
    await side.proveWhole()
    return side
  }
  const relay = await startRelay(children, pinning.serverCores, mock.origin)
  const floor = await add('the bare relay', relay, BARE_TARGET)
  const ours = await add('sluice', await startGateway(children, settings, mock.origin), SLUICE_CHAT)
  const peer =
    peerProgram === null
      ? null
      : await add('the peer', await startPeer(children, pinning.serverCores, peerProgram), {
          path: PEER_PATH,
          headers: peerHeaders(mock.origin),
        })
  const stop = async () => {
    await Promise.all([...sides, mock].map((one) => one.stop()))
  }
  return { ours, floor, peer, stop }
}

class GatewaySide implements MeasuredSide {
  readonly #name: string
  readonly #target: LoadTarget
  readonly #mock: LoadTarget
  readonly #scenario: Scenario
  readonly #settings: CampaignSettings
  readonly #children: ChildProcesses
  readonly #requests: readonly RequestSpec[]

  constructor(
    name: string,
    target: LoadTarget,
    to: CallTarget,
    mock: LoadTarget,
    scenario: Scenario,
    settings: CampaignSettings,
    children: ChildProcesses,
  ) {
    this.#name = name
    this.#target = target
    this.#mock = mock
    this.#scenario = scenario
    this.#settings = settings
    this.#children = children
    this.#requests = scenario.requests.map((spec) => ({ ...spec, path: to.path, headers: to.headers }))
  }

  /** Asks once and looks at the answer. Throws when it is refused or not whole. */
  async proveWhole(): Promise<void> {
    for (const request of this.#requests) {
      const { body } = await sampleReply(this.#target.origin, request, { next: 1, spread: 1 })
      if (request.answer === undefined || isCompleteBody(request.answer, body)) continue
      throw new Error(`${this.#scenario.name}: ${this.#name} gave no whole answer: ${body.slice(-300)}`)
    }
  }

  async measure() {
    const streams = this.#requests[0]?.answer?.kind === 'stream'
    const changes: Partial<LoadJob> = {
      requests: this.#requests,
      upstreamPids: this.#mock.pids,
      ...(streams && { tool: 'streams' as const }),
    }
    return await runLoad(this.#target, this.#scenario, this.#settings, this.#children, changes)
  }

  stop(): Promise<unknown> {
    return this.#target.stop()
  }
}
