import { setTimeout as sleep } from 'node:timers/promises'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { verifyWrites, writeBars, writeFigures } from '../storage/verify-writes.js'
import { WriteLedger } from '../storage/write-ledger.js'
import { Writer } from '../storage/writer.js'
import { atLeast, below, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'
import { awaitRecovery, type Recovery } from './recovery.js'

const WORKERS = 2
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

interface KillRound extends Recovery {
  readonly inFlight: number
}

/**
 * Rounds of writing, killing at an unlucky moment and waiting for the recovery; every ten rounds all that the service
 * shows is held against the ledger. `kill` kills and returns how the service came back.
 */
async function playKills(
  context: TrialContext,
  writer: Writer,
  kill: () => Promise<Recovery>,
): Promise<KillRound[]> {
  const play = async (round: number): Promise<KillRound> => {
    writer.start()
    await unluckyMoment(writer, round)
    const { inFlight } = writer
    const recovery = await kill()
    await writer.pause()
    const verifies = round % VERIFY_EVERY === 0 || round === context.rounds
    if (verifies) await verifyWrites(writer.port, writer.ledger)
    return { ...recovery, inFlight }
  }
  try {
    return await playRounds(
      context,
      play,
      ({ servingMs }) =>
        `serving after ${servingMs.toFixed(0)} ms, ${writer.ledger.acknowledged} writes acknowledged`,
    )
  } finally {
    writer.abandon()
  }
}

/** A trial that kills a server again and again; `killOf` makes the function that does. */
function killTrial(
  about: Pick<Trial, 'name' | 'summary' | 'roundLimitS'>,
  killOf: (server: KilledServer, context: TrialContext) => () => Promise<Recovery>,
): Trial {
  return {
    ...about,
    rounds: 50,
    run: async (context) => {
      const { staging } = context
      const port = await staging.freePort()
      const settings = { workers: WORKERS, port, dataFolder: staging.freshFolder() }
      const server: KilledServer = { settings, running: await staging.start(settings) }
      const writer = new Writer(port, new WriteLedger())
      const kills = await playKills(context, writer, killOf(server, context))
      await server.running.stop()
      const { sum, max, median } = over(kills)
      const complete = kills.map(({ completeMs }) => completeMs).filter((ms) => ms !== null)
      const { max: slowest, median: middle } = over(complete)
      const ms = (value: number) => value
      return {
        bars: [
          below('slowest return to service', max('servingMs'), SERVING_LIMIT_MS, 'ms'),
          atLeast('kills after which both workers answered again', complete.length, kills.length),
          ...writeBars(writer.ledger),
        ],
        figures: [
          figure('kills', kills.length),
          figure('writes in flight at the kills', sum('inFlight')),
          figure('median return to service', median('servingMs'), 'ms'),
          figure('median until both workers answered', middle(ms), 'ms'),
          figure('slowest until both workers answered', slowest(ms), 'ms'),
          figure('fresh connections tried', sum('probes')),
          figure('fresh connections that failed', sum('failedProbes')),
          ...writeFigures(writer),
        ],
        notes: writer.ledger.notes,
      }
    },
  }
}

/** A server that is started anew with the same settings when all of it was killed. */
interface KilledServer {
  readonly settings: { readonly workers: number; readonly port: number; readonly dataFolder: string }
  running: SluiceServer
}

export const killWorker = killTrial(
  {
    name: 'kill-worker',
    summary:
      'SIGKILL of one of two workers under 500 writes/s: nothing acknowledged is lost, service within 2 s',
    roundLimitS: 40,
  },
  ({ running }) =>
    () => {
      const { workers, port } = running
      if (workers.length < WORKERS) throw new Error(`only ${workers.length} workers were there to be killed`)
      const victim = workers[Math.floor(Math.random() * workers.length)]!
      process.kill(victim, 'SIGKILL')
      return awaitRecovery(port, performance.now(), WORKERS, [victim])
    },
)

export const killGroup = killTrial(
  {
    name: 'kill-group',
    summary:
      'SIGKILL of supervisor and workers at once, restart on the same data: nothing lost, answers within 2 s',
    roundLimitS: 60,
  },
  (server, { staging }) =>
    async () => {
      const killed = server.running.pids
      server.running.killGroup()
      await server.running.allGone()
      const fresh = staging.spawn(server.settings)
      server.running = fresh
      const recovery = await awaitRecovery(fresh.port, fresh.spawnedAt, WORKERS, killed)
      // Without an answer this explains why: the rejection carries the end of the server's log.
      if (!Number.isFinite(recovery.servingMs)) await fresh.ready
      return recovery
    },
)
