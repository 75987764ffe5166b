/** The limit by client address in a worker whose supervisor is late or gone. */
import { type Test, test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { createLog } from '../../src/base/log.js'
import { WorkerAccounting } from '../../src/compose/accounting.js'
import { openLedger } from '../../src/compose/ledger.js'
import { limitByAddress } from '../../src/limits/address-limit.js'
import type { QuotaGrant } from '../../src/limits/quota.js'
import type { LedgerMessageToSupervisor } from '../../src/process/ipc/messages.js'
import type { AccountStore } from '../../src/store/account-store.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { NOBODY } from '../support/models/nobody.js'
import { UNWATCHED } from '../support/models/unwatched.js'
import { FakeClock } from '../support/timing/fake-clock.js'

/** Two calls at once, then one in ten seconds. */
const RATE = { perMinute: 6, burst: 2 }

/** A worker whose questions to the supervisor wait for the test; while `isGone` they cannot even be sent. */
function limitedWorker(t: Test) {
  const clock = new FakeClock()
  const supervisor = { isGone: false }
  const asked: { readonly name: string; readonly wanted: number; answer(grant: QuotaGrant | null): void }[] =
    []
  const told: string[] = []
  const parts = new WorkerAccounting({
    ...openLedger(tempFolder(t)),
    fleet: null,
    journal: '1-2-3',
    people: NOBODY,
    live: UNWATCHED,
    store: { accounts: {} as AccountStore },
    clock,
    log: createLog('fatal', 'test'),
    baseUrl: 'http://localhost',
    sendToSupervisor: (message: LedgerMessageToSupervisor) => {
      if (supervisor.isGone) return false
      if (message.type !== 'acquire-quota') return told.push(message.type) > 0
      const { id, request } = message
      const answer = (grant: QuotaGrant | null): void => parts.onMessage({ type: 'quota-grant', id, grant })
      return asked.push({ name: request.name, wanted: request.wanted, answer }) > 0
    },
  })
  t.teardown(() => parts.close())
  const limit = limitByAddress(parts.addressLeases, RATE)
  /** How calls that come in one turn end: 0 for one let through, or the seconds of its refusal; in their order. */
  const call = (count = 1, address = '192.0.2.1'): (() => Promise<(number | 'open')[]>) => {
    const ends = Array.from({ length: count }, (): number | 'open' => 'open')
    const settle = async (at: number): Promise<void> => {
      try {
        await limit(address)
        ends[at] = 0
      } catch (error) {
        if (!(error instanceof Fault) || error.kind !== 'rate-limited') throw error
        ends[at] = error.retryAfter!
      }
    }
    for (const at of ends.keys()) void settle(at)
    return async () => {
      await new Promise(setImmediate)
      return ends
    }
  }
  return { clock, supervisor, asked, told, call }
}

const grant = (granted: number, resetInMs = 100): QuotaGrant => ({ granted, epoch: 0, resetInMs })

test('the supervisor’s answers reach those who asked, in whatever order they come', async (t) => {
  const { clock, asked, call } = limitedWorker(t)
  const [one, other] = [call(1, '192.0.2.1'), call(1, '192.0.2.2')]
  t.match(asked, [
    { name: 'a192.0.2.1', wanted: 1 },
    { name: 'a192.0.2.2', wanted: 1 },
  ])
  asked[1]!.answer(grant(1))
  asked[0]!.answer(grant(0, 7_000))
  t.strictSame([await one(), await other()], [[7], [0]])
  t.equal(clock.pending, 0)
})

test('a supervisor that does not answer is stood in for by the worker’s own buckets', async (t) => {
  const { clock, asked, call } = limitedWorker(t)
  const calls = call(4)
  clock.advance(499)
  t.strictSame(await calls(), ['open', 'open', 'open', 'open'])
  clock.advance(1)
  t.equal((await calls())[0], 0)
  // The three that came while the first was asked for are a question of their own.
  t.equal(asked[1]?.wanted, 3)
  clock.advance(500)
  t.strictSame(await calls(), [0, 0, 10, 10])
  t.equal(clock.pending, 0)
  const soon = call()
  t.strictSame(await soon(), [10], 'and the refusal holds without asking again')
  t.equal(asked.length, 2)
  const other = call(1, '192.0.2.2')
  clock.advance(500)
  t.strictSame(await other(), [0], 'another address has its own bucket')
  clock.advance(9_000)
  const later = call(2)
  clock.advance(500)
  await later()
  clock.advance(500)
  t.strictSame(await later(), [0, 9], 'the own bucket refills at the same rate')
})

test('one that cannot tell, or is gone, is stood in for without a wait', async (t) => {
  for (const isGone of [false, true]) {
    const { clock, supervisor, asked, call } = limitedWorker(t)
    supervisor.isGone = isGone
    const ends: (number | 'open')[] = []
    for (let at = 0; at < 3; at++) {
      const next = call()
      if (isGone) clock.advance(0)
      else asked[at]!.answer(null)
      ends.push(...(await next()))
    }
    t.strictSame(ends, [0, 0, 10])
    t.equal(asked.length, isGone ? 0 : 3)
    t.equal(clock.monotonicMs(), 0)
    t.equal(clock.pending, 0)
  }
})

test('tokens that come late are lost, and nobody is let through twice for them', async (t) => {
  const { clock, asked, told, call } = limitedWorker(t)
  const first = call()
  clock.advance(500)
  t.strictSame(await first(), [0])
  asked[0]!.answer(grant(5))
  asked[0]!.answer(grant(5))
  const next = call(2)
  t.equal(asked.length, 2, 'the supervisor is asked again')
  // Late ones of an earlier question are not the answer to this one.
  asked[0]!.answer(grant(5))
  t.strictSame(await next(), ['open', 'open'])
  clock.advance(500)
  await next()
  clock.advance(500)
  t.strictSame(await next(), [0, 9])
  for (const { answer } of asked) answer(grant(0, 60_000))
  t.strictSame(await first(), [0])
  t.strictSame(told, [], 'and nothing is given back')
  t.equal(clock.pending, 0)
})

test('a supervisor that is back decides again, whatever the own bucket holds', async (t) => {
  const { clock, asked, call } = limitedWorker(t)
  const alone = call()
  clock.advance(500)
  t.strictSame(await alone(), [0])
  const refused = call()
  asked[1]!.answer(grant(0, 30_000))
  t.strictSame(await refused(), [30], 'though the own bucket has a token')
  clock.advance(1_000)
  const admitted = call(3)
  asked[2]!.answer(grant(1))
  asked[3]!.answer(grant(2))
  t.strictSame(await admitted(), [0, 0, 0], 'though the own bucket has only one')
  t.equal(clock.pending, 0)
})
