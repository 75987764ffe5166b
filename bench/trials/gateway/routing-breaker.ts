import { setTimeout as sleep } from 'node:timers/promises'
import { failedRequests, openLoop } from '../load.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialOutcome,
} from '../trial.js'
import { routedCall, type SwitchedProvider, stageRouting } from './routing-stage.js'

const PER_SECOND = 300
const CONNECTIONS = 64
/** Long beside what a machine does by itself, so that a change of the p99 is one of the routing. */
const ANSWER_MS = 20
const WARM_S = 6
const HEALTHY_S = 6
const DEAD_S = 12
/** From then on the p99 has to be as before. */
const BACK_AFTER_S = 5

/**
 * How an endpoint dies: it turns calls away; it ends what is under way and does not listen any more; or it is killed in
 * the middle of calls. Those calls may be billed, so nobody may send them again: they are counted, and have no bar.
 */
const DEATHS = ['refuse', 'leave', 'kill'] as const

type EndpointDeath = (typeof DEATHS)[number]

interface TimedAnswer {
  /** `performance.now()` of the answer. */
  readonly at: number
  readonly ms: number
}

interface BreakerRound {
  readonly death: EndpointDeath
  readonly failed: number
  readonly p99Before: number
  readonly p99After: number
  /** Of the seconds after the death, those in which the p99 was over the bar. */
  readonly slowSeconds: number
  readonly probes: number
  readonly mostProbesAtOnce: number
}

function p99Between(answers: readonly TimedAnswer[], from: number, to: number): number {
  const sorted = answers.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms)
  sorted.sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(0.99 * sorted.length) - 1)] ?? Number.NaN
}

async function playRound(context: TrialContext, death: EndpointDeath): Promise<BreakerRound> {
  const { server, providers, stop } = await stageRouting(context, ANSWER_MS)
  const [dying] = providers
  const answers: TimedAnswer[] = []
  let diedAt = 0
  const request = routedCall()
  const load = openLoop({
    port: server.port,
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
    seconds: WARM_S + HEALTHY_S + DEAD_S,
    whenBusy: 'wait',
    request: () => request,
    onAnswer: (_, ms) => answers.push({ at: performance.now(), ms }),
  })
  const begun = performance.now()
  await sleep((WARM_S + HEALTHY_S) * 1_000)
  diedAt = performance.now()
  if (death === 'kill') dying.kill()
  else await dying.switchTo(death)
  const result = await load
  const { probes, mostProbesAtOnce } = await probesOf(dying, death)
  await stop()
  const p99Before = p99Between(answers, begun + WARM_S * 1_000, diedAt)
  const second = (n: number): number => p99Between(answers, diedAt + n * 1_000, diedAt + (n + 1) * 1_000)
  return {
    death,
    failed: failedRequests(result),
    p99Before,
    p99After: p99Between(answers, diedAt + BACK_AFTER_S * 1_000, diedAt + DEAD_S * 1_000),
    slowSeconds: Array.from({ length: DEAD_S }, (_, n) => second(n)).filter((ms) => ms > 1.2 * p99Before)
      .length,
    probes,
    mostProbesAtOnce,
  }
}

/** One that has gone cannot count who knocks. */
async function probesOf(
  dying: SwitchedProvider,
  death: EndpointDeath,
): Promise<Pick<BreakerRound, 'probes' | 'mostProbesAtOnce'>> {
  if (death !== 'refuse') return { probes: 0, mostProbesAtOnce: 0 }
  const { lateCalls, mostAtOnce } = await dying.state()
  return { probes: lateCalls, mostProbesAtOnce: mostAtOnce }
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const all: BreakerRound[] = []
  for (let turn = 1; turn <= context.rounds; turn++) {
    for (const death of DEATHS) {
      const round = await playRound(context, death)
      all.push(round)
      context.progress(`round ${turn}/${context.rounds}, ${JSON.stringify(round)}`)
    }
  }
  const most = (value: (round: BreakerRound) => number): number => Math.max(...all.map(value))
  const refused = all.filter(({ death }) => death === 'refuse')
  const rescuable = all.filter(({ death }) => death !== 'kill')
  return {
    bars: [
      atMost(
        'failed calls that callers have seen, the worst round',
        Math.max(...rescuable.map(({ failed }) => failed)),
        1,
      ),
      atMost(
        `p99 from ${BACK_AFTER_S} s after the death on, beside the one before, the worst round`,
        most(({ p99After, p99Before }) => p99After / p99Before),
        1.2,
      ),
      atLeast('probes of the dead one, the fewest', Math.min(...refused.map(({ probes }) => probes)), 1),
      exactly('most probes at a time', Math.max(...refused.map((round) => round.mostProbesAtOnce)), 1),
    ],
    figures: all.flatMap(({ death, failed, p99Before, p99After, slowSeconds, probes }) => [
      figure(`${death}: p99 before`, p99Before, 'ms'),
      figure(`${death}: p99 after ${BACK_AFTER_S} s`, p99After, 'ms'),
      figure(`${death}: seconds of a p99 over the bar`, slowSeconds, 's'),
      ...(death === 'refuse' ? [figure('refuse: probes', probes)] : []),
      ...(death === 'kill' ? [figure('kill: failed calls, which were under way there', failed)] : []),
    ]),
    notes: [],
  }
}

export const routingBreaker: Trial = {
  name: 'routing-breaker',
  summary:
    'one of two endpoints dies under 300 calls a second over two workers: at most one failed call, p99 back in 5 s, one probe at a time',
  rounds: 2,
  roundLimitS: 120,
  run,
}
