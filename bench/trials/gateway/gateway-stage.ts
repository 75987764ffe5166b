/** A gateway under trial, with the mock upstream as its provider. */

import { requestOnce } from '../../harness/http/connection.js'
import type { CorePlan } from '../../harness/machine/pinning.js'
import {
  CheckedStreamFigures,
  type CheckedStreamsPlan,
  checkedStreamLoop,
  type ExpectedStream,
} from '../../harness/sse/checked-streams.js'
import { type CallTarget, callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { type ExtraProvider, gatewayEnvironment } from '../../performance/gateway/gateway-config.js'
import { mockModel, tagOf } from '../../performance/gateway/mock-models.js'
import type { MockState } from '../../performance/gateway/mock-upstream.js'
import { getRequest } from '../requests.js'
import type { TrialContext } from '../trial.js'

export type GatewayStage = Awaited<ReturnType<typeof stageGateway>>

const STATE = getRequest('/state')
const METRICS = getRequest('/metrics')
const MOCK = new URL('../../performance/gateway/mock-upstream.js', import.meta.url)
/** Long enough for a loop with thousands of streams to come round. */
const ANSWER_LIMIT_MS = 10_000

interface StageSettings {
  /** Of the server; 1 unless it says. */
  readonly workers?: number
  /** Providers beside the mock. */
  readonly extra?: readonly ExtraProvider[]
  /** On whose core the mock runs; the generator's unless said otherwise. */
  readonly mockBeside?: keyof CorePlan
  /** Folder of the store; a fresh one unless said otherwise. */
  readonly dataFolder?: string
  /** What the configuration says under `tools`. */
  readonly tools?: object
  /** Settings of the server besides those. */
  readonly environment?: Readonly<Record<string, string>>
}

/** The body of what is answered with 200. Faults: Error that names `who` on anything else. */
async function requireAnswer(port: number, request: Buffer, who: string): Promise<string> {
  const answer = await requestOnce(port, request, ANSWER_LIMIT_MS)
  const text = answer?.body.toString() ?? ''
  if (answer?.status === 200) return text
  throw new Error(`${who} was answered with ${answer?.status ?? 'nothing'} ${text.slice(0, 300)}`.trimEnd())
}

/**
 * Starts both and lets the gateway answer one call. Faults: Error when one does not come up or that call is not
 * answered with 200.
 */
export async function stageGateway(
  { staging }: TrialContext,
  {
    workers = 1,
    extra = [],
    mockBeside = 'generator',
    dataFolder,
    tools = {},
    environment: more = {},
  }: StageSettings = {},
) {
  const mock = await staging.startHelper(mockBeside, MOCK)
  const { port } = mock
  const upstream = `http://127.0.0.1:${port}`
  const environment = { ...gatewayEnvironment(staging.freshFolder(), upstream, extra, tools), ...more }
  const server = await staging.start({
    workers,
    environment,
    dataFolder: dataFolder ?? staging.freshFolder(),
  })
  await requireAnswer(server.port, callBytes(SLUICE_CHAT, 'bench/json'), 'the first call of the gateway')
  const state = async () => JSON.parse(await requireAnswer(port, STATE, 'the mock upstream')) as MockState
  const stop = async () => {
    await server.stop()
    mock.end()
  }
  return { mock: { ...mock, state }, server, stop }
}

/**
 * What the gateway says it holds open towards its upstreams, all workers together, by `/metrics`. Faults: Error when
 * there is no such page; a gauge that is missing is NaN.
 */
export async function readGauges(port: number) {
  const text = await requireAnswer(port, METRICS, '/metrics')
  return {
    /** Open sockets, idle ones included. */
    sockets: sumOf(text, 'sluice_upstream_sockets'),
    /** Calls under way. */
    calls: sumOf(text, 'sluice_upstream_calls'),
  }
}

function sumOf(text: string, name: string): number {
  const lines = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm'))]
  return lines.length === 0 ? Number.NaN : lines.reduce((sum, [, value]) => sum + Number(value), 0)
}

interface StreamLoadSettings extends Omit<CheckedStreamsPlan, 'port' | 'request' | 'expected'> {
  /** Our chat endpoint unless it says. */
  readonly to?: CallTarget
  readonly model: string
}

/** Streams of the mock's models, so many at a time, each checked to its last event. Resolves when the last has ended. */
export async function runStreams(port: number, settings: StreamLoadSettings): Promise<CheckedStreamFigures> {
  const { to = SLUICE_CHAT, model, ...plan } = settings
  const figures = new CheckedStreamFigures()
  const expected = (index: number): ExpectedStream => expectedStream(model, index)
  const request = (index: number) => callBytes(to, model, expected(index).tag)
  await checkedStreamLoop({ ...plan, port, request, expected }, figures).run()
  return figures
}

/** What a stream of a model has to hold for request `number`. */
export function expectedStream(model: string, number: number): ExpectedStream {
  const plan = mockModel(model)
  if (plan === null) throw new Error(`${model} is no model of the mock`)
  return { tokens: plan.tokens, tag: plan.tagged ? tagOf(number) : '' }
}
