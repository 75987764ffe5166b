import { test } from 'tap'
import { runInLargeTurn } from '../../src/base/large-turns.js'
import { LargeAnswers } from '../../src/transport/large-answers.js'
import { SmallCalls } from '../../src/transport/small-calls.js'
import { turn } from '../support/clients/raw-http.js'
import { eventually } from '../support/timing/eventually.js'

/** A call whose answer computes for `ms`. */
function call(answered: string[], name: string, ms = 0) {
  const one = {
    over: false,
    bytesIn: 300_000,
    isOver: () => one.over,
    answerNow: () => {
      const from = process.cpuUsage()
      while (process.cpuUsage(from).user < ms * 1000);
      answered.push(name)
    },
  }
  return one
}

test('one large body is answered in a turn, and callers take turns', async (t) => {
  const answers = new LargeAnswers(new SmallCalls())
  const answered: string[] = []
  for (const name of ['a1', 'a2', 'a3', 'b1']) answers.add(name[0]!, call(answered, name))
  t.same(answered, [], 'none in the turn in which it was complete')
  await eventually(() => answered.length === 4)
  t.same(answered, ['a1', 'b1', 'a2', 'a3'])
})

test('while there are small calls a caller whose body took long waits, and others do not', async (t) => {
  const smallCalls = new SmallCalls()
  smallCalls.arrived(Number.POSITIVE_INFINITY, 0)
  const answers = new LargeAnswers(smallCalls)
  const answered: string[] = []
  answers.add('a', call(answered, 'a1', 50))
  await eventually(() => answered.length === 1)
  answers.add('a', call(answered, 'a2'))
  for (const name of ['b1', 'b2', 'b3']) answers.add('b', call(answered, name))
  await eventually(() => answered.length === 4)
  t.same(answered, ['a1', 'b1', 'b2', 'b3'], 'short ones owe next to nothing')
  smallCalls.arrived(Number.NEGATIVE_INFINITY, 0)
  await eventually(() => answered.length === 5)
  t.equal(answered[4], 'a2', 'when nobody else is there nothing is owed')
})

test('who owes nothing does not wait for one who does', async (t) => {
  const smallCalls = new SmallCalls()
  smallCalls.arrived(Number.POSITIVE_INFINITY, 0)
  const answers = new LargeAnswers(smallCalls)
  const answered: string[] = []
  answers.add('a', call(answered, 'a1', 50))
  await eventually(() => answered.length === 1)
  answers.add('a', call(answered, 'a2'))
  await turn()
  answers.add('b', call(answered, 'b1'))
  await turn()
  t.same(answered, ['a1', 'b1'], 'in the turn that follows')
  smallCalls.arrived(Number.NEGATIVE_INFINITY, 0)
  await eventually(() => answered.length === 3)
})

test('a caller that had to wait pays for its own turn and for no other', async (t) => {
  const smallCalls = new SmallCalls()
  smallCalls.arrived(Number.POSITIVE_INFINITY, 0)
  const answers = new LargeAnswers(smallCalls)
  const answered: string[] = []
  answers.add('a', call(answered, 'a1', 8))
  await eventually(() => answered.length === 1)
  await turn()
  answers.add('a', call(answered, 'a2'))
  await eventually(() => answered.length === 2)
  await turn()
  runInLargeTurn(call(answered, 'of nobody', 100).answerNow)
  await eventually(() => answered.length === 3)
  await turn()
  answers.add('a', call(answered, 'a3'))
  await turn()
  t.same(answered, ['a1', 'a2', 'of nobody', 'a3'], 'in the turn that follows')
  smallCalls.arrived(Number.NEGATIVE_INFINITY, 0)
  await eventually(() => answered.length === 4)
})

test('a call that nobody waits for any more takes no turn', async (t) => {
  const answers = new LargeAnswers(new SmallCalls())
  const answered: string[] = []
  const gone = call(answered, 'gone')
  answers.add('a', gone)
  answers.add('a', call(answered, 'here'))
  gone.over = true
  await eventually(() => answered.length > 0)
  t.same(answered, ['here'])
})
