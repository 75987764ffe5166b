/** Limits by client address: token buckets that all processes share. */

import { test } from 'tap'
import { addressBucket } from '../../src/base/caller-address.js'
import { Fault } from '../../src/base/fault.js'
import { limitByAddress } from '../../src/limits/address-limit.js'
import type { QuotaGrant } from '../../src/limits/quota.js'
import { QuotaLeases } from '../../src/limits/quota-leases.js'
import { QuotaServer } from '../../src/limits/quota-server.js'
import { TokenBuckets } from '../../src/limits/token-buckets.js'
import { MACHINES, quotaProcesses } from '../support/models/quota-processes.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const RATE = { perMinute: 600, burst: 100 }

/** Buckets of one rate. */
function buckets(clock: FakeClock, { perMinute, burst } = RATE) {
  const kept = new TokenBuckets(clock)
  const acquire = (name: string, wanted: number): QuotaGrant =>
    kept.take({ name, capacity: burst, windowMs: 0, refillPerMs: perMinute / 60_000, wanted })
  return { kept, acquire }
}

/** A limit whose questions to the server wait for the test. */
function heldLimit(clock = new FakeClock()) {
  const asked: {
    readonly name: string
    readonly wanted: number
    answer(granted: number, resetInMs?: number): void
  }[] = []
  const leases = new QuotaLeases(clock, {
    acquire: ({ name, wanted }, onReply) =>
      void asked.push({
        name,
        wanted,
        answer: (granted, resetInMs = 100) => onReply({ granted, epoch: 0, resetInMs }, false),
      }),
    notify: () => {},
    makeDurable: () => true,
  })
  return { admit: limitByAddress(leases, RATE), asked }
}

/** Whether a call came through; the seconds to wait when it did not. */
async function outcome(admission: Promise<void> | null): Promise<'admitted' | number> {
  try {
    await admission
    return 'admitted'
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'rate-limited') throw error
    return error.retryAfter!
  }
}

test('a bucket gives its burst, then its rate', async (t) => {
  const clock = new FakeClock()
  const { acquire } = buckets(clock)
  t.match(acquire('a', 100), { granted: 100 })
  t.match(acquire('a', 1), { granted: 0, resetInMs: 100 })
  clock.advance(50)
  t.match(acquire('a', 1), { granted: 0, resetInMs: 50 })
  clock.advance(50)
  t.match(acquire('a', 1), { granted: 1 })
  clock.advance(60_000)
  t.match(acquire('a', 1_000), { granted: 100 }, 'never more than the burst')
  t.match(acquire('b', 100), { granted: 100 }, 'names do not share')
})

test('a small request gets some in advance, the fewer the less there are', async (t) => {
  const { acquire } = buckets(new FakeClock())
  t.match(acquire('a', 1), { granted: 1 + 3 })
  acquire('a', 70)
  t.match(acquire('a', 1), { granted: 1 })
})

test('what is asked beyond what there is gives what there is, and says for how long that was all', async (t) => {
  const { acquire } = buckets(new FakeClock(), { perMinute: 60, burst: 3 })
  t.match(acquire('a', 5), { granted: 3, resetInMs: 1_000 })
})

test('all that is ever granted stays within burst and rate', async (t) => {
  const clock = new FakeClock()
  const { acquire } = buckets(clock)
  let granted = 0
  for (let ms = 0; ms < 10_000; ms += 7) {
    clock.advance(7)
    granted += acquire('a', 1 + (ms % 5)).granted
    t.ok(granted <= 100 + ((ms + 7) * 600) / 60_000 + 1e-6)
  }
  t.ok(granted >= 198, `${granted}`)
})

test('buckets are bounded: the one used longest ago goes', async (t) => {
  const { kept, acquire } = buckets(new FakeClock())
  acquire('first', 100)
  acquire('second', 100)
  acquire('first', 1)
  for (let n = 0; n < 99_999; n++) acquire(`n${n}`, 1)
  t.equal(kept.size, 100_000)
  t.match(acquire('first', 1), { granted: 0 })
  t.match(acquire('second', 100), { granted: 100 })
})

