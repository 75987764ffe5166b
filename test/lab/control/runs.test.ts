import { test } from 'tap'
import type { Fleet, LabCommand, LabReply } from '../../../src/lab/command.js'
import { Runs } from '../../../src/lab/control/runs.js'
import { Recorder } from '../../../src/lab/recorder/recorder.js'

/** Two workers whose recorders are here; those in `deaf` let questions about windows pass. */
function fleetOf(deaf: Set<number>): { fleet: Fleet; recorders: Recorder[]; patience: number[] } {
  const patience: number[] = []
  const recorders = [0, 1].map(
    (worker) =>
      new Recorder({ worker, pid: worker, now: () => performance.now(), toMonotonic: 0, cpuMs: () => 0 }),
  )
  const answer = (worker: number, command: LabCommand): LabReply['answer'] | null => {
    const recorder = recorders[worker]!
    switch (command.do) {
      case 'begin':
        recorder.begin(command.plan)
        return { done: true }
      case 'end':
        recorder.end(command.run)
        return { done: true }
      case 'read':
        return deaf.has(worker) ? null : { part: recorder.read(command.run, command.choice) }
      case 'series':
        return { series: recorder.series(command.first, command.limit) }
      case 'arrivals':
        return { arrivals: recorder.arrivalTimes(command.fromMs, command.toMs) }
      default:
        return { done: true }
    }
  }
  const fleet: Fleet = {
    workers: () => [0, 1],
    ask: async (question, deadlineMs) => {
      const replies: LabReply[] = []
      for (const worker of [0, 1]) {
        const command = typeof question === 'function' ? question(worker) : question
        if (command === null) continue
        if (command.do === 'read' && command.choice.slices !== undefined) patience.push(deadlineMs)
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
  const runs = new Runs({ fleet, now: () => performance.now(), environment: {} })
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
      operation.arrived(at)
      operation.settled(0.1, 200, 0, 0, false, at)
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
