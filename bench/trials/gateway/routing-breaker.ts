import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../../harness/figures/statistics.js'
import { failedRequests, openLoop } from '../load.js'
import { atLeast, atMost, exactly, figure, over, type Trial, type TrialContext } from '../trial.js'
import { routedCall, stageRouting } from './routing-stage.js'

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
 * the middle of calls, which the other one has to take over.
 */
const DEATHS = ['refuse', 'leave', 'kill'] as const

type EndpointDeath = (typeof DEATHS)[number]

interface TimedAnswer {
  /** `performance.now()` of the answer. */
  readonly at: number
  readonly ms: number
}

type BreakerRound = Awaited<ReturnType<typeof playRound>>

function p99Between(answers: readonly TimedAnswer[], from: number, to: number): number {
  const within = answers.filter(({ at }) => at >= from && at < to)
  return quantile(
    within.map(({ ms }) => ms),
    0.99,
  )
}

async function playRound(context: TrialContext, death: EndpointDeath) {
  const { server, providers, stop } = await stageRouting(context, ANSWER_MS)
  const [dying] = providers
  const answers: TimedAnswer[] = []
  const load = openLoop({
    port: server.port,
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
    seconds: WARM_S + HEALTHY_S + DEAD_S,
    request: routedCall(),
    onAnswer: (_, ms) => answers.push({ at: performance.now(), ms }),
  })
  const begun = performance.now()
  await sleep((WARM_S + HEALTHY_S) * 1_000)
  const diedAt = performance.now()
  if (death === 'kill') dying.kill()
  else await dying.switchTo(death)
  const result = await load
  // An endpoint that has gone cannot count the calls that come for it.
  const probed = death === 'refuse' ? await dying.state() : { lateCalls: 0, mostAtOnce: 0 }
  await stop()
  const p99Before = p99Between(answers, begun + WARM_S * 1_000, diedAt)
  const p99After = (fromS: number, toS: number) =>
    p99Between(answers, diedAt + fromS * 1_000, diedAt + toS * 1_000)
  const seconds = Array.from({ length: DEAD_S }, (_, n) => p99After(n, n + 1))
  return {
    death,
    failed: failedRequests(result),
    p99Before,
    p99After: p99After(BACK_AFTER_S, DEAD_S),
    /** Of the seconds after the death, those in which the p99 was over the bar. */
    slowSeconds: seconds.filter((ms) => ms > 1.2 * p99Before).length,
    probes: probed.lateCalls,
    mostProbesAtOnce: probed.mostAtOnce,
  }
}

export const routingBreaker: Trial = {
  name: 'routing-breaker',
  summary:
    'one of two endpoints dies under 300 calls a second over two workers: no failed call, p99 back in 5 s, one probe at a time',
  rounds: 2,
  roundLimitS: 120,
  run: async (context) => {
    const all: BreakerRound[] = []
    for (let turn = 1; turn <= context.rounds; turn++) {
      for (const death of DEATHS) {
        const round = await playRound(context, death)
        all.push(round)
        context.progress(`round ${turn}/${context.rounds}, ${JSON.stringify(round)}`)
      }
    }
    const refused = over(all.filter(({ death }) => death === 'refuse'))
    const worstRatio = over(all).max(({ p99After, p99Before }) => p99After / p99Before)
    const p99Bar = `p99 from ${BACK_AFTER_S} s after the death on, beside the one before, the worst round`
    return {
      bars: [
        atMost('failed calls that callers have seen, the worst round', over(all).max('failed'), 0),
        atMost(p99Bar, worstRatio, 1.2),
        atLeast('probes of the dead one, the fewest', refused.min('probes'), 1),
        exactly('most probes at a time', refused.max('mostProbesAtOnce'), 1),
      ],
      figures: all.flatMap(({ death, p99Before, p99After, slowSeconds, probes }) => [
        figure(`${death}: p99 before`, p99Before, 'ms'),
        figure(`${death}: p99 after ${BACK_AFTER_S} s`, p99After, 'ms'),
        figure(`${death}: seconds of a p99 over the bar`, slowSeconds, 's'),
        ...(death === 'refuse' ? [figure('refuse: probes', probes)] : []),
      ]),
    }
  },
}
