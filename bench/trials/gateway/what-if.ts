import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { builtProgram } from '../../../src/base/built-files.js'
import type { WhatIfAnswer } from '../../../src/gateway/what-if/wire.js'
import { quantile } from '../../harness/figures/statistics.js'
import { Connection } from '../../harness/http/connection.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { ADMIN_ENVIRONMENT, API_KEY } from '../../performance/gateway/calls.js'
import { apiRequest } from '../requests.js'
import { atLeast, atMost, exactly, figure, type Trial, type TrialContext } from '../trial.js'

const MODEL = 'trial/split'
const SEEDS = 100
const CALLS = 400
/** Before the first seed, so that something is known of both endpoints. */
const WARM_UP = 800
const CONNECTIONS = 64
/** Calls that are over are in the ledger a little later. */
const SETTLE_MS = 400

/** Of a half of all prompts the first endpoint costs as much as the second today, and half as much tomorrow. */
function configWith(promptPrice: string, completionPrice: string): object {
  const fast = { first_token_ms: { uniform: [2, 6] }, gap_ms: { constant: 0 }, tokens: { uniform: [16, 64] } }
  const slow = { ...fast, first_token_ms: { uniform: [4, 12] } }
  const north = { prompt: promptPrice, completion: completionPrice }
  return {
    providers: {
      north: { kind: 'simulated', name: 'North', breaker: false },
      south: { kind: 'simulated', name: 'South', breaker: false },
    },
    models: {
      [MODEL]: {
        endpoints: [
          {
            provider: 'north',
            prices: north,
            simulation: { ...slow, fault: { kind: 'overloaded', share: 0.05 } },
          },
          { provider: 'south', prices: { prompt: '0.000001', completion: '0.000004' }, simulation: fast },
        ],
      },
    },
  }
}

interface Batch {
  readonly from: number
  readonly to: number
  readonly dollars: number
  readonly failed: number
}

/** The calls of one seed: the same ones whoever is asked. */
async function playBatch({ port }: SluiceServer, seed: number, calls: number): Promise<Batch> {
  const connections = await Connection.openAll(port, CONNECTIONS)
  const from = Date.now()
  let dollars = 0
  let failed = 0
  let next = 0
  const lane = async (connection: Connection): Promise<void> => {
    while (next < calls) {
      const content = `question ${next++} of seed ${seed}`
      const body = { model: MODEL, messages: [{ role: 'user', content }], max_tokens: 100 }
      const answer = await connection.send(apiRequest('POST', '/chat/completions', body, API_KEY))
      if (answer.status !== 200) failed++
      else dollars += (JSON.parse(answer.body.toString()) as { usage: { cost: number } }).usage.cost
    }
  }
  await Promise.all(connections.map(lane))
  for (const connection of connections) connection.drop()
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  return { from, to: Date.now(), dollars, failed }
}

async function startWith({ staging }: TrialContext, config: object) {
  const folder = staging.freshFolder()
  const file = join(folder, 'sluice.json')
  writeFileSync(file, JSON.stringify(config))
  const dataFolder = staging.freshFolder()
  const environment = { SLUICE_CONFIG: file, ...ADMIN_ENVIRONMENT }
  const server = await staging.start({ workers: 1, dataFolder, environment })
  return { server, file, dataFolder }
}

const run = promisify(execFile)

/** As users ask: by the command, of the folder of a server that runs. */
async function ask(
  dataFolder: string,
  config: string,
  { from, to }: Batch,
  seed: number,
): Promise<WhatIfAnswer> {
  const words = ['whatif', '--since', new Date(from).toISOString(), '--until', new Date(to).toISOString()]
  const { stdout } = await run(
    process.execPath,
    [builtProgram('src/main.js'), ...words, '--config', config, '--seed', String(seed), '--json'],
    { env: { PATH: process.env.PATH, SLUICE_DATA_DIR: dataFolder }, maxBuffer: 16 * 1024 * 1024 },
  )
  return JSON.parse(stdout)
}

const isIn = (value: number, { low, high }: { readonly low: number; readonly high: number }): boolean =>
  value >= low && value <= high

async function play(context: TrialContext) {
  const today = await startWith(context, configWith('0.000001', '0.000004'))
  const tomorrow = await startWith(context, configWith('0.0000005', '0.000002'))
  const all = []
  await playBatch(today.server, 0, WARM_UP)
  for (let seed = 1; seed <= SEEDS; seed++) {
    const before = await playBatch(today.server, seed, CALLS)
    const [answer, after] = await Promise.all([
      ask(today.dataFolder, tomorrow.file, before, seed),
      playBatch(tomorrow.server, seed, CALLS),
    ])
    const { cost, calls } = answer
    all.push({
      hit: isIn(after.dollars, cost.after),
      width: ((cost.after.high - cost.after.low) / cost.after.value) * 100,
      told: calls.all,
      unknown: calls.unknown,
      failed: before.failed + after.failed,
      beforeOff: Math.abs(cost.before - before.dollars),
      ratio: after.dollars / cost.after.value,
    })
    if (seed % 10 === 0)
      context.progress(`${seed} of ${SEEDS} seeds, ${all.filter(({ hit }) => hit).length} inside`)
  }
  await today.server.stop()
  await tomorrow.server.stop()
  return all
}

export const whatIf: Trial = {
  name: 'what-if',
  summary: `the cost of ${CALLS} calls under another price list, foretold from the ledger and played: ${SEEDS} times`,
  rounds: 1,
  roundLimitS: 1_200,
  run: async (context) => {
    const all = await play(context)
    const column = (name: 'width' | 'ratio' | 'unknown' | 'failed' | 'beforeOff'): number[] =>
      all.map((one) => one[name])
    return {
      bars: [
        atLeast('costs inside the range that was told', all.filter(({ hit }) => hit).length, 90),
        atMost('width of that range, median', quantile(column('width'), 0.5), 10, '%'),
        exactly('seeds of which a call was missing', all.filter(({ told }) => told !== CALLS).length, 0),
        exactly(
          'calls that were unknown',
          column('unknown').reduce((sum, count) => sum + count, 0),
          0,
        ),
        exactly(
          'calls that failed',
          column('failed').reduce((sum, count) => sum + count, 0),
          0,
        ),
        atMost('dollars between ledger and answers', Math.max(...column('beforeOff')), 1e-9),
      ],
      figures: [figure('cost that came over cost that was told, median', quantile(column('ratio'), 0.5))],
    }
  },
}
