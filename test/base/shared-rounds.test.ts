import { test } from 'tap'
import { shareRounds } from '../../src/base/shared-rounds.js'
import { turn } from '../support/clients/raw-http.js'
import { FakeClock } from '../support/timing/fake-clock.js'
import { type Gate, gate } from '../support/timing/gate.js'

function bench() {
  const clock = new FakeClock()
  const rounds: Gate<string>[] = []
  const ask = shareRounds(
    () => {
      const round = gate<string>()
      rounds.push(round)
      return round.opened
    },
    100,
    clock,
  )
  return { clock, rounds, ask }
}

test('one caller alone gets a round at once', async (t) => {
  const { rounds, ask } = bench()
  const asked = ask()
  await turn()
  rounds[0]!.open('first')
  t.equal(await asked, 'first')
})

test('who asks while a round is under way shares the next, which is not older than the question', async (t) => {
  const { clock, rounds, ask } = bench()
  const first = ask()
  await turn()
  const late = [ask(), ask(), ask()]
  clock.advance(500)
  await turn()
  t.equal(rounds.length, 1, 'one at a time')
  rounds[0]!.open('first')
  t.equal(await first, 'first')
  await turn()
  t.equal(rounds.length, 2)
  rounds[1]!.open('second')
  t.strictSame(await Promise.all(late), ['second', 'second', 'second'])
})

test('rounds begin once in a period at most', async (t) => {
  const { clock, rounds, ask } = bench()
  const first = ask()
  await turn()
  rounds[0]!.open('first')
  await first
  const second = ask()
  await turn()
  clock.advance(99)
  await turn()
  t.equal(rounds.length, 1)
  clock.advance(1)
  await turn()
  rounds[1]!.open('second')
  t.equal(await second, 'second')
  clock.advance(1_000)
  void ask()
  await turn()
  t.equal(rounds.length, 3, 'at once when the last one is long past')
})

test('a round that fails fails for those who share it, and the next goes on', async (t) => {
  let fails = true
  const ask = shareRounds(async () => (fails ? Promise.reject(new Error('no')) : 'well'), 0, new FakeClock())
  await t.rejects(Promise.all([ask(), ask()]), { message: 'no' })
  fails = false
  t.equal(await ask(), 'well')
})
