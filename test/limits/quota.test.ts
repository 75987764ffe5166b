/** Leases and the server of shared limits, where the property test does not look: windows, lost answers, changes. */
import { test } from 'tap'
import type { LeaseAmount, QuotaGrant, QuotaRequest } from '../../src/limits/quota.js'
import { isPermit, NO_ANSWER, QuotaLeases, type QuotaPermit } from '../../src/limits/quota-leases.js'
import { QuotaServer } from '../../src/limits/quota-server.js'
import {
  acquired,
  acquiredInTime,
  isAdmitted,
  MACHINES,
  quotaProcesses,
} from '../support/models/quota-processes.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const MINUTE = 60_000
const window = (capacity: number) => ({ name: 'r1', capacity, windowMs: MINUTE })
const places = (capacity: number) => ({ name: 'c1', capacity, windowMs: 0 })

/** A process whose questions wait for the test. */
function heldLeases(makeDurable = () => true) {
  const asked: { readonly request: QuotaRequest; onReply(grant: QuotaGrant | null, late?: boolean): void }[] =
    []
  const told: (LeaseAmount & { readonly kind: string })[] = []
  const leases = new QuotaLeases(new FakeClock(), {
    acquire: (request, onReply) =>
      void asked.push({ request, onReply: (grant, late = false) => onReply(grant, late) }),
    notify: (kind, amount) => void told.push({ kind, ...amount }),
    makeDurable,
  })
  return { leases, asked, told }
}

for (const machines of MACHINES) {
  const where = machines === 1 ? '' : `, on ${machines} machines`

  test(`a window has its capacity once, whoever asks, and anew when it has ended${where}`, async (t) => {
    const clock = new FakeClock()
    const { processes } = quotaProcesses(clock, 2, machines)
    for (let turn = 0; turn < 3; turn++) {
      let accepted = 0
      for (let call = 0; call < 400; call++) {
        const outcome = await acquiredInTime(clock, processes[call % 3 === 0 ? 0 : 1]!, window(100))
        if (isPermit(outcome)) accepted++
        else t.ok(outcome.left === 0 && outcome.resetInMs > 0 && outcome.resetInMs <= MINUTE)
        clock.advance(100)
      }
      t.equal(accepted, 100)
      clock.advance(MINUTE - 400 * 100)
    }
  })

  test(`what a call did not use of a window is there again; what it used beyond is not${where}`, async (t) => {
    const clock = new FakeClock()
    const [one, other] = quotaProcesses(clock, 2, machines).processes as [QuotaLeases, QuotaLeases]
    const first = (await acquired(one, window(100), 90)) as QuotaPermit
    t.notOk(await isAdmitted(other, window(100), 20))
    one.release(first, 50)
    // A refusal may be that old.
    clock.advance(20)
    const second = await acquired(other, window(100), 40)
    t.ok(isPermit(second))
    other.release(second as QuotaPermit, 60)
    t.notOk(await isAdmitted(one, window(100), 1))
  })

  test(`a permit of a window that has ended brings nothing into the next one${where}`, async (t) => {
    const clock = new FakeClock()
    const [leases] = quotaProcesses(clock, 1, machines).processes as [QuotaLeases]
    const permit = (await acquired(leases, window(10), 10)) as QuotaPermit
    clock.advance(MINUTE)
    t.ok(await isAdmitted(leases, window(10), 10))
    leases.release(permit, 0)
    t.notOk(await isAdmitted(leases, window(10), 1))
  })

  test(`places are free again when they are released, in every process${where}`, async (t) => {
    const clock = new FakeClock()
    const [one, other] = quotaProcesses(clock, 2, machines).processes as [QuotaLeases, QuotaLeases]
    const first = (await acquired(one, places(2))) as QuotaPermit
    await acquired(one, places(2))
    t.same(await acquired(other, places(2)), { left: 0, resetInMs: 0 })
    one.release(first, 0)
    clock.advance(20)
    t.ok(await isAdmitted(other, places(2)))
  })

  test(`a holder that has died gives its places back, and what it used of a window stays used${where}`, async (t) => {
    const { serverOf, processes } = quotaProcesses(new FakeClock(), 2, machines)
    await acquired(processes[0]!, places(1))
    await acquired(processes[0]!, window(1))
    serverOf('0').holderDied('0')
    serverOf('0').holderSettled('0')
    t.ok(await isAdmitted(processes[1]!, places(1)))
    t.notOk(await isAdmitted(processes[1]!, window(1)))
  })

  test(`a limit that is changed counts from the next call on${where}`, async (t) => {
    const { processes } = quotaProcesses(new FakeClock(), 2, machines)
    for (const [at, capacity, admitted] of [
      [0, 1, true],
      [0, 1, false],
      [0, 2, true],
      [1, 3, true],
      [0, 3, false],
      [1, 1, false],
    ] as const) {
      t.equal(await isAdmitted(processes[at]!, window(capacity)), admitted, `${capacity} at ${at}`)
    }
  })

  test(`a flood of refusals asks the server no more than every 20 ms${where}`, async (t) => {
    const clock = new FakeClock()
    const { processes, requests } = quotaProcesses(clock, 1, machines)
    await acquired(processes[0]!, window(1))
    requests.length = 0
    for (let call = 0; call < 1_000; call++) {
      t.notOk(await isAdmitted(processes[0]!, window(1)))
      clock.advance(0.1)
    }
    t.ok(requests.length <= 6, `${requests.length} questions`)
  })
}

