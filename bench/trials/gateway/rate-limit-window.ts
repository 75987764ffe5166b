import { setTimeout as sleep } from 'node:timers/promises'
import { KeptConnections, type TimedResponse } from '../../harness/http/kept-connections.js'
import { runPacedCalls } from '../../harness/http/pacer.js'
import { AdminClient } from '../../performance/federation/trust.js'
import { chatCall, exactEnvironment } from '../storage/ledger-stage.js'
import { exactly, figure, near, over, playRounds, type Trial } from '../trial.js'

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
  /** Answers that were neither 200 nor 429, or none at all. */
  other: number
  retriesAccepted: number
}

function countAnswer(round: RateLimitRound, answer: TimedResponse | null): void {
  if (answer?.status === 200) round.accepted++
  else if (answer?.status !== 429) round.other++
  else {
    const { headers } = answer
    round.refusals.push({
      at: performance.now(),
      retryAfterS: Number(headers.get('retry-after')),
      limit: headers.get('x-ratelimit-limit'),
      remaining: headers.get('x-ratelimit-remaining'),
    })
  }
}

/** Waits as long as each refusal has said, and then asks once more. */
async function retryRefused(connections: KeptConnections, request: Buffer, round: RateLimitRound) {
  const last = round.refusals.slice(-RETRIES)
  const dueAt = over(last).max(({ at, retryAfterS }) => at + retryAfterS * 1000)
  await sleep(Math.max(0, dueAt - performance.now()))
  const answers = await Promise.all(last.map(() => connections.ask(request)))
  round.retriesAccepted = answers.filter((answer) => answer?.status === 200).length
}

async function runWindow(port: number, admin: AdminClient): Promise<RateLimitRound> {
  const { key } = await admin.newKey({ rate_limit: { requests_per_minute: PER_MINUTE } })
  const request = chatCall(key)
  const connections = await KeptConnections.open(port, CONNECTIONS)
  const round: RateLimitRound = { accepted: 0, refusals: [], other: 0, retriesAccepted: 0 }
  await runPacedCalls({ perSecond: OFFERED / OFFER_S, seconds: OFFER_S }, async () =>
    countAnswer(round, await connections.ask(request)),
  )
  await retryRefused(connections, request, round)
  connections.drop()
  return round
}

function isTrue({ limit, remaining, retryAfterS }: RateLimitRefusal): boolean {
  return limit === String(PER_MINUTE) && remaining === '0' && retryAfterS >= 1 && retryAfterS <= WINDOW_S
}

export const rateLimitWindow: Trial = {
  name: 'rate-limit-window',
  summary:
    'a limit of 1,000 calls per minute offered 4,000 over two workers: 1,000 pass, Retry-After is true',
  rounds: 3,
  roundLimitS: 150,
  run: async (context) => {
    const { staging, rounds } = context
    const server = await staging.start({ workers: 2, environment: exactEnvironment(staging) })
    const admin = new AdminClient(server.origin)
    const all = await playRounds(
      context,
      () => runWindow(server.port, admin),
      ({ accepted, retriesAccepted }) => `${accepted} accepted, ${retriesAccepted} of ${RETRIES} retries`,
    )
    await server.stop()
    const offBy = (accepted: number) => Math.abs(accepted - PER_MINUTE)
    const [furthest = 0] = all.map(({ accepted }) => accepted).sort((a, b) => offBy(b) - offBy(a))
    const refusals = all.flatMap((round) => round.refusals)
    const { sum } = over(all)
    return {
      bars: [
        near('accepted in a window, the worst of all', furthest, PER_MINUTE, PER_MINUTE / 100),
        exactly(
          'retries after the announced time that were accepted',
          sum('retriesAccepted'),
          RETRIES * rounds,
        ),
        exactly('refusals whose headers are not true', refusals.filter((one) => !isTrue(one)).length, 0),
        exactly('answers that were neither 200 nor 429', sum('other'), 0),
      ],
      figures: [
        figure('windows', rounds),
        figure('offered in each', OFFERED),
        figure('refusals', refusals.length),
      ],
    }
  },
}
