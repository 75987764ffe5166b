import { test } from 'tap'
import { LabRuns } from '../../../src/lab/control/runs.js'
import type { LabCommand, WorkerFleet, WorkerReply } from '../../../src/lab/lab-command.js'
import { LabRecorder } from '../../../src/lab/recorder/recorder.js'

/** Two workers whose recorders are here; those in `deaf` let questions about windows pass. */
function fleetOf(deaf: Set<number>): { fleet: WorkerFleet; recorders: LabRecorder[]; patience: number[] } {
  const patience: number[] = []
  const recorders = [0, 1].map(
    (worker) =>
      new LabRecorder({ worker, pid: worker, now: () => performance.now(), toMonotonic: 0, cpuMs: () => 0 }),
  )
  const answer = (worker: number, command: LabCommand): WorkerReply['answer'] | null => {
    const recorder = recorders[worker]!
    switch (command.do) {
      case 'begin-run':
        recorder.beginRun(command.plan)
        return { done: true }
      case 'end-run':
        recorder.endRun(command.run)
        return { done: true }
      case 'read-window':
        return deaf.has(worker) ? null : { part: recorder.readRun(command.run, command.choice) }
      case 'read-series':
        return { series: recorder.readSeries(command.first, command.limit) }
      case 'read-arrivals':
        return { arrivals: recorder.arrivalTimes(command.fromMs, command.toMs) }
      default:
        return { done: true }
    }
  }
  const fleet: WorkerFleet = {
    workers: () => [0, 1],
    ask: async (question, deadlineMs) => {
      const replies: WorkerReply[] = []
      for (const worker of [0, 1]) {
        const command = typeof question === 'function' ? question(worker) : question
        if (command === null) continue
        if (command.do === 'read-window' && command.choice.slices !== undefined) patience.push(deadlineMs)
        const told = answer(worker, command)
        if (told !== null) replies.push({ worker, answer: told })
      }
      return replies
    },
  }
  return { fleet, recorders, patience }
}

test('a window of an ended run that one worker could not tell of is asked for again', async (t) => {
  const deaf = new Set<number>()
  const { fleet, recorders, patience } = fleetOf(deaf)
  const runs = new LabRuns({ fleet, now: () => performance.now(), environment: {} })
  const { run } = await runs.create({
    label: '',
    expect: null,
    warmupS: 0,
    measureS: 10,
    seed: 0,
    byHeader: false,
  })
  for (const [worker, calls] of [3, 4].entries()) {
    const operation = recorders[worker]!.operation('health')
    for (let i = 0; i < calls; i++) {
      const at = performance.now()
      operation.recordArrival(at)
      operation.recordSettled(0.1, 200, 0, 0, false, at)
    }
  }
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
