import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../harness/figures/statistics.js'
import { verifyWrites, writeBars, writeFigures } from '../storage/verify-writes.js'
import { WriteLedger } from '../storage/write-ledger.js'
import { Writer } from '../storage/writer.js'
import { atLeast, below, figure, type TrialContext, type TrialOutcome } from '../trial.js'
import type { Recovery } from './recovery.js'

/** Workers of every server that is killed. */
export const KILL_WORKERS = 2

const VERIFY_EVERY = 10
const SERVING_LIMIT_MS = 2_000

/**
 * Waits for one of three moments in turn: a group of writes is just being sent, it is being worked on, or one of
 * it was just acknowledged, which is when an answer given before its commit would be found out.
 */
async function unluckyMoment(writer: Writer, round: number): Promise<void> {
  await sleep(400 + Math.random() * 600)
  await writer.next(round % 3 === 0 ? 'acknowledgement' : 'sending')
  if (round % 3 === 1) await sleep(1 + Math.random() * 4)
}

/**
 * The rounds both kill trials share: write, kill at an unlucky moment, wait for the recovery, and every ten rounds
 * hold everything the service shows against the ledger. `kill` kills and returns how the service came back.
 */
export async function runKills(
  { rounds, progress }: TrialContext,
  port: number,
  kill: () => Promise<Recovery>,
): Promise<TrialOutcome> {
  const writer = new Writer(port, new WriteLedger())
  const recoveries: Recovery[] = []
  let inFlight = 0
  try {
    for (let round = 1; round <= rounds; round++) {
      writer.start()
      await unluckyMoment(writer, round)
      inFlight += writer.inFlight
      const recovery = await kill()
      recoveries.push(recovery)
      await writer.pause()
      if (round % VERIFY_EVERY === 0 || round === rounds) await verifyWrites(port, writer.ledger)
      progress(
        `kill ${round}/${rounds}: serving after ${recovery.servingMs.toFixed(0)} ms, ` +
          `${writer.ledger.acknowledged} writes acknowledged`,
      )
    }
  } finally {
    writer.abandon()
  }
  return outcomeOf(writer, recoveries, inFlight)
}

function outcomeOf(writer: Writer, recoveries: readonly Recovery[], inFlight: number): TrialOutcome {
  const serving = recoveries.map((one) => one.servingMs)
  const complete = recoveries.map((one) => one.completeMs).filter((ms) => ms !== null)
  const probes = recoveries.reduce((sum, one) => sum + one.probes, 0)
  const failedProbes = recoveries.reduce((sum, one) => sum + one.failedProbes, 0)
  return {
    bars: [
      below('slowest return to service', Math.max(...serving), SERVING_LIMIT_MS, 'ms'),
      atLeast('kills after which both workers answered again', complete.length, recoveries.length),
      ...writeBars(writer.ledger),
    ],
    figures: [
      figure('kills', recoveries.length),
      figure('writes in flight at the kills', inFlight),
      figure('median return to service', median(serving), 'ms'),
      figure('median until both workers answered', median(complete), 'ms'),
      figure('slowest until both workers answered', Math.max(...complete), 'ms'),
      figure('fresh connections tried', probes),
      figure('fresh connections that failed', failedProbes),
      ...writeFigures(writer),
    ],
    notes: writer.ledger.notes,
  }
}
