/** The bank and the desk of shared limits, where the property test does not look: windows, lost answers, changes. */
import { test } from 'tap'
import type { LeaseAmount, QuotaGrant, QuotaRequest } from '../../src/limits/quota.js'
import {
  isPermit,
  NO_ANSWER,
  QuotaLeases,
  type QuotaPermit,
  type QuotaShortage,
} from '../../src/limits/quota-leases.js'
import { QuotaServer } from '../../src/limits/quota-server.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const MINUTE = 60_000
const window = (capacity: number) => ({ name: 'r1', capacity, windowMs: MINUTE })
const places = (capacity: number) => ({ name: 'c1', capacity, windowMs: 0 })

/** Desks and a bank that hear each other at once. */
function together(
  clock: FakeClock,
  count: number,
): { bank: QuotaServer; desks: QuotaLeases[]; draws: QuotaRequest[] } {
  const desks: QuotaLeases[] = []
  const draws: QuotaRequest[] = []
  const bank = new QuotaServer({
    clock,
    load: (_name, done) => done(0),
    revoke: (holder, name) => desks[Number(holder)]!.onRevoke(name),
  })
  for (let at = 0; at < count; at++) {
    const desk: QuotaLeases = new QuotaLeases(clock, {
      acquire: (id, draw) => {
        draws.push(draw)
        bank.acquire(String(at), draw, (drawn: QuotaGrant | null) => desk.onGrant(id, drawn))
        return true
      },
      notify: (kind: 'gave-back' | 'owes', amount: LeaseAmount) => {
        if (kind === 'owes') bank.recordOverdraft(String(at), amount)
        else bank.release(String(at), amount)
        return true
      },
      makeDurable: () => true,
    })
    desks.push(desk)
  }
  return { bank, desks, draws }
}

async function took(
  desk: QuotaLeases,
  quota: ReturnType<typeof window>,
  amount = 1,
): Promise<QuotaPermit | QuotaShortage> {
  const came = desk.tryAcquire(quota, amount) ?? (await desk.acquire(quota, amount))
  if (came === NO_ANSWER) throw new Error('no answer')
  return came
}

test('a window has its capacity once, whoever asks, and anew when it has ended', async (t) => {
  const clock = new FakeClock()
  const { desks } = together(clock, 2)
  for (let turn = 0; turn < 3; turn++) {
    let accepted = 0
    for (let call = 0; call < 400; call++) {
      const came = await took(desks[call % 3 === 0 ? 0 : 1]!, window(100))
      if (isPermit(came)) accepted++
      else t.ok(came.left === 0 && came.resetInMs > 0 && came.resetInMs <= MINUTE)
      clock.advance(100)
    }
    t.equal(accepted, 100)
    clock.advance(MINUTE - 400 * 100)
  }
})

test('what a call did not use of a window is there again; what it used beyond is not', async (t) => {
  const clock = new FakeClock()
  const { desks } = together(clock, 2)
  const first = (await took(desks[0]!, window(100), 90)) as QuotaPermit
  t.notOk(isPermit(await took(desks[1]!, window(100), 20)))
  desks[0]!.release(first, 50)
  // A refusal may be that old.
  clock.advance(20)
  const second = await took(desks[1]!, window(100), 40)
  t.ok(isPermit(second))
  desks[1]!.release(second as QuotaPermit, 60)
  t.notOk(isPermit(await took(desks[0]!, window(100), 1)))
})

test('a ticket of a window that has ended brings nothing into the next one', async (t) => {
  const clock = new FakeClock()
  const { desks } = together(clock, 1)
  const [desk] = desks as [QuotaLeases]
  const ticket = (await took(desk, window(10), 10)) as QuotaPermit
  clock.advance(MINUTE)
  t.ok(isPermit(await took(desk, window(10), 10)))
  desk.release(ticket, 0)
  t.notOk(isPermit(await took(desk, window(10), 1)))
})

test('places are free again when they are brought back, on every desk', async (t) => {
  const clock = new FakeClock()
  const { desks } = together(clock, 2)
  const tickets = [await took(desks[0]!, places(2)), await took(desks[0]!, places(2))] as QuotaPermit[]
  t.same(await took(desks[1]!, places(2)), { left: 0, resetInMs: 0 })
  desks[0]!.release(tickets[0]!, 0)
  clock.advance(20)
  t.ok(isPermit(await took(desks[1]!, places(2))))
})

test('a holder that has died gives its places back, and what it used of a window stays used', async (t) => {
  const clock = new FakeClock()
  const { bank, desks } = together(clock, 2)
  await took(desks[0]!, places(1))
  await took(desks[0]!, window(1))
  bank.holderDied('0')
  bank.holderSettled('0')
  t.ok(isPermit(await took(desks[1]!, places(1))))
  t.notOk(isPermit(await took(desks[1]!, window(1))))
})

test('a limit that is changed counts from the next call on', async (t) => {
  const { desks } = together(new FakeClock(), 2)
  t.ok(isPermit(await took(desks[0]!, window(1))))
  t.notOk(isPermit(await took(desks[0]!, window(1))))
  t.ok(isPermit(await took(desks[0]!, window(2))))
  t.ok(isPermit(await took(desks[1]!, window(3))))
  t.notOk(isPermit(await took(desks[0]!, window(3))))
  t.notOk(isPermit(await took(desks[1]!, window(1))))
})