test('a holder that does not answer a revocation keeps what it has, and is not waited for for ever', async (t) => {
  const clock = new FakeClock()
  const revoked: string[] = []
  const server = new QuotaServer({
    clock,
    load: (_name, done) => done(0),
    revoke: (holder) => revoked.push(holder),
  })
  const granted: (number | undefined)[] = []
  const acquire = (holder: string, wanted: number): void =>
    server.acquire(holder, { ...places(10), wanted }, (grant) => granted.push(grant?.granted))
  acquire('deaf', 8)
  acquire('other', 5)
  t.strictSame(revoked, ['deaf'])
  t.equal(granted.length, 1)
  clock.advance(250)
  t.equal(granted[1], 2)
  // Late is better than never.
  server.release('deaf', { name: 'c1', epoch: 0, amount: 8 })
  acquire('other', 10)
  t.equal(granted[2], 8)
})

test('a server that does not answer is told of, and what it grants late is kept', async (t) => {
  const { leases, asked } = heldLeases()
  const waiting = leases.acquire(places(5), 1)
  asked[0]!.onReply(null)
  t.equal(await waiting, NO_ANSWER)
  asked[0]!.onReply({ granted: 3, epoch: 0, resetInMs: 0 }, true)
  for (let call = 0; call < 3; call++) t.ok(leases.tryAcquire(places(5), 1) !== null)
  t.equal(leases.tryAcquire(places(5), 1), null)
})

test('what is free is not given back as long as what was spent can still be lost', async (t) => {
  let safe = false
  const { leases, asked, told } = heldLeases(() => safe)
  const waiting = leases.acquire(places(10), 4)
  asked[0]!.onReply({ granted: 10, epoch: 0, resetInMs: 0 })
  const permit = await waiting
  if (permit === NO_ANSWER || !isPermit(permit)) return void t.fail('was refused')
  leases.onRevoke('c1')
  leases.release(permit, 1)
  safe = true
  leases.onRevoke('c1')
  t.same(
    told.map(({ amount }) => amount),
    [0, 9],
  )
})

test('a quota that is forgotten while the server is asked for it still answers those who wait', async (t) => {
  const { leases, asked, told } = heldLeases()
  const waiting = leases.acquire(places(5), 1)
  for (let other = 0; other < 20_001; other++) {
    leases.tryAcquire({ name: `x${other}`, capacity: 1, windowMs: 0 }, 1)
  }
  asked[0]!.onReply({ granted: 4, epoch: 0, resetInMs: 0 })
  const permit = await waiting
  t.ok(permit !== NO_ANSWER && isPermit(permit))
  t.strictSame(told, [{ kind: 'release-quota', name: 'c1', epoch: 0, amount: 3 }])
  t.equal(asked.length, 1)
})

test('a server of very many quotas forgets those whose window is over, and keeps what is held', (t) => {
  const clock = new FakeClock()
  const server = new QuotaServer({ clock, load: (_name, done) => done(0), revoke: () => {} })
  const acquire = (name: string, windowMs: number, wanted = 5): number => {
    let granted = -1
    server.acquire('a', { name, capacity: 5, windowMs, wanted }, (grant) => {
      granted = grant?.granted ?? -1
    })
    return granted
  }
  acquire('held', 0)
  for (let at = 0; at < 50_000; at++) acquire(`r${at}`, MINUTE)
  clock.advance(MINUTE)
  for (let at = 0; at < 1_000; at++) acquire(`s${at}`, MINUTE)
  t.ok(server.size <= 50_001, `${server.size} quotas`)
  t.equal(acquire('held', 0, 1), 0)
  t.equal(acquire('s999', MINUTE, 1), 0)
  t.end()
})
