import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, ConnectionLost, requestOnce } from '../../harness/http/connection.js'
import { residentBytes, sampleResident } from '../../harness/machine/proc.js'
import { ADMIN_ENVIRONMENT, API_KEY } from '../../performance/gateway/calls.js'
import { apiRequest } from '../requests.js'
import { atMost, exactly, figure, playRounds, type Trial, type TrialContext } from '../trial.js'

const MOCK = new URL('./failing-mock.js', import.meta.url)
const MIB = 1024 * 1024
const CALLS_OF_A_KIND = 300
const AT_A_TIME = 50
const LEAVE_AFTER_MS = 20
const ANSWER_LIMIT_MS = 30_000
/** How long memory may take to come to rest after a round. */
const SETTLE_MS = 6_000
const SETTLE_STEP_MS = 250
const SAMPLE_MS = 5
/** The rounds before are those in which the engine finds its size. */
const PLATEAU_ROUND = 2

/** How calls go wrong, and the status that each has to come to; 0 for those whose caller leaves. */
const KINDS = [
  ['silent', 0, false],
  ['silent', 0, true],
  ['broken', 502, false],
  ['malformed', 502, true],
  ['half', 200, true],
  ['slow', 200, true],
] as const

function callOf(model: string, stream: boolean): Buffer {
  const messages = [{ role: 'user', content: 'one call '.repeat(200) }]
  return apiRequest('POST', '/chat/completions', { model: `trial/${model}`, messages, stream }, API_KEY)
}

/** The status of a call; 0 for one that is left without an answer. */
async function makeCall(port: number, request: Buffer, leaves: boolean): Promise<number> {
  if (!leaves) return (await requestOnce(port, request, ANSWER_LIMIT_MS))?.status ?? 0
  const [connection] = (await Connection.openAll(port, 1)) as [Connection]
  const lost = connection.send(request).catch((error: unknown) => {
    if (error instanceof ConnectionLost) return { status: 0 }
    throw error
  })
  await sleep(LEAVE_AFTER_MS)
  connection.drop()
  return (await lost).status
}

/** How many of the calls did not end as they should; so many are under way at a time. */
async function makeCalls(count: number, atATime: number, call: () => Promise<boolean>): Promise<number> {
  let left = count
  let wrong = 0
  const caller = async (): Promise<void> => {
    while (left-- > 0) if (!(await call())) wrong++
  }
  await Promise.all(Array.from({ length: atATime }, caller))
  return wrong
}

async function playRound(port: number, workers: () => readonly number[]) {
  let wrong = 0
  for (const [model, status, stream] of KINDS) {
    const request = callOf(model, stream)
    wrong += await makeCalls(
      CALLS_OF_A_KIND,
      AT_A_TIME,
      async () => (await makeCall(port, request, status === 0)) === status,
    )
  }
  let least = Number.POSITIVE_INFINITY
  for (let waited = 0; waited < SETTLE_MS; waited += SETTLE_STEP_MS) {
    least = Math.min(least, residentBytes(workers()))
    await sleep(SETTLE_STEP_MS)
  }
  return { wrong, mib: least / MIB }
}

/** What the memory grows to while one answer of nearly the most bytes is read and passed on, beyond before. */
async function costOfHugeAnswer(port: number, workers: () => readonly number[]): Promise<number> {
  const before = residentBytes(workers())
  const endSampling = sampleResident(workers, SAMPLE_MS)
  const status = await makeCall(port, callOf('huge', false), false)
  const most = Math.max(...endSampling())
  return status === 200 ? (most - before) / MIB : Number.POSITIVE_INFINITY
}

async function stage({ staging }: TrialContext) {
  const mock = await staging.startHelper(null, MOCK)
  const models = Object.fromEntries(
    [...KINDS.map(([model]) => model), 'huge'].map((model) => [
      `trial/${model}`,
      { endpoints: [{ provider: 'failing', upstream_model: model }] },
    ]),
  )
  const failing = { kind: 'openai', base_url: `http://127.0.0.1:${mock.port}/v1`, breaker: false }
  const file = join(staging.freshFolder(), 'sluice.json')
  writeFileSync(file, JSON.stringify({ routing: { retries: 0 }, providers: { failing }, models }))
  const server = await staging.start({ environment: { SLUICE_CONFIG: file, ...ADMIN_ENVIRONMENT } })
  const stop = async (): Promise<void> => {
    await server.stop()
    mock.end()
  }
  return { server, stop }
}

export const gatewayMemory: Trial = {
  name: 'gateway-memory',
  summary:
    'ten rounds of calls that are left, fail, break off or are slow, one worker: memory stays where it was after the second',
  rounds: 10,
  roundLimitS: 60,
  run: async (context) => {
    const { server, stop } = await stage(context)
    const before = residentBytes(server.workers) / MIB
    const rounds = await playRounds(
      context,
      () => playRound(server.port, () => server.workers),
      ({ wrong, mib }) => `${Math.round(mib)} MiB, ${wrong} calls ended otherwise`,
    )
    const huge = await costOfHugeAnswer(server.port, () => server.workers)
    await stop()
    const plateau = rounds[Math.min(PLATEAU_ROUND, rounds.length) - 1]!.mib
    const wrong = rounds.reduce((sum, round) => sum + round.wrong, 0)
    return {
      bars: [
        atMost(
          'resident memory after the last round, beyond the second',
          rounds.at(-1)!.mib - plateau,
          20,
          'MiB',
        ),
        exactly('calls that did not end as they should', wrong, 0),
      ],
      figures: [
        figure('resident before', before, 'MiB'),
        figure('beyond that while one answer of 60 MiB is read and passed on', huge, 'MiB'),
        ...rounds.map(({ mib }, at) => figure(`resident after round ${at + 1}`, mib, 'MiB')),
      ],
    }
  },
}
