import { setTimeout as sleep } from 'node:timers/promises'
import { verifyWrites, writeBars, writeFigures } from '../storage/verify-writes.js'
import { WriteLedger } from '../storage/write-ledger.js'
import { Writer } from '../storage/writer.js'
import { atLeast, below, figure, over, playRounds, type Trial } from '../trial.js'
import { KilledServer, type Recovery } from './killed-server.js'

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
 * A trial of rounds of writing, killing at an unlucky moment and waiting for the recovery; every ten rounds all that the
 * service shows is held against the ledger.
 */
function killTrial(
  about: Pick<Trial, 'name' | 'summary' | 'roundLimitS'>,
  kill: (server: KilledServer) => ReturnType<KilledServer['killGroup']>,
): Trial {
  return {
    ...about,
    rounds: 50,
    run: async (context) => {
      const { staging } = context
      const server = await KilledServer.start(staging, staging.freshFolder())
      const ledger = new WriteLedger()
      const writer = new Writer(server.running.port, ledger)
      const play = async (round: number) => {
        writer.start()
        await unluckyMoment(writer, round)
        const { inFlight } = writer
        const recovery = await server.recovered(await kill(server))
        await writer.pause()
        const verifies = round % VERIFY_EVERY === 0 || round === context.rounds
        if (verifies) await verifyWrites(writer.port, ledger)
        return { ...recovery, inFlight }
      }
      const line = ({ servingMs }: Recovery) =>
        `serving after ${servingMs.toFixed(0)} ms, ${ledger.acknowledged} writes acknowledged`
      const kills = await playRounds(context, play, line).finally(() => writer.abandon())
      await server.running.stop()
      const { sum, max, median } = over(kills)
      const complete = kills.map(({ completeMs }) => completeMs).filter((ms) => ms !== null)
      const { max: slowest, median: middle } = over(complete)
      const ms = (value: number) => value
      return {
        bars: [
          below('slowest return to service', max('servingMs'), SERVING_LIMIT_MS, 'ms'),
          atLeast('kills after which both workers answered again', complete.length, kills.length),
          ...writeBars(ledger),
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
        notes: ledger.notes,
      }
    },
  }
}

export const killWorker = killTrial(
  {
    name: 'kill-worker',
    summary:
      'SIGKILL of one of two workers under 500 writes/s: nothing acknowledged is lost, service within 2 s',
    roundLimitS: 40,
  },
  async (server) => server.killWorker(),
)

export const killGroup = killTrial(
  {
    name: 'kill-group',
    summary:
      'SIGKILL of supervisor and workers at once, restart on the same data: nothing lost, answers within 2 s',
    roundLimitS: 60,
  },
  (server) => server.killGroup(),
)
