/** What a machine does with its bank, where the suites of limits do not look: a bank away, machines that do not answer. */
import { test } from 'tap'
import { MachineBank } from '../../src/limits/machine-bank.js'
import type { QuotaGrant } from '../../src/limits/quota.js'
import type { BankClaim, QuotaBank } from '../../src/limits/quota-bank.js'
import { QuotaServer } from '../../src/limits/quota-server.js'
import { ModelBank } from '../support/models/model-bank.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const CREDITS = { name: '$oacme never', capacity: 100, windowMs: 0 }
const PLACES = { name: 'ck', capacity: 100, windowMs: 0 }

/** Whatever has been promised is told. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}

/** Machines on one bank; `holds` are wrapped around the bank of each. */
function machinesOn(
  clock: FakeClock,
  count: number,
  wrap = (bank: QuotaBank): QuotaBank => bank,
  flush = async (): Promise<boolean> => true,
) {
  const bank = new ModelBank(clock)
  const revoked: string[] = []
  const machines = Array.from({ length: count }, (_, at) => {
    let supply: MachineBank | undefined
    const server = new QuotaServer({
      clock,
      load: (_name, done) => done(0),
      revoke: (_holder, name) => revoked.push(`${at} ${name}`),
      supply: (quotas) => {
        const port = wrap(bank.of(String(at)))
        supply = new MachineBank({ clock, quotas, bank: port, flush, random: () => 0.5 })
        bank.machines.set(String(at), supply)
        return supply
      },
    })
    const ask = async (wanted: number, quota = CREDITS): Promise<QuotaGrant | null | undefined> => {
      let grant: QuotaGrant | null | undefined
      server.acquire('worker', { ...quota, wanted }, (answer) => {
        grant = answer
      })
      await rest()
      return grant
    }
    return { server, supply: supply!, ask }
  })
  return { bank, machines, revoked }
}

test('a lease is eight times what is wanted at first, and never more than its share of the rest', async (t) => {
  const { bank, machines } = machinesOn(new FakeClock(), 2)
  t.match(await machines[0]!.ask(1), { granted: 1 })
  t.equal(bank.committed(CREDITS.name), 8)
  t.match(await machines[1]!.ask(10), { granted: 10 })
  t.equal(bank.committed(CREDITS.name), 8 + 23, 'a quarter of what is left is the share of one of two')
})

test('a machine that leaves gives back what its workers have not used', async (t) => {
  const { bank, machines } = machinesOn(new FakeClock(), 2)
  const [one] = machines
  await one!.ask(5)
  one!.server.recordSpending('worker', CREDITS.name, 3, true)
  one!.server.holderDied('worker')
  one!.server.holderSettled('worker')
  await one!.supply.giveBack()
  t.equal(bank.committed(CREDITS.name), 3, 'but not what was spent')
})

test('a bank that is away: what is held is spent to its end, then nobody can tell, until it is back', async (t) => {
  const clock = new FakeClock()
  let isAway = false
  const { machines } = machinesOn(clock, 1, (bank) => ({
    ...bank,
    exchange: (claims) => (isAway ? Promise.reject(new Error('away')) : bank.exchange(claims)),
  }))
  const [machine] = machines
  t.match(await machine!.ask(1), { granted: 1 })
  isAway = true
  for (let call = 0; call < 7; call++) t.match(await machine!.ask(1), { granted: 1 })
  t.equal(await machine!.ask(1), null)
  isAway = false
  t.equal(await machine!.ask(1), null, 'it is not asked again at once')
  clock.advance(5_000)
  await rest()
  t.match(await machine!.ask(1), { granted: 1 })
})

test('credits are not refused before all who live have given back: one that does not answer leaves it open', async (t) => {
  const clock = new FakeClock()
  const { machines, bank } = machinesOn(clock, 2)
  await machines[1]!.ask(60)
  bank.machines.delete('1')
  const waiting = machines[0]!.ask(90)
  t.equal(await waiting, undefined)
  for (let step = 0; step < 40; step++) {
    clock.advance(50)
    await rest()
  }
  let answer: QuotaGrant | null | undefined
  machines[0]!.server.acquire('worker', { ...CREDITS, wanted: 90 }, (grant) => {
    answer = grant
  })
  for (let step = 0; step < 40; step++) {
    clock.advance(50)
    await rest()
  }
  t.equal(answer, null)
  t.match(await machines[0]!.ask(5), { granted: 5 }, 'what there is can be had all the same')
})

