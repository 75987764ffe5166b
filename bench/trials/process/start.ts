import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs, residentBytes } from '../../harness/machine/proc.js'
import { proportionalBytes } from '../../harness/machine/proportional-memory.js'
import { atMost, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'

/** What is done once a server listens, and the first collection after it, is over by then. */
const IDLE_MS = 3_000
const MIB = 2 ** 20

/** A server with the settings as shipped, on an empty folder, on all cores. */
async function startOnce({ staging }: TrialContext) {
  const server = await staging.start({ workers: 2 })
  const wallMs = performance.now() - server.spawnedAt
  const workers = server.workers
  const readyCpuMs = cpuMs(workers) / workers.length
  const supervisorCpuMs = cpuMs([server.pid])
  await sleep(IDLE_MS)
  const idle = residentBytes(workers) / workers.length
  const idleShare = proportionalBytes(workers) / workers.length
  const supervisor = residentBytes([server.pid])
  await server.stop()
  return { wallMs, readyCpuMs, supervisorCpuMs, idle, idleShare, supervisor }
}

export const start: Trial = {
  name: 'start',
  summary: 'two workers are ready in 0.4 s, each with 0.3 s of CPU, and idle at 90 MB',
  rounds: 9,
  roundLimitS: 30,
  run: async (context) => {
    const rounds = await playRounds(
      context,
      () => startOnce(context),
      ({ wallMs, readyCpuMs }) => `${wallMs.toFixed(0)} ms, ${readyCpuMs.toFixed(0)} ms of CPU a worker`,
    )
    const { median, max } = over(rounds)
    return {
      bars: [
        atMost('from the spawn to the ready line', median('wallMs'), 400, 'ms'),
        atMost('CPU of a worker until then', median('readyCpuMs'), 300, 'ms'),
        atMost('resident memory of an idle worker', median('idle') / 1e6, 90, 'MB'),
      ],
      figures: [
        figure('its share of it, where pages are shared (Pss)', median('idleShare') / 1e6, 'MB'),
        figure('slowest start', max('wallMs'), 'ms'),
        figure('CPU of the supervisor until then', median('supervisorCpuMs'), 'ms'),
        figure('resident memory of the supervisor', median('supervisor') / MIB, 'MiB'),
      ],
    }
  },
}
