import { test } from 'tap'
import type { LabCommand } from '../../src/lab/lab-command.js'
import type { MessageToWorker } from '../../src/process/ipc/messages.js'
import { LabRounds, type LabWorker } from '../../src/process/lab-round.js'

const LOOK: LabCommand = { do: 'read-window', run: 'r', choice: { spans: ['measure'] } }
const DEED: LabCommand = { do: 'end-run', run: 'r' }
const DONE = { done: true } as const

/** Workers that answer when they are told to. */
class Crew {
  readonly rounds = new LabRounds()
  readonly heard: { readonly worker: number; readonly id: number; readonly command: LabCommand }[] = []
  readonly seats: LabWorker[]

  constructor(count: number) {
    this.seats = Array.from({ length: count }, (_, worker) => ({
      worker,
      send: (message: MessageToWorker) => {
        if (message.type === 'lab') this.heard.push({ worker, id: message.id, command: message.command })
      },
    }))
  }

  answer(worker: number, id = this.heard.findLast((each) => each.worker === worker)!.id): void {
    this.rounds.take(worker, id, DONE)
  }
}

test('all answers come back, in the order of the workers', async (t) => {
  const crew = new Crew(3)
  const asked = crew.rounds.ask(crew.seats, LOOK, 60_000)
  for (const worker of [2, 0, 1]) crew.answer(worker)
  t.same(
    await asked,
    [0, 1, 2].map((worker) => ({ worker, answer: DONE })),
  )
})

test('a worker for which there is no question is not asked', async (t) => {
  const crew = new Crew(2)
  const asked = crew.rounds.ask(crew.seats, (worker) => (worker === 1 ? LOOK : null), 60_000)
  t.same(
    crew.heard.map(({ worker }) => worker),
    [1],
  )
  crew.answer(1)
  t.equal((await asked).length, 1)
  t.same(await crew.rounds.ask(crew.seats, () => null, 60_000), [])
  t.same(await crew.rounds.ask([], LOOK, 60_000), [])
})

test('a silent worker is waited for once, and looked at again when it has spoken', async (t) => {
  const crew = new Crew(2)
  const first = crew.rounds.ask(crew.seats, LOOK, 20)
  crew.answer(0)
  t.equal((await first).length, 1, 'the deadline has passed')
  const second = crew.rounds.ask(crew.seats, LOOK, 20)
  crew.answer(0)
  t.equal((await second).length, 1)
  t.equal(crew.heard.filter(({ worker }) => worker === 1).length, 1, 'it owes an answer: no second question')
  const third = crew.rounds.ask(crew.seats, DEED, 20)
  crew.answer(0)
  t.equal((await third).length, 1, 'what has to be done is told, but not waited for')
  t.equal(crew.heard.filter(({ worker }) => worker === 1).length, 2)
  crew.answer(1, 0)
  const fourth = crew.rounds.ask(crew.seats, LOOK, 60_000)
  crew.answer(0)
  crew.answer(1)
  t.equal((await fourth).length, 2)
})

test('patience waits for a silent worker as well', async (t) => {
  const crew = new Crew(1)
  await crew.rounds.ask(crew.seats, LOOK, 5)
  const asked = crew.rounds.ask(crew.seats, LOOK, 5_000)
  crew.answer(0)
  t.equal((await asked).length, 1)
})

test('a worker that dies ends the wait', async (t) => {
  const crew = new Crew(2)
  const asked = crew.rounds.ask(crew.seats, LOOK, 60_000)
  crew.answer(0)
  crew.rounds.gone(1)
  t.equal((await asked).length, 1)
})

test('an answer that comes too late, or twice, changes nothing', async (t) => {
  const crew = new Crew(2)
  const asked = crew.rounds.ask(crew.seats, LOOK, 60_000)
  crew.answer(0)
  crew.answer(0)
  crew.answer(1)
  crew.answer(1)
  t.equal((await asked).length, 2)
})
