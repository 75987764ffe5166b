/** The bank and the desk of shared limits, where the property test does not look: windows, lost answers, changes. */
import { test } from 'tap'
import type { Amount, Draw, Drawn } from '../../src/limits/quota.js'
import { QuotaBank } from '../../src/limits/quota-bank.js'
import { isTicket, NO_ANSWER, QuotaDesk, type Shortage, type Ticket } from '../../src/limits/quota-desk.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const MINUTE = 60_000
const window = (capacity: number) => ({ name: 'r1', capacity, windowMs: MINUTE })
const places = (capacity: number) => ({ name: 'c1', capacity, windowMs: 0 })

/** Desks and a bank that hear each other at once. */
function together(clock: FakeClock, count: number): { bank: QuotaBank; desks: QuotaDesk[]; draws: Draw[] } {
  const desks: QuotaDesk[] = []
  const draws: Draw[] = []
  const bank = new QuotaBank({
    clock,
    load: (_name, done) => done(0),
    recall: (holder, name) => desks[Number(holder)]!.recalled(name),
  })
  for (let at = 0; at < count; at++) {
    const desk: QuotaDesk = new QuotaDesk(clock, {
      draw: (id, draw) => {
        draws.push(draw)
        bank.draw(String(at), draw, (drawn: Drawn | null) => desk.answered(id, drawn))
        return true
      },
      tell: (kind: 'gave-back' | 'owes', amount: Amount) => {
        if (kind === 'owes') bank.owes(String(at), amount)
        else bank.gaveBack(String(at), amount)
        return true
      },
      secure: () => true,
    })
    desks.push(desk)
  }
  return { bank, desks, draws }
}

async function took(
  desk: QuotaDesk,
  quota: ReturnType<typeof window>,
  amount = 1,
): Promise<Ticket | Shortage> {
  const came = desk.tryTake(quota, amount) ?? (await desk.take(quota, amount))
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
      if (isTicket(came)) accepted++
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
  const first = (await took(desks[0]!, window(100), 90)) as Ticket
  t.notOk(isTicket(await took(desks[1]!, window(100), 20)))
  desks[0]!.bring(first, 50)
  // A refusal may be that old.
  clock.advance(20)
  const second = await took(desks[1]!, window(100), 40)
  t.ok(isTicket(second))
  desks[1]!.bring(second as Ticket, 60)
  t.notOk(isTicket(await took(desks[0]!, window(100), 1)))
})

test('a ticket of a window that has ended brings nothing into the next one', async (t) => {
  const clock = new FakeClock()
  const { desks } = together(clock, 1)
  const [desk] = desks as [QuotaDesk]
  const ticket = (await took(desk, window(10), 10)) as Ticket
  clock.advance(MINUTE)
  t.ok(isTicket(await took(desk, window(10), 10)))
  desk.bring(ticket, 0)
  t.notOk(isTicket(await took(desk, window(10), 1)))
})

test('places are free again when they are brought back, on every desk', async (t) => {
  const clock = new FakeClock()
  const { desks } = together(clock, 2)
  const tickets = [await took(desks[0]!, places(2)), await took(desks[0]!, places(2))] as Ticket[]
  t.same(await took(desks[1]!, places(2)), { left: 0, resetInMs: 0 })
  desks[0]!.bring(tickets[0]!, 0)
  clock.advance(20)
  t.ok(isTicket(await took(desks[1]!, places(2))))
})

test('a holder that has died gives its places back, and what it used of a window stays used', async (t) => {
  const clock = new FakeClock()
  const { bank, desks } = together(clock, 2)
  await took(desks[0]!, places(1))
  await took(desks[0]!, window(1))
  bank.died('0')
  bank.settled('0')
  t.ok(isTicket(await took(desks[1]!, places(1))))
  t.notOk(isTicket(await took(desks[1]!, window(1))))
})

test('a limit that is changed counts from the next call on', async (t) => {
  const { desks } = together(new FakeClock(), 2)
  t.ok(isTicket(await took(desks[0]!, window(1))))
  t.notOk(isTicket(await took(desks[0]!, window(1))))
  t.ok(isTicket(await took(desks[0]!, window(2))))
  t.ok(isTicket(await took(desks[1]!, window(3))))
  t.notOk(isTicket(await took(desks[0]!, window(3))))
  t.notOk(isTicket(await took(desks[1]!, window(1))))
})

test('a flood of refusals asks the bank no more than every 20 ms', async (t) => {
  const clock = new FakeClock()
  const { desks, draws } = together(clock, 1)
  await took(desks[0]!, window(1))
  draws.length = 0
  for (let call = 0; call < 1_000; call++) {
    t.notOk(isTicket(await took(desks[0]!, window(1))))
    clock.advance(0.1)
  }
  t.ok(draws.length <= 6, `${draws.length} questions`)
})

