/** Workers that stand still are noticed, and only those. */
import { type Test, test } from 'tap'
import { isAlive } from '../../bench/harness/machine/proc.js'
import { heartbeatPeriodMs, WorkerWatch } from '../../src/process/worker-watch.js'
import { serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const SILENCE_MS = 15_000
const BEAT_MS = heartbeatPeriodMs(SILENCE_MS)

function watched(workers: readonly number[]) {
  const clock = new FakeClock()
  const silent: number[] = []
  const watch = new WorkerWatch({
    clock,
    silenceMs: SILENCE_MS,
    onSilent: (worker) => void silent.push(worker),
  })
  for (const worker of workers) watch.heard(worker)
  return { clock, silent, watch }
}

test('a worker that says nothing is told of once, after the time it is given', async (t: Test) => {
  const { clock, silent, watch } = watched([0, 1])
  for (let beat = 1; beat < 15; beat++) {
    clock.advance(BEAT_MS)
    watch.heard(1)
  }
  t.same(silent, [])
  clock.advance(BEAT_MS)
  t.same(silent, [0])
  clock.advance(BEAT_MS * 5)
  t.same(silent, [0])
})

test('one that is busy for a few seconds is let alone', async (t) => {
  const { clock, silent, watch } = watched([0])
  for (let turn = 0; turn < 10; turn++) {
    clock.advance(SILENCE_MS - BEAT_MS)
    watch.heard(0)
  }
  t.same(silent, [])
})

test('one that has ended is forgotten, and the next in its place has all its time', async (t) => {
  const { clock, silent, watch } = watched([0])
  clock.advance(SILENCE_MS - BEAT_MS)
  watch.forget(0)
  clock.advance(SILENCE_MS)
  watch.heard(0)
  clock.advance(SILENCE_MS - BEAT_MS)
  t.same(silent, [])
  clock.advance(BEAT_MS)
  t.same(silent, [0])
})

test('a supervisor that stood still for an hour ends nobody: it hears the workers first', async (t) => {
  // What Node's timers do after a pause: the one that is late fires, once, whatever the time.
  let fire = (): void => {}
  const clock = {
    unixSeconds: () => 0,
    monotonicMs: () => 3_600_000,
    runAfter: (_ms: number, task: () => void) => {
      fire = task
      return () => {}
    },
  }
  const silent: number[] = []
  const watch = new WorkerWatch({
    clock,
    silenceMs: SILENCE_MS,
    onSilent: (worker) => void silent.push(worker),
  })
  watch.heard(0)
  for (let beat = 0; beat < 13; beat++) fire()
  fire()
  t.same(silent, [])
  watch.heard(0)
  fire()
  t.same(silent, [])
})

const FAST = { SLUICE_WORKERS: '2', SLUICE_WORKER_SILENCE_MS: '6000' }
const ENDING = 'a worker has said nothing for too long: ending it'

test('a worker that was stopped is ended and replaced', async (t) => {
  const { server, url } = await serve(t, FAST)
  const [stopped = 0, other = 0] = server.children()
  process.kill(stopped, 'SIGSTOP')
  await eventually(() => !isAlive(stopped), 60_000)
  // What a process has written comes here by a pipe, later than what /proc tells.
  await eventually(() => server.logged(ENDING).length > 0, 60_000)
  t.match(server.logged(ENDING), [{ level: 50, pid: stopped, silenceMs: 6000 }])
  await eventually(() => server.children().length === 2, 60_000)
  await eventually(() => server.logged('a worker died').length > 0, 60_000)
  t.ok(isAlive(other))
  t.match(server.logged('a worker died'), [{ how: 'SIGKILL' }])
  t.equal((await fetch(`${url}/api/v1/health`)).status, 200)
})
