import { requestOnce } from '../../harness/http/connection.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { type ExtraProvider, gatewayEnvironment } from '../../performance/gateway/gateway-config.js'
import type { MockJob, MockState } from '../../performance/gateway/mock-upstream.js'
import { startHelper } from '../helper-process.js'
import { bodylessRequest } from '../requests.js'
import type { TrialContext } from '../trial.js'

/** The mock upstream as a trial sees it. */
interface MockProcess {
  readonly port: number
  readonly pid: number
  /** Asks it what it holds. Faults: Error when it does not answer. */
  state(): Promise<MockState>
  end(): void
}

/** A gateway under trial, with the mock upstream as its provider. */
export interface GatewayStage {
  readonly mock: MockProcess
  readonly server: SluiceServer
  stop(): Promise<void>
}

const STATE = bodylessRequest('GET', '/state')
const METRICS = bodylessRequest('GET', '/metrics')
/** Long enough for a loop with thousands of streams to come round. */
const ANSWER_LIMIT_MS = 10_000

interface StageSettings {
  readonly workers: number
  /** Providers beside the mock. */
  readonly extra?: readonly ExtraProvider[]
  /** On whose core the mock runs; the generator's unless said otherwise. */
  readonly mockBeside?: 'generator' | 'server'
  /** Settings of the server besides those. */
  readonly environment?: Readonly<Record<string, string>>
}

async function startMock(
  { staging, cores }: TrialContext,
  beside: 'generator' | 'server',
): Promise<MockProcess> {
  const port = await staging.freePort()
  const message: MockJob = { port }
  const program = new URL('../../performance/gateway/mock-upstream.js', import.meta.url)
  const helper = await startHelper(staging, cores?.[beside] ?? null, { program, message })
  return {
    port,
    pid: helper.pid,
    end: helper.end,
    state: async () => {
      const answer = await requestOnce(port, STATE, ANSWER_LIMIT_MS)
      if (answer?.status !== 200) throw new Error('the mock upstream does not answer')
      return JSON.parse(answer.body.toString()) as MockState
    },
  }
}

/**
 * Starts both and lets the gateway answer one call. Faults: Error when one does not come up or that call is not
 * answered with 200.
 */
export async function stageGateway(
  context: TrialContext,
  { workers, extra = [], mockBeside = 'generator', environment: more = {} }: StageSettings,
): Promise<GatewayStage> {
  const { staging, cores } = context
  const mock = await startMock(context, mockBeside)
  const upstream = `http://127.0.0.1:${mock.port}`
  const environment = { ...gatewayEnvironment(staging.freshFolder(), upstream, extra), ...more }
  // Several workers on one core would only take turns.
  const core = workers === 1 ? (cores?.server ?? null) : null
  const server = await staging.start({ workers, poolThreads: 1, core, environment })
  const first = await requestOnce(server.port, callBytes(SLUICE_CHAT, 'bench/json'), ANSWER_LIMIT_MS)
  if (first?.status !== 200) {
    const said = first === null ? 'nothing' : `${first.status} ${first.body.toString().slice(0, 300)}`
    throw new Error(`the first call of the gateway was answered with ${said}`)
  }
  const stop = async () => {
    await server.stop()
    mock.end()
  }
  return { mock, server, stop }
}

/** What the gateway says it holds open towards its upstreams, all workers together. */
interface UpstreamGauges {
  /** Open sockets, idle ones included. */
  readonly sockets: number
  /** Calls under way. */
  readonly calls: number
}

/** Reads the gauges from `/metrics`. Faults: Error when there is no such page; a gauge that is missing is NaN. */
export async function readGauges(port: number): Promise<UpstreamGauges> {
  const answer = await requestOnce(port, METRICS, ANSWER_LIMIT_MS)
  if (answer?.status !== 200) throw new Error(`/metrics was answered with ${answer?.status ?? 'nothing'}`)
  const text = answer.body.toString()
  return { sockets: sumOf(text, 'sluice_upstream_sockets'), calls: sumOf(text, 'sluice_upstream_calls') }
}

function sumOf(text: string, name: string): number {
  const lines = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm'))]
  return lines.length === 0 ? Number.NaN : lines.reduce((sum, [, value]) => sum + Number(value), 0)
}
