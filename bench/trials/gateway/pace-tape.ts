import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { compareTapes, type Fit } from '../../../src/tape/fit.js'
import { readTape, type TapedStream } from '../../../src/tape/tape.js'
import { Connection } from '../../harness/http/connection.js'
import { ADMIN_ENVIRONMENT, API_KEY } from '../../performance/gateway/calls.js'
import { apiRequest } from '../requests.js'
import { atMost, exactly, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'

const RELAY = new URL('./tape-relay.js', import.meta.url)
const KNOWN = 'trial/known'
const TAPED = 'trial/tape:known'
/** In the words of every question; it must be on no tape. */
const CANARY = 'canary-of-the-trial'
/** So many that chance alone moves a p99 by a third of a millisecond: an answer takes its pace from any of the streams. */
const CALLS = 1_600
const CONNECTIONS = 64
/** A caller has the last byte of an answer before the relay has seen its end and has written the line. */
const LAST_LINE_MS = 5_000

const KNOWN_PACE = {
  first_token_ms: { uniform: [50, 150] },
  gap_ms: { log_normal: { median: 20, p99: 60 } },
  tokens: { uniform: [40, 80] },
}

async function callAll(port: number, model: string): Promise<number> {
  const connections = await Connection.openAll(port, CONNECTIONS)
  let left = CALLS
  let failed = 0
  const lane = async (connection: Connection): Promise<void> => {
    while (left > 0) {
      const messages = [{ role: 'user', content: `${CANARY} ${model} ${left--}` }]
      const body = { model, messages, stream: true, max_tokens: 1000 }
      const answer = await connection.send(apiRequest('POST', '/chat/completions', body, API_KEY))
      if (answer.status !== 200 || !answer.body.includes('[DONE]')) failed++
    }
  }
  await Promise.all(connections.map(lane))
  for (const connection of connections) connection.drop()
  return failed
}

const linesOf = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1

async function playRound({ staging }: TrialContext) {
  const folder = staging.freshFolder()
  const recorded = join(folder, 'recorded.ndjson')
  const replayed = join(folder, 'replayed.ndjson')
  const model = (simulation: object): object => ({ endpoints: [{ provider: 'sim', simulation }] })
  const models = { [KNOWN]: model(KNOWN_PACE), [TAPED]: model({ tape: { file: recorded } }) }
  // A configuration names a tape that is there; what is in it is read with the first call.
  writeFileSync(recorded, '')
  const config = join(folder, 'sluice.json')
  writeFileSync(config, JSON.stringify({ models }))
  const environment = { SLUICE_CONFIG: config, ...ADMIN_ENVIRONMENT }
  const server = await staging.start({ workers: 1, dataFolder: staging.freshFolder(), environment })
  let failed = 0
  const record = async (file: string, asked: string): Promise<readonly TapedStream[]> => {
    const relay = await staging.startHelper(null, RELAY, { upstream: server.origin, file })
    failed += await callAll(relay.port, asked)
    const deadline = performance.now() + LAST_LINE_MS
    while (linesOf(file) < CALLS && performance.now() < deadline) await sleep(50)
    relay.end()
    return readTape(readFileSync(file, 'utf8'))
  }
  const tapes = [await record(recorded, KNOWN), await record(replayed, TAPED)] as const
  await server.stop()
  const fits = compareTapes(...tapes)
  const [first, gap] = ['first token', 'gap'].map((kind) => fits.find((fit) => fit.kind === kind)) as [
    Fit,
    Fit,
  ]
  const apart = ([one, other]: readonly [number, number]): number => Math.abs(one - other)
  return {
    failed,
    streams: Math.min(...tapes.map(({ length }) => length)),
    p50: gap.p50[0],
    p99: gap.p99[0],
    p50Apart: apart(gap.p50),
    p99Apart: apart(gap.p99),
    distance: gap.distance,
    firstDistance: first.distance,
    leaks: [recorded, replayed].filter((file) => readFileSync(file, 'utf8').includes(CANARY)).length,
  }
}

export const paceTape: Trial = {
  name: 'pace-tape',
  summary: 'paces of a known provider are recorded, replayed and recorded again: how alike the two tapes are',
  rounds: 3,
  roundLimitS: 180,
  run: async (context) => {
    const all = await playRounds(
      context,
      () => playRound(context),
      (round) => JSON.stringify(round),
    )
    const { sum, max, median, min } = over(all)
    return {
      bars: [
        atMost('gap p50 of the two tapes apart, the worst round', max('p50Apart'), 1, 'ms'),
        atMost('gap p99 of the two tapes apart, the worst round', max('p99Apart'), 1, 'ms'),
        atMost('distance of the two distributions of gaps, the worst round', max('distance'), 0.02),
        exactly('streams of the shorter tape', min('streams'), CALLS),
        exactly('tapes that hold words of a question', sum('leaks'), 0),
        exactly('failed calls', sum('failed'), 0),
      ],
      figures: [
        figure('gap p50 as recorded', median('p50'), 'ms'),
        figure('gap p99 as recorded', median('p99'), 'ms'),
        figure('distance of the times to the first token', median('firstDistance')),
      ],
    }
  },
}
