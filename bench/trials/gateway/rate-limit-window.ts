import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpResponse } from '../../harness/http/connection.js'
import { Connection } from '../../harness/http/connection.js'
import { runPaced } from '../../harness/http/pacer.js'
import { MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { chatCall, createKey, exactEnvironment } from '../storage/ledger-stage.js'
import { exactly, figure, near, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'

const WORKERS = 2
const PER_MINUTE = 1_000
const OFFERED = 4_000
const WINDOW_S = 60
/** The offer ends a little before the window does, so that all of it falls into one. */
const OFFER_S = 58
const CONNECTIONS = 32
const RETRIES = 100

interface RateLimitRefusal {
  readonly at: number
  readonly retryAfterS: number
  /** What the headers say, as the contract names them. */
  readonly limit: string | undefined
  readonly remaining: string | undefined
}

interface RateLimitRound {
  accepted: number
  readonly refusals: RateLimitRefusal[]
  other: number
  retriesAccepted: number
}

function countAnswer(round: RateLimitRound, { status, headers }: HttpResponse): void {
  if (status === 200) round.accepted++
  else if (status !== 429) round.other++
  else {
    round.refusals.push({
      at: performance.now(),
      retryAfterS: Number(headers.get('retry-after')),
      limit: headers.get('x-ratelimit-limit'),
      remaining: headers.get('x-ratelimit-remaining'),
    })
  }
}

/** Waits as long as each refusal has said, and then asks once more. */
async function retryRefused(
  connections: readonly Connection[],
  request: Buffer,
  round: RateLimitRound,
): Promise<void> {
  const last = round.refusals.slice(-RETRIES)
  const dueAt = Math.max(...last.map(({ at, retryAfterS }) => at + retryAfterS * 1000))
  await sleep(Math.max(0, dueAt - performance.now()))
  for (let done = 0; done < last.length; done += connections.length) {
    const some = connections.slice(0, last.length - done)
    const answers = await Promise.all(some.map((connection) => connection.send(request)))
    round.retriesAccepted += answers.filter(({ status }) => status === 200).length
  }
}

async function runWindow(port: number): Promise<RateLimitRound> {
  const { key } = await createKey(port, MANAGEMENT_KEY, { rate_limit: { requests_per_minute: PER_MINUTE } })
  const request = chatCall(key)
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(port)))
  const round: RateLimitRound = { accepted: 0, refusals: [], other: 0, retriesAccepted: 0 }
  const pending: Promise<void>[] = []
  let next = 0
  await runPaced({ perSecond: OFFERED / OFFER_S, seconds: OFFER_S }, () => {
    const connection = connections[next++ % CONNECTIONS]!
    pending.push(connection.send(request).then((answer) => countAnswer(round, answer)))
  })
  await Promise.all(pending)
  await retryRefused(connections, request, round)
  for (const connection of connections) connection.drop()
  return round
}

async function run({ staging, rounds, progress }: TrialContext): Promise<TrialOutcome> {
  const environment = exactEnvironment(staging)
  const server = await staging.start({ workers: WORKERS, poolThreads: 1, environment })
  const all: RateLimitRound[] = []
  for (let turn = 1; turn <= rounds; turn++) {
    const round = await runWindow(server.port)
    all.push(round)
    progress(
      `window ${turn}/${rounds}: ${round.accepted} accepted, ${round.retriesAccepted} of ${RETRIES} retries`,
    )
  }
  await server.stop()
  const furthest = all
    .map(({ accepted }) => accepted)
    .sort((a, b) => distanceFromLimit(b) - distanceFromLimit(a))[0]!
  const refusals = all.flatMap(({ refusals }) => refusals)
  const untrue = refusals.filter(
    ({ limit, remaining, retryAfterS }) =>
      limit !== String(PER_MINUTE) || remaining !== '0' || !(retryAfterS >= 1 && retryAfterS <= WINDOW_S),
  )
  return {
    bars: [
      near('accepted in a window, the worst of all', furthest, PER_MINUTE, PER_MINUTE / 100),
      exactly(
        'retries after the announced time that were accepted',
        all.reduce((sum, { retriesAccepted }) => sum + retriesAccepted, 0),
        RETRIES * rounds,
      ),
      exactly('refusals whose headers are not true', untrue.length, 0),
      exactly(
        'answers that were neither 200 nor 429',
        all.reduce((sum, { other }) => sum + other, 0),
        0,
      ),
    ],
    figures: [
      figure('windows', rounds),
      figure('offered in each', OFFERED),
      figure('refusals', refusals.length),
    ],
    notes: [],
  }
}

function distanceFromLimit(accepted: number): number {
  return Math.abs(accepted - PER_MINUTE)
}

export const rateLimitWindow: Trial = {
  name: 'rate-limit-window',
  summary:
    'a limit of 1,000 calls per minute offered 4,000 over two workers: 1,000 pass, Retry-After is true',
  rounds: 3,
  roundLimitS: 150,
  run,
}
