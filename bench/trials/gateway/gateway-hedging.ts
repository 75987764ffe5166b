import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { quantile } from '../../harness/figures/statistics.js'
import { Connection, requestOnce } from '../../harness/http/connection.js'
import { ADMIN_ENVIRONMENT } from '../../performance/gateway/calls.js'
import { apiRequest, getRequest } from '../requests.js'
import { createOrganization, readCredits } from '../storage/ledger-stage.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  over,
  playRounds,
  type Trial,
  type TrialContext,
} from '../trial.js'
import type { HedgingMockState } from './hedging-mock.js'

const MOCK = new URL('./hedging-mock.js', import.meta.url)
const MODEL = 'trial/hedged'
/** Of both endpoints; an answer has 5 prompt and 3 completion tokens. */
const PRICES = { prompt: '0.000001', completion: '0.000002' }
const CALL_NANOS = 5 * 1_000 + 3 * 2_000
const CREDITS = 1_000
const SLOW_PERCENT = 3
const SLOW_MS = 1_000
const CONNECTIONS = 16
/** Until it is known what is late, and something has been saved. */
const WARM_UP = 1_000
const CALLS = 4_000

type Hedge = 'never' | 'always'

async function startProvider({ staging }: TrialContext, slowPercent: number) {
  const { port, end } = await staging.startHelper(null, MOCK, { slowPercent, slowMs: SLOW_MS })
  const state = async (): Promise<HedgingMockState> => {
    const answer = await requestOnce(port, getRequest('/state'), 5_000)
    if (answer?.status !== 200) throw new Error('the provider does not answer')
    return JSON.parse(answer.body.toString())
  }
  return { port, state, end }
}

/** Milliseconds of each call; the answer of a provider comes with its first token. */
async function callMany(connections: readonly Connection[], request: Buffer, calls: number) {
  const times: number[] = []
  let failed = 0
  let left = calls
  const lane = async (connection: Connection): Promise<void> => {
    while (left-- > 0) {
      const begun = performance.now()
      const answer = await connection.send(request)
      times.push(performance.now() - begun)
      if (answer.status !== 200 || !answer.body.includes('[DONE]')) failed++
    }
  }
  await Promise.all(connections.map(lane))
  return { times, failed }
}

async function playWith(context: TrialContext, hedge: Hedge) {
  const { staging } = context
  const one = await startProvider(context, SLOW_PERCENT)
  const two = await startProvider(context, 0)
  const provider = (port: number): object => ({ kind: 'openai', base_url: `http://127.0.0.1:${port}/v1` })
  const file = join(staging.freshFolder(), 'sluice.json')
  const endpoints = ['one', 'two'].map((slug) => ({ provider: slug, prices: PRICES }))
  writeFileSync(
    file,
    JSON.stringify({
      routing: { hedge },
      providers: { one: provider(one.port), two: provider(two.port) },
      models: { [MODEL]: { endpoints } },
    }),
  )
  const environment = { SLUICE_CONFIG: file, ...ADMIN_ENVIRONMENT }
  const server = await staging.start({ workers: 1, dataFolder: staging.freshFolder(), environment })
  const { admin, key } = await createOrganization(server.origin, CREDITS)
  const connections = await Connection.openAll(server.port, CONNECTIONS)
  const body = {
    ...{ model: MODEL, max_tokens: 8, stream: true, provider: { order: ['one', 'two'] } },
    messages: [{ role: 'user', content: 'one call' }],
  }
  const request = apiRequest('POST', '/chat/completions', body, key)
  const warm = await callMany(connections, request, WARM_UP)
  const { times, failed } = await callMany(connections, request, CALLS)
  for (const connection of connections) connection.drop()
  const { total_usage } = await readCredits(admin)
  const [first, second] = [await one.state(), await two.state()]
  await server.stop()
  one.end()
  two.end()
  return {
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    failed: failed + warm.failed,
    extraPercent: ((first.calls + second.calls) / (WARM_UP + CALLS) - 1) * 100,
    slowPercent: (first.slow / first.calls) * 100,
    overpaid: Math.round(total_usage * 1e9) - (WARM_UP + CALLS) * CALL_NANOS,
  }
}

async function playRound(context: TrialContext) {
  const never = await playWith(context, 'never')
  const always = await playWith(context, 'always')
  return {
    plainP50: never.p50,
    plainP99: never.p99,
    p50: always.p50,
    p99: always.p99,
    saved: (1 - always.p99 / never.p99) * 100,
    extraPercent: always.extraPercent,
    plainExtra: never.extraPercent,
    slowPercent: never.slowPercent,
    failed: never.failed + always.failed,
    overpaid: Math.abs(never.overpaid) + Math.abs(always.overpaid),
  }
}

export const gatewayHedging: Trial = {
  name: 'gateway-hedging',
  summary: `one endpoint of two takes a second for ${SLOW_PERCENT} % of its calls: what asking the other as well saves, and costs`,
  rounds: 3,
  roundLimitS: 120,
  run: async (context) => {
    const all = await playRounds(
      context,
      () => playRound(context),
      (round) => JSON.stringify(round),
    )
    const { sum, min, max, median } = over(all)
    return {
      bars: [
        atLeast('first-token p99 down by, the worst round', min('saved'), 60, '%'),
        atMost('calls of providers beyond those of callers, the worst round', max('extraPercent'), 5, '%'),
        exactly('nano-dollars charged beyond one answer a call', sum('overpaid'), 0),
        exactly('failed calls', sum('failed'), 0),
        exactly('calls of providers beyond those of callers where it is off', sum('plainExtra'), 0, '%'),
      ],
      figures: [
        figure('p99 without', median('plainP99'), 'ms'),
        figure('p99 with', median('p99'), 'ms'),
        figure('p50 without', median('plainP50'), 'ms'),
        figure('p50 with', median('p50'), 'ms'),
        figure('calls of the first that were slow', median('slowPercent'), '%'),
      ],
    }
  },
}
