import { test } from 'tap'
import type { LabCommand, LabCommandResult } from '../../src/lab/lab-command.js'
import { FanOut } from '../../src/process/ipc/fan-out.js'
import type { MessageToWorker } from '../../src/process/ipc/messages.js'
import { createLabFleet } from '../../src/process/lab-supervisor.js'

const READ: LabCommand = { do: 'read-window', run: 'r', choice: { spans: ['measure'] } }
const END: LabCommand = { do: 'end-run', run: 'r' }
const DONE = { done: true } as const

/** Workers that answer when the test says so. */
function crew(count: number) {
  const asked: { readonly worker: number; readonly id: number }[] = []
  const fanOut = new FanOut<LabCommandResult>()
  const ports = {
    readyWorkers: () => Array.from({ length: count }, (_, worker) => worker),
    sendToWorker: (worker: number, message: MessageToWorker) => {
      if (message.type === 'lab-command') asked.push({ worker, id: message.id })
    },
  }
  const fleet = createLabFleet(ports, fanOut)
  const answer = (worker: number, id = asked.findLast((each) => each.worker === worker)!.id): void =>
    fanOut.receive(worker, id, DONE)
  return { fleet, fanOut, asked, answer }
}

test('a worker for which there is no question is not asked', async (t) => {
  const { fleet, asked, answer } = crew(2)
  const replies = fleet.ask((worker) => (worker === 1 ? READ : null), 60_000)
  t.same(
    asked.map(({ worker }) => worker),
    [1],
  )
  answer(1)
  t.same(await replies, [{ worker: 1, answer: DONE }])
  t.same(await fleet.ask(() => null, 60_000), [])
  t.same(await crew(0).fleet.ask(READ, 60_000), [])
})

test('a silent worker is waited for once, and looked at again when it has spoken', async (t) => {
  const { fleet, asked, answer } = crew(2)
  const askedOfSilent = (): number => asked.filter(({ worker }) => worker === 1).length
  const first = fleet.ask(READ, 20)
  answer(0)
  t.equal((await first).length, 1, 'the deadline has passed')
  const second = fleet.ask(READ, 20)
  answer(0)
  t.equal((await second).length, 1)
  t.equal(askedOfSilent(), 1, 'it owes an answer: no second question')
  const third = fleet.ask(END, 20)
  answer(0)
  t.equal((await third).length, 1, 'what has to be done is told, but not waited for')
  t.equal(askedOfSilent(), 2)
  answer(1, 0)
  const fourth = fleet.ask(READ, 60_000)
  answer(0)
  answer(1)
  t.equal((await fourth).length, 2)
})

test('patience waits for a silent worker as well', async (t) => {
  const { fleet, answer } = crew(1)
  await fleet.ask(READ, 5)
  const replies = fleet.ask(READ, 5_000)
  answer(0)
  t.equal((await replies).length, 1)
})

test('a worker that dies ends the wait', async (t) => {
  const { fleet, fanOut, answer } = crew(2)
  const replies = fleet.ask(READ, 60_000)
  answer(0)
  fanOut.workerDied(1)
  t.equal((await replies).length, 1)
})
