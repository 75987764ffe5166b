import type { Trial, TrialContext, TrialOutcome } from '../trial.js'
import { KILL_WORKERS, runKills } from './kill-rounds.js'
import { awaitRecovery, type Recovery } from './recovery.js'

async function run(context: TrialContext): Promise<TrialOutcome> {
  const { staging } = context
  const settings = {
    workers: KILL_WORKERS,
    poolThreads: 1,
    port: await staging.freePort(),
    dataFolder: staging.freshFolder(),
  }
  let server = await staging.start(settings)
  const killAndRestart = async (): Promise<Recovery> => {
    const killed = server.pids
    server.killGroup()
    await server.allGone()
    server = staging.spawn(settings)
    const recovery = await awaitRecovery(settings.port, server.spawnedAt, KILL_WORKERS, killed)
    // Without an answer this explains why: the rejection carries the end of the server's log.
    if (!Number.isFinite(recovery.servingMs)) await server.ready
    return recovery
  }
  const outcome = await runKills(context, settings.port, killAndRestart)
  await server.stop()
  return outcome
}

export const killGroup: Trial = {
  name: 'kill-group',
  summary:
    'SIGKILL of supervisor and workers at once, restart on the same data: nothing lost, answers within 2 s',
  rounds: 50,
  roundLimitS: 60,
  run,
}
