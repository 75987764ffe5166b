import { seededRandom } from '../../../src/base/random.js'
import { formatArrivals, readArrivals } from '../../../src/tape/arrivals.js'
import { listedSchedule } from '../../harness/http/arrival-schedule.js'
import { StreamLoad } from '../../harness/sse/stream-load.js'
import { SPARE_FOR_BURSTS } from '../../harness/sse/stream-loop.js'
import { ADMIN_ENVIRONMENT, API_KEY } from '../../performance/gateway/calls.js'
import { apiRequest } from '../requests.js'
import { atMost, exactly, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'

/** Of a made-up trace: bursts and silence, as public traces have them. */
const ARRIVALS = 400
const LENGTH_MS = 20_000
const BURST_SHARE = 0.3
const SPEEDS = [1, 5, 20] as const

function makeTrace(seed: number): string {
  const random = seededRandom(seed)
  let at = 0
  const gaps = Array.from({ length: ARRIVALS }, () => (random() < BURST_SHARE ? 0 : -Math.log(1 - random())))
  const scale = (LENGTH_MS - 1) / gaps.reduce((sum, gap) => sum + gap, 0)
  const arrivals = gaps.map((gap) => {
    at += gap * scale
    return {
      atMs: Math.round(at * 10) / 10,
      in: 10 + Math.floor(random() * 500),
      out: 1 + Math.floor(random() * 40),
    }
  })
  return formatArrivals(arrivals, 'azure')
}

async function playRound({ staging }: TrialContext, number: number) {
  const arrivals = readArrivals(makeTrace(number))
  const server = await staging.start({
    workers: 1,
    dataFolder: staging.freshFolder(),
    environment: ADMIN_ENVIRONMENT,
  })
  const request = (index: number): Buffer => {
    const { in: asked, out } = arrivals[index]!
    const messages = [{ role: 'user', content: `${index}${' star'.repeat(asked! - 1)}` }]
    return apiRequest(
      'POST',
      '/chat/completions',
      { model: 'sim/instant', max_tokens: out, messages, stream: true },
      API_KEY,
    )
  }
  const due = arrivals.reduce((sum, { out }) => sum + out, 0)
  const figures = { missing: 0, wrongTokens: 0, lateP99: 0, bad: 0, lateBySpeed: '' }
  for (const speed of SPEEDS) {
    const times = arrivals.map(({ atMs }) => atMs / speed)
    const load = new StreamLoad({
      to: { address: '127.0.0.1', port: server.port },
      schedule: listedSchedule(times, LENGTH_MS / speed + 1),
      ...{
        seconds: LENGTH_MS / speed / 1000,
        streams: 1,
        spare: SPARE_FOR_BURSTS,
        request,
        silenceMs: 30_000,
      },
      ...{ abort: () => null, bytesPerS: () => null, paceMs: null, goal: null },
    })
    const { figures: seen } = await load.run()
    const complete = seen.ends.complete ?? 0
    figures.missing += ARRIVALS - seen.started
    figures.bad += seen.started - complete
    figures.wrongTokens += Math.abs(seen.tokens - due)
    const late = seen.lateness.quantiles().percentiles.p99!
    figures.lateBySpeed += `${speed}: ${late.toFixed(2)} ms `
    figures.lateP99 = Math.max(figures.lateP99, late)
  }
  await server.stop()
  return figures
}

export const gatewayArrivals: Trial = {
  name: 'gateway-arrivals',
  summary:
    'the calls of a trace arrive when its file says, at its speed, 5 and 20 times as fast, and are as long as it says',
  rounds: 2,
  roundLimitS: 90,
  pinned: true,
  run: async (context) => {
    const all = await playRounds(
      context,
      (number) => playRound(context, number),
      (round) => JSON.stringify(round),
    )
    const { sum, max } = over(all)
    return {
      bars: [
        exactly('arrivals of the file that have not come', sum('missing'), 0),
        exactly('streams that were not complete', sum('bad'), 0),
        exactly('tokens beyond or short of the file', sum('wrongTokens'), 0),
        atMost('lateness p99, the worst speed', max('lateP99'), 2, 'ms'),
      ],
      figures: [figure('arrivals', ARRIVALS * SPEEDS.length * all.length)],
    }
  },
}