test('a flood of refusals asks the bank no more than every 20 ms', async (t) => {
  const clock = new FakeClock()
  const { desks, draws } = together(clock, 1)
  await took(desks[0]!, window(1))
  draws.length = 0
  for (let call = 0; call < 1_000; call++) {
    t.notOk(isPermit(await took(desks[0]!, window(1))))
    clock.advance(0.1)
  }
  t.ok(draws.length <= 6, `${draws.length} questions`)
})

test('a holder that does not answer a recall keeps what it has, and nobody waits for it for ever', async (t) => {
  const clock = new FakeClock()
  const recalled: string[] = []
  const bank = new QuotaServer({
    clock,
    load: (_name, done) => done(0),
    revoke: (holder) => recalled.push(holder),
  })
  const drawn: (QuotaGrant | null)[] = []
  bank.acquire('deaf', { ...places(10), wanted: 8 }, (came) => drawn.push(came))
  bank.acquire('other', { ...places(10), wanted: 5 }, (came) => drawn.push(came))
  t.strictSame(recalled, ['deaf'])
  t.equal(drawn.length, 1)
  clock.advance(250)
  t.equal(drawn[1]?.granted, 2)
  // Late is better than never.
  bank.release('deaf', { name: 'c1', epoch: 0, amount: 8 })
  t.equal(bank.outstandingAmounts('c1')?.committed, 2)
})

test('a bank that does not answer is no reason to wait for ever, and what it grants late is kept', async (t) => {
  const clock = new FakeClock()
  const asked: number[] = []
  const desk = new QuotaLeases(clock, {
    acquire: (id) => asked.push(id) > 0,
    notify: () => true,
    makeDurable: () => true,
  })
  const waiting = desk.acquire(places(5), 1)
  clock.advance(2_000)
  t.equal(await waiting, NO_ANSWER)
  desk.onGrant(asked[0]!, { granted: 3, epoch: 0, resetInMs: 0 })
  for (let call = 0; call < 3; call++) t.ok(desk.tryAcquire(places(5), 1) !== null)
  t.equal(desk.tryAcquire(places(5), 1), null)
  const alone = new QuotaLeases(clock, { acquire: () => false, notify: () => false, makeDurable: () => true })
  const answer = alone.acquire(places(5), 1)
  clock.advance(1)
  t.equal(await answer, NO_ANSWER)
})

test('what is free is not given back as long as what was spent can still be lost', async (t) => {
  const told: LeaseAmount[] = []
  let safe = false
  const desk: QuotaLeases = new QuotaLeases(new FakeClock(), {
    acquire: (id) => {
      desk.onGrant(id, { granted: 10, epoch: 0, resetInMs: 0 })
      return true
    },
    notify: (_kind, amount) => told.push(amount) > 0,
    makeDurable: () => safe,
  })
  const ticket = await desk.acquire(places(10), 4)
  if (ticket === NO_ANSWER || !isPermit(ticket)) return void t.fail('was refused')
  desk.onRevoke('c1')
  desk.release(ticket, 1)
  safe = true
  desk.onRevoke('c1')
  t.same(
    told.map(({ amount }) => amount),
    [0, 9],
  )
})

test('a quota that is forgotten while the bank is asked for it still answers those who wait', async (t) => {
  const clock = new FakeClock()
  const answers: (() => void)[] = []
  const told: string[] = []
  const desk: QuotaLeases = new QuotaLeases(clock, {
    acquire: (id, { wanted }) =>
      answers.push(() => desk.onGrant(id, { granted: wanted + 3, epoch: 0, resetInMs: 0 })) > 0,
    notify: (kind, { name, amount }) => told.push(`${kind} ${name} ${amount}`) > 0,
    makeDurable: () => true,
  })
  const waiting = desk.acquire(places(5), 1)
  for (let other = 0; other < 20_001; other++) {
    desk.tryAcquire({ name: `x${other}`, capacity: 1, windowMs: 0 }, 1)
  }
  answers[0]!()
  const ticket = await waiting
  t.ok(ticket !== NO_ANSWER && isPermit(ticket))
  t.strictSame(told, ['gave-back c1 3'])
  t.equal(answers.length, 1)
})

test('a bank of very many quotas forgets those whose window is over, and keeps what is held', (t) => {
  const clock = new FakeClock()
  const bank = new QuotaServer({ clock, load: (_name, done) => done(0), revoke: () => {} })
  const draw = (name: string, windowMs: number): void =>
    bank.acquire('a', { name, capacity: 5, windowMs, wanted: 5 }, () => {})
  draw('held', 0)
  for (let at = 0; at < 50_000; at++) draw(`r${at}`, MINUTE)
  clock.advance(MINUTE)
  for (let at = 0; at < 1_000; at++) draw(`s${at}`, MINUTE)
  t.ok(bank.size <= 50_001, `${bank.size} quotas`)
  t.equal(bank.outstandingAmounts('held')?.committed, 5)
  t.equal(bank.outstandingAmounts('s999')?.committed, 5)
  t.end()
})
