import type { SluiceServer } from '../../harness/server/sluice-server.js'
import type { Trial, TrialContext, TrialOutcome } from '../trial.js'
import { KILL_WORKERS, runKills } from './kill-rounds.js'
import { awaitRecovery, type Recovery } from './recovery.js'

function killOneWorker(server: SluiceServer): Promise<Recovery> {
  const workers = server.workers
  if (workers.length < KILL_WORKERS) throw new Error(`only ${workers.length} workers were there to be killed`)
  const victim = workers[Math.floor(Math.random() * workers.length)]!
  process.kill(victim, 'SIGKILL')
  return awaitRecovery(server.port, performance.now(), KILL_WORKERS, [victim])
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const server = await context.staging.start({ workers: KILL_WORKERS, poolThreads: 1 })
  const outcome = await runKills(context, server.port, () => killOneWorker(server))
  await server.stop()
  return outcome
}

export const killWorker: Trial = {
  name: 'kill-worker',
  summary:
    'SIGKILL of one of two workers under 500 writes/s: nothing acknowledged is lost, service within 2 s',
  rounds: 50,
  roundLimitS: 40,
  run,
}