test('what a machine has drawn since it answered a call-in can be asked back by the same call-in', async (t) => {
  const { machines, bank, revoked } = machinesOn(new FakeClock(), 2)
  const [one, other] = machines
  const giveBack = async (amount: number): Promise<void> => {
    one!.server.release('worker', { name: CREDITS.name, epoch: 0, amount })
    await rest()
  }
  await one!.ask(40)
  await other!.ask(70)
  await giveBack(30)
  t.equal(bank.committed(CREDITS.name), 10 + 70)
  t.match(await one!.ask(1), { granted: 1 })
  t.equal(bank.committed(CREDITS.name), 15 + 70, 'a few more than it needed')
  await other!.ask(18)
  t.equal(revoked.length, 2, 'it came in the moment of the first call-in, and shares it')
  await giveBack(0)
  t.equal(bank.committed(CREDITS.name), 11 + 88)
})

test('an answer of the bank that is lost takes nothing from the limit', async (t) => {
  const clock = new FakeClock()
  let loses = true
  const { machines, bank } = machinesOn(clock, 1, (port) => ({
    ...port,
    exchange: async (claims) => {
      const replies = await port.exchange(claims)
      if (loses) throw new Error('lost')
      return replies
    },
  }))
  t.equal(await machines[0]!.ask(50), null)
  t.equal(bank.committed(CREDITS.name), 50)
  loses = false
  clock.advance(5_000)
  await rest()
  t.match(await machines[0]!.ask(100), { granted: 100 })
  t.equal(bank.committed(CREDITS.name), 100)
})

test('a lease that nobody uses goes back, all of it', async (t) => {
  const clock = new FakeClock()
  const { machines, bank, revoked } = machinesOn(clock, 2)
  const [one] = machines
  await one!.ask(10)
  one!.server.release('worker', { name: CREDITS.name, epoch: 0, amount: 10 })
  t.equal(bank.committed(CREDITS.name), 25, 'a share of the first 100')
  for (let tick = 0; tick < 120 && bank.committed(CREDITS.name) > 0; tick++) {
    clock.advance(5_000)
    await rest()
  }
  t.equal(bank.committed(CREDITS.name), 0)
  t.strictSame(revoked, [])
})

test('a machine that has joined again goes on with what still counts, and drops what was declared void', async (t) => {
  const clock = new FakeClock()
  const claims: BankClaim[] = []
  const { machines, revoked } = machinesOn(clock, 2, (port) => ({
    ...port,
    exchange: (asked) => {
      claims.push(...asked)
      return port.exchange(asked)
    },
    adopt: async () => [CREDITS.name],
  }))
  const [one] = machines
  await one!.ask(1)
  await one!.ask(1, PLACES)
  one!.supply.onRejoined(7)
  await rest()
  t.strictSame(revoked, ['0 ck'], 'its holders are told')
  claims.length = 0
  await one!.ask(50)
  await one!.ask(50, PLACES)
  t.match(
    claims.map(({ name, held }) => ({ name, held })),
    [
      { name: CREDITS.name, held: 8 },
      { name: PLACES.name, held: -1 },
    ],
  )
})

test('under a limit that was just changed, nothing is granted before all machines have brought in what they answered', async (t) => {
  const clock = new FakeClock()
  const claims: BankClaim[] = []
  let flushes = 0
  let isFlushed = false
  const { machines, bank } = machinesOn(
    clock,
    1,
    (port) => ({
      ...port,
      exchange: async (asked) => {
        claims.push(...asked)
        if (asked[0]!.flushed === 5) return port.exchange(asked)
        const nothing = { held: 0, room: 0, window: 0, endsInMs: 0, call: 0 }
        return asked.map(({ name }) => ({ name, state: 'flush', ...nothing, version: 5 }))
      },
    }),
    async () => {
      flushes++
      return isFlushed
    },
  )
  t.equal(await machines[0]!.ask(1), null, 'it is not known what others have answered')
  isFlushed = true
  t.match(await machines[0]!.ask(1), { granted: 1 })
  t.equal(flushes, 2)
  t.match(claims.at(-1), { flushed: 5 })
  t.ok(bank.committed(CREDITS.name) > 0)
})

test('what is held under another limit goes back before anything of it is granted', async (t) => {
  const { machines, bank } = machinesOn(new FakeClock(), 1)
  const { granted } = (await machines[0]!.ask(10))!
  t.ok(bank.committed(CREDITS.name) > granted)
  machines[0]!.server.release('worker', { name: CREDITS.name, epoch: 0, amount: granted - 5 })
  const asked = machines[0]!.ask(1, { ...CREDITS, capacity: 6 })
  t.equal(await asked, undefined, 'its worker is asked first')
  machines[0]!.server.release('worker', { name: CREDITS.name, epoch: 0, amount: 0 })
  await rest()
  t.equal(bank.committed(CREDITS.name), 6)
})
