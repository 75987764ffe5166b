import { setTimeout as sleep } from 'node:timers/promises'
import { auditBooks } from '../../../src/drill/fleet/books.js'
import { awaitRecovery } from '../../../src/drill/fleet/fleet-drill.js'
import type { FleetStage } from '../../../src/drill/fleet/stage.js'
import { atLeast, atMost, exactly, figure, over, playRounds, type Trial } from '../trial.js'
import { withFleet } from './fleet-trial.js'

const PER_SECOND = 300
const FROZEN_MS = 30_000
const STALENESS_MS = 10_000
/** A machine that served until its last confirmed beat; a statement that was late, and a turn of a busy machine. */
const SLACK_MS = 3_000
const STEADY_MS = 3_000
const HEALTH_MS = 50
/** Beyond it a loop has stalled. */
const STALL_MS = 250

/** How long `/health` of every machine took at most, asked again and again. */
function watchHealth(stage: FleetStage) {
  let worst = 0
  let running = true
  const watching = stage.fleet.machines.map(async (_, machine) => {
    for (; running; await sleep(HEALTH_MS)) {
      const { status, ms } = await stage.manage(machine, 'GET', '/health')
      worst = Math.max(worst, status === 200 ? ms : Number.POSITIVE_INFINITY)
    }
  })
  return async () => {
    running = false
    await Promise.all(watching)
    return worst
  }
}

/** Connections and statements that are at work in the first seconds after it goes on. */
async function watchHerd(stage: FleetStage): Promise<number> {
  let most = 0
  for (let look = 0; look < 10; look++) {
    const [[active = '0'] = []] = await stage.sql(
      `SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND datname = current_database() AND pid <> pg_backend_pid()`,
    )
    most = Math.max(most, Number(active))
    await sleep(100)
  }
  return most
}

async function playRound(stage: FleetStage) {
  const payer = await stage.addPayer(1_000_000)
  const load = stage.load(payer, PER_SECOND)
  await sleep(STEADY_MS)
  const endHealth = watchHealth(stage)
  const from = performance.now()
  stage.cluster.freeze()
  await sleep(FROZEN_MS)
  stage.cluster.thaw()
  const to = performance.now()
  const herd = await watchHerd(stage)
  const recoveryMs = (await awaitRecovery(load, to)) ?? Number.POSITIVE_INFINITY
  const worstHealthMs = await endHealth()
  await sleep(STEADY_MS)
  await load.stop()
  const wrong = await auditBooks(stage, payer, load.calls)
  const within = (begin: number, end: number) =>
    load.calls.filter(({ sentAt }) => sentAt >= from + begin && sentAt < from + end)
  const early = within(0, STALENESS_MS - SLACK_MS)
  const late = within(STALENESS_MS + SLACK_MS, FROZEN_MS)
  return {
    herd,
    recoveryMs,
    worstHealthMs,
    wrong,
    unservedEarly: early.filter(({ status }) => status !== 200).length,
    servedLate: late.filter(({ status }) => status === 200).length,
    strangeLate: late.filter(
      ({ status, hasRetryAfter }) => status !== 200 && !(status === 503 && hasRetryAfter),
    ).length,
    refusedLate: late.filter(({ status }) => status === 503).length,
    slowestMs: Math.max(...load.calls.map(({ sentAt, endedAt }) => endedAt - sentAt)),
  }
}

export const fleetFrozenStore: Trial = {
  name: 'fleet-frozen-store',
  summary:
    'PostgreSQL stands still for 30 s under 300 calls a second: calls go on, then are refused, nothing is lost',
  rounds: 3,
  roundLimitS: 120,
  run: (context) =>
    withFleet(context, {}, async (stage) => {
      const all = await playRounds(
        context,
        () => playRound(stage),
        ({ wrong, ...round }) => `${JSON.stringify(round)} ${wrong.join('; ')}`,
      )
      const { sum, max, min } = over(all)
      return {
        bars: [
          exactly('calls not served before the staleness limit', sum('unservedEarly'), 0),
          exactly('calls served beyond it', sum('servedLate'), 0),
          exactly('calls answered beyond it with anything but 503 and Retry-After', sum('strangeLate'), 0),
          atLeast('calls refused then (else nothing was tried)', min('refusedLate'), 100),
          atMost('longest answer of /health', max('worstHealthMs'), STALL_MS, 'ms'),
          atMost('slowest call', max('slowestMs'), SLACK_MS, 'ms'),
          atMost('recovery', max('recoveryMs'), 5_000, 'ms'),
          exactly(
            'disagreements of ledger, bank and calls',
            sum(({ wrong }) => wrong.length),
            0,
          ),
        ],
        figures: [figure('most statements at work at once in the second after', max('herd'))],
        notes: all.flatMap(({ wrong }) => wrong).slice(0, 20),
      }
    }),
}