test('a holder that does not answer a recall keeps what it has, and nobody waits for it for ever', async (t) => {
  const clock = new FakeClock()
  const recalled: string[] = []
  const bank = new QuotaBank({
    clock,
    load: (_name, done) => done(0),
    recall: (holder) => recalled.push(holder),
  })
  const drawn: (Drawn | null)[] = []
  bank.draw('deaf', { ...places(10), wanted: 8 }, (came) => drawn.push(came))
  bank.draw('other', { ...places(10), wanted: 5 }, (came) => drawn.push(came))
  t.strictSame(recalled, ['deaf'])
  t.equal(drawn.length, 1)
  clock.advance(250)
  t.equal(drawn[1]?.granted, 2)
  // Late is better than never.
  bank.gaveBack('deaf', { name: 'c1', epoch: 0, amount: 8 })
  t.equal(bank.outstanding('c1')?.committed, 2)
})

test('a bank that does not answer is no reason to wait for ever, and what it grants late is kept', async (t) => {
  const clock = new FakeClock()
  const asked: number[] = []
  const desk = new QuotaDesk(clock, {
    draw: (id) => asked.push(id) > 0,
    tell: () => true,
    secure: () => true,
  })
  const waiting = desk.take(places(5), 1)
  clock.advance(2_000)
  t.equal(await waiting, NO_ANSWER)
  desk.answered(asked[0]!, { granted: 3, epoch: 0, resetInMs: 0 })
  for (let call = 0; call < 3; call++) t.ok(desk.tryTake(places(5), 1) !== null)
  t.equal(desk.tryTake(places(5), 1), null)
  const alone = new QuotaDesk(clock, { draw: () => false, tell: () => false, secure: () => true })
  const answer = alone.take(places(5), 1)
  clock.advance(1)
  t.equal(await answer, NO_ANSWER)
})

test('what is free is not given back as long as what was spent can still be lost', async (t) => {
  const told: Amount[] = []
  let safe = false
  const desk: QuotaDesk = new QuotaDesk(new FakeClock(), {
    draw: (id) => {
      desk.answered(id, { granted: 10, epoch: 0, resetInMs: 0 })
      return true
    },
    tell: (_kind, amount) => told.push(amount) > 0,
    secure: () => safe,
  })
  const ticket = await desk.take(places(10), 4)
  if (ticket === NO_ANSWER || !isTicket(ticket)) return void t.fail('was refused')
  desk.recalled('c1')
  desk.bring(ticket, 1)
  safe = true
  desk.recalled('c1')
  t.same(
    told.map(({ amount }) => amount),
    [0, 9],
  )
})

test('a quota that is forgotten while the bank is asked for it still answers those who wait', async (t) => {
  const clock = new FakeClock()
  const answers: (() => void)[] = []
  const told: string[] = []
  const desk: QuotaDesk = new QuotaDesk(clock, {
    draw: (id, { wanted }) =>
      answers.push(() => desk.answered(id, { granted: wanted + 3, epoch: 0, resetInMs: 0 })) > 0,
    tell: (kind, { name, amount }) => told.push(`${kind} ${name} ${amount}`) > 0,
    secure: () => true,
  })
  const waiting = desk.take(places(5), 1)
  for (let other = 0; other < 20_001; other++) {
    desk.tryTake({ name: `x${other}`, capacity: 1, windowMs: 0 }, 1)
  }
  answers[0]!()
  const ticket = await waiting
  t.ok(ticket !== NO_ANSWER && isTicket(ticket))
  t.strictSame(told, ['gave-back c1 3'])
  t.equal(answers.length, 1)
})

test('a bank of very many quotas forgets those whose window is over, and keeps what is held', (t) => {
  const clock = new FakeClock()
  const bank = new QuotaBank({ clock, load: (_name, done) => done(0), recall: () => {} })
  const draw = (name: string, windowMs: number): void =>
    bank.draw('a', { name, capacity: 5, windowMs, wanted: 5 }, () => {})
  draw('held', 0)
  for (let at = 0; at < 50_000; at++) draw(`r${at}`, MINUTE)
  clock.advance(MINUTE)
  for (let at = 0; at < 1_000; at++) draw(`s${at}`, MINUTE)
  t.ok(bank.size <= 50_001, `${bank.size} quotas`)
  t.equal(bank.outstanding('held')?.committed, 5)
  t.equal(bank.outstanding('s999')?.committed, 5)
  t.end()
})
