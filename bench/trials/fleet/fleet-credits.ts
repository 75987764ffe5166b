import { setTimeout as sleep } from 'node:timers/promises'
import { auditBooks } from '../../../src/drill/fleet/books.js'
import type { FleetCall } from '../../../src/drill/fleet/load.js'
import type { FleetStage } from '../../../src/drill/fleet/stage.js'
import { exactly, figure, near, over, playRounds, type Trial } from '../trial.js'
import { statusCounts, withFleet } from './fleet-trial.js'

const CALLS = 500
const AFFORDABLE = 100
/** In a minute, by the key. */
const WINDOW = 1_000
const OFFERED = 4_000
/** Offered within so many seconds, so that all of it falls into one minute. */
const WINDOW_SECONDS = 20

/** Everything at once, over all machines. */
async function offerCredits(stage: FleetStage) {
  const payer = await stage.addPayer(AFFORDABLE)
  const startedAt = performance.now()
  const load = stage.load(payer, CALLS * 10, CALLS)
  while (load.sent < CALLS) await sleep(1)
  await load.stop()
  const { calls } = load
  const seconds = (performance.now() - startedAt) / 1_000
  const counts = statusCounts(calls)
  const wrong = await auditBooks(stage, payer, calls)
  const { json } = await stage.manage(1, 'GET', '/credits', undefined, payer.managementKey)
  const balance = Math.round((json.data.total_credits - json.data.total_usage) * 1e9)
  return { offered: calls.length, counts, wrong, balance, seconds }
}

/** A limit by the minute, and four times as many calls. Begins with a minute, so that no other one comes between. */
async function offerWindow(stage: FleetStage): Promise<readonly FleetCall[]> {
  const payer = await stage.addPayer(OFFERED)
  const limits = { rate_limit: { requests_per_minute: WINDOW } }
  const { key } = await stage.addKey(payer.managementKey, 0, limits)
  const [[second = '0'] = []] = await stage.sql('SELECT extract(second FROM clock_timestamp())')
  if (Number(second) > 59 - WINDOW_SECONDS - 5) await sleep((60.5 - Number(second)) * 1_000)
  const load = stage.load({ key }, OFFERED / WINDOW_SECONDS, OFFERED)
  while (load.sent < OFFERED) await sleep(10)
  await load.stop()
  return load.calls
}

export const fleetCredits: Trial = {
  name: 'fleet-credits',
  summary: '500 calls over three machines against credits for 100; a limit of 1,000 a minute offered 4,000',
  rounds: 20,
  roundLimitS: 60,
  run: (context) =>
    withFleet(context, {}, async (stage) => {
      const { rounds } = context
      const all = await playRounds(
        context,
        () => offerCredits(stage),
        ({ counts, balance, wrong }) =>
          `${JSON.stringify([...counts])}, balance ${balance} ${wrong.join('; ')}`,
      )
      const window = statusCounts(await offerWindow(stage))
      context.progress(`window: ${JSON.stringify([...window])}`)
      const withCount = (status: number, count: number): number =>
        all.filter(({ counts }) => counts.get(status) === count).length
      return {
        bars: [
          exactly(
            `rounds in which exactly ${AFFORDABLE} of ${CALLS} calls succeeded`,
            withCount(200, AFFORDABLE),
            rounds,
          ),
          exactly('rounds in which all others got 402', withCount(402, CALLS - AFFORDABLE), rounds),
          exactly(
            'rounds that ended with a balance of 0',
            all.filter(({ balance }) => balance === 0).length,
            rounds,
          ),
          exactly('rounds whose books agree', all.filter(({ wrong }) => wrong.length === 0).length, rounds),
          near(
            `calls of ${OFFERED} that ${WINDOW} a minute let in`,
            window.get(200) ?? 0,
            WINDOW,
            WINDOW / 100,
          ),
          exactly('all others got 429', window.get(429) ?? 0, OFFERED - (window.get(200) ?? 0)),
        ],
        figures: [figure('longest round', over(all).max('seconds'), 's')],
        notes: all.flatMap(({ wrong }) => wrong),
      }
    }),
}
