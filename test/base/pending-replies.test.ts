import { test } from 'tap'
import { PendingReplies } from '../../src/base/pending-replies.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const DEADLINE_MS = 500

function asked(isConnected = true, takesLate = false) {
  const clock = new FakeClock()
  const replies = new PendingReplies<string>(clock, { takesLate })
  const ids: number[] = []
  const told: (readonly [question: string, reply: string | null, late: boolean])[] = []
  const ask = (question: string): void =>
    replies.ask(
      DEADLINE_MS,
      (id) => ids.push(id) > 0 && isConnected,
      (reply, late) => told.push([question, reply, late]),
    )
  return { clock, replies, ids, told, ask }
}

test('each reply goes to its question, in the turn in which it comes, once', async (t) => {
  const { clock, replies, ids, told, ask } = asked()
  ask('a')
  ask('b')
  replies.receive(ids[1]!, 'two')
  replies.receive(ids[0]!, 'one')
  replies.receive(ids[0]!, 'again')
  replies.receive(99, 'nobody asked')
  t.strictSame(told, [
    ['b', 'two', false],
    ['a', 'one', false],
  ])
  t.equal(clock.pending, 0)
})

test('a question is given up at its deadline; a later reply is told as late where those are taken', async (t) => {
  const { clock, replies, ids, told, ask } = asked(true, true)
  ask('a')
  clock.advance(DEADLINE_MS - 1)
  t.strictSame(told, [])
  clock.advance(1)
  replies.receive(ids[0]!, 'one')
  t.strictSame(told, [
    ['a', null, false],
    ['a', 'one', true],
  ])
})

test('a reply after the deadline is dropped where late ones are not taken', async (t) => {
  const { clock, replies, ids, told, ask } = asked()
  ask('a')
  clock.advance(DEADLINE_MS)
  replies.receive(ids[0]!, 'one')
  t.strictSame(told, [['a', null, false]])
})

test('where nobody can be asked the answer comes in a later turn, and no timer stays', async (t) => {
  const { clock, told, ask } = asked(false)
  ask('a')
  t.strictSame(told, [])
  clock.advance(0)
  t.strictSame(told, [['a', null, false]])
  t.equal(clock.pending, 0)
})
