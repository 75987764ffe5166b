import { test } from 'tap'
import { createLog } from '../../../src/base/log.js'
import { LabAgent } from '../../../src/compose/lab-agent.js'
import { LabRuns } from '../../../src/lab/control/runs.js'
import type { WorkerFleet } from '../../../src/lab/lab-command.js'
import type { Lifetime } from '../../support/data/temp-folder.js'

/** Two workers that are here; those in `deaf` let questions about windows pass. `asked`: when the answers are on their way. */
function fleetOf(t: Lifetime, deaf: Set<number>, { dead = new Set<number>(), asked = (): void => {} } = {}) {
  const patience: number[] = []
  const log = createLog('silent', 'test')
  const config = { labFaults: false, reportDelays: 'random', reportSeed: null }
  const agents = [0, 1].map((worker) => new LabAgent({ worker, config, log }))
  t.after(() => agents.forEach((agent) => agent.close()))
  const fleet: WorkerFleet = {
    workers: () => [0, 1].filter((worker) => !dead.has(worker)),
    ask: async (question, deadlineMs) => {
      const replies = agents.flatMap((agent, worker) => {
        const command = typeof question === 'function' ? question(worker) : question
        if (command === null) return []
        if (command.do === 'read-window' && command.choice.slices !== undefined) patience.push(deadlineMs)
        const isHeard = command.do !== 'read-window' || !deaf.has(worker)
        const answer = isHeard ? agent.answer(command, log) : null
        return answer === null || dead.has(worker) ? [] : [{ worker, answer }]
      })
      asked()
      return replies
    },
  }
  return { fleet, agents, patience }
}

const REQUEST = { label: '', expect: null, warmupS: 0, measureS: 10, seed: 0, byHeader: false }

/** So many calls that each worker has answered. */
function answerCalls(agents: readonly LabAgent[], calls: readonly number[]): void {
  for (const [worker, count] of calls.entries()) {
    const operation = agents[worker]!.recorder.operation('health')
    for (let i = 0; i < count; i++) {
      const at = performance.now()
      operation.recordArrival(at)
      operation.recordSettled(0.1, 200, 0, 0, false, at)
    }
  }
}

test('a worker that dies when it has answered, while others are waited for, is in the marks and not in the counts', async (t) => {
  const dead = new Set<number>()
  let dies = false
  const { fleet, agents } = fleetOf(t, new Set(), {
    dead,
    asked: () => {
      if (!dies || dead.has(0)) return
      dead.add(0)
      runs.onWorkerDied(0)
    },
  })
  const now = (): number => performance.now() + agents[0]!.toMonotonicMs
  const runs = new LabRuns({ fleet, now, machineCpuMs: () => 0, environment: {} })
  const { run } = await runs.create(REQUEST)
  answerCalls(agents, [3, 4])
  const look = () => runs.summary(run, runs.window(run, '0..10'))
  t.match(await look(), { total: { arrivals: 7 }, marks: [] })
  dies = true
  t.match(await look(), { total: { arrivals: 4 }, marks: [/^worker 0 died/] })
  await runs.stop(run)
})

test('a window of an ended run that one worker could not tell of is asked for again', async (t) => {
  const deaf = new Set<number>()
  const { fleet, agents, patience } = fleetOf(t, deaf)
  const runs = new LabRuns({
    fleet,
    now: () => performance.now() + agents[0]!.toMonotonicMs,
    machineCpuMs: () => 0,
    environment: {},
  })
  const { run } = await runs.create(REQUEST)
  answerCalls(agents, [3, 4])
  await runs.stop(run)
  const look = async () => {
    const { total, stale } = await runs.summary(run, runs.window(run, '0..10'))
    return { arrivals: total.arrivals, stale }
  }
  deaf.add(1)
  t.match(await look(), { arrivals: 3, stale: [1] }, 'what is missing is said')
  deaf.delete(1)
  t.match(await look(), { arrivals: 7, stale: undefined })
  deaf.add(1)
  t.match(await look(), { arrivals: 7, stale: undefined }, 'what is whole is not asked for again')
  t.ok(
    patience.every((ms) => ms >= 1_000),
    `a first look waits for a busy worker: ${patience.join(', ')} ms`,
  )
})