test('a flood of addresses evicts no quota, and very many quotas evict no bucket', async (t) => {
  const loaded: string[] = []
  const load = (name: string, done: (spent: number) => void): void => {
    loaded.push(name)
    done(0)
  }
  const server = new QuotaServer({ clock: new FakeClock(), load, revoke: () => {} })
  const acquire = (name: string, refillPerMs?: number): number | undefined => {
    const rate = refillPerMs === undefined ? {} : { refillPerMs }
    let granted: number | undefined
    server.acquire('a', { name, capacity: 1, windowMs: 0, wanted: 1, ...rate }, (grant) => {
      granted = grant?.granted
    })
    return granted
  }
  t.equal(acquire('$organization never'), 1)
  // By what the ledger has seen spent the account is idle, though a lagging message may still change it.
  server.recordSpending('a', '$organization never', 1, true)
  t.equal(acquire('a192.0.2.1', 0.01), 1)
  for (let n = 0; n < 60_000; n++) acquire(`a${n}`, 0.01)
  t.equal(acquire('$organization never'), 0)
  t.strictSame(loaded, ['$organization never'])
  t.equal(server.size, 1)
  for (let n = 0; n < 60_000; n++) acquire(`c${n}`)
  t.equal(acquire('a192.0.2.1', 0.01), 0)
})

test('calls that come while the server is asked are one question', async (t) => {
  const { admit, asked } = heldLimit()
  const calls = Array.from({ length: 5 }, () => outcome(admit('a')))
  t.strictSame(
    asked.map(({ wanted }) => wanted),
    [1],
  )
  asked[0]!.answer(2)
  t.equal(await calls[0], 'admitted')
  t.equal(asked[1]?.wanted, 3, 'one of four goes with what was granted in advance')
  asked[1]!.answer(1, 2_500)
  t.strictSame(await Promise.all(calls.slice(1)), ['admitted', 'admitted', 3, 3])
})

test('tokens in hand let calls through at once, for a tenth of a second', async (t) => {
  const clock = new FakeClock()
  const { admit, asked } = heldLimit(clock)
  const first = outcome(admit('a'))
  asked[0]!.answer(4)
  t.equal(await first, 'admitted')
  t.equal(admit('a'), null)
  clock.advance(99)
  t.equal(admit('a'), null)
  clock.advance(1)
  t.not(admit('a'), null, 'the last one has gone stale')
  t.equal(asked.length, 2)
})

test('an empty bucket is not asked again before it can have a token, of a slow one after a second', async (t) => {
  for (const [emptyForMs, retryAfter, silenceMs] of [
    [800, 1, 800],
    [60_000, 60, 1_000],
  ] as const) {
    const clock = new FakeClock()
    const { admit, asked } = heldLimit(clock)
    const first = outcome(admit('a'))
    asked[0]!.answer(0, emptyForMs)
    t.equal(await first, retryAfter)
    clock.advance(silenceMs - 1)
    t.equal(await outcome(admit('a')), retryAfter)
    t.equal(asked.length, 1)
    void outcome(admit('b'))
    t.equal(asked.length, 2, 'another address is another bucket')
    clock.advance(1)
    void outcome(admit('a'))
    t.equal(asked.length, 3)
  }
})

for (const machines of MACHINES) {
  const where = machines === 1 ? '' : `, on ${machines} machines`

  test(`several processes stay within the rate together, whichever of them the calls meet${where}`, async (t) => {
    const clock = new FakeClock()
    const limits = quotaProcesses(clock, 2, machines).processes.map((leases) => limitByAddress(leases, RATE))
    const calls = Array.from({ length: 400 }, (_, n) => outcome(limits[n % 7 === 0 ? 1 : 0]!('a')))
    const admitted = (await Promise.all(calls)).filter((each) => each === 'admitted').length
    t.ok(admitted <= 100 && admitted >= 97, `${admitted}`)
    let later = 0
    for (let ms = 0; ms < 20_000; ms += 20) {
      clock.advance(20)
      if ((await outcome(limits[ms % 3 === 0 ? 1 : 0]!('a'))) === 'admitted') later++
    }
    t.ok(later <= 201 && later >= 190, `${later} in 20 s`)
  })
}

test('IPv4 by address, IPv6 by its first 64 bits however it is written', async (t) => {
  for (const [address, bucket] of [
    ['192.0.2.1', '192.0.2.1'],
    ['', ''],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['1:2:3::5:6:7:8', '1:2:3:0::/64'],
    ['1::4:5:6:192.0.2.1', '1:0:0:4::/64'],
  ] as const) {
    t.equal(addressBucket(address), bucket, address)
  }
})
