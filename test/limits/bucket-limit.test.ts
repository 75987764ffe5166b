/** A limit of calls by a name: what others of the same name have left, and how long who is refused is sent away. */
import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { limitByBucket } from '../../src/limits/bucket-limit.js'
import { QuotaLeases } from '../../src/limits/quota-leases.js'
import { isTokenRequest, TokenBuckets } from '../../src/limits/token-buckets.js'
import { FakeClock } from '../support/timing/fake-clock.js'

function bucketLeases(clock: FakeClock) {
  const buckets = new TokenBuckets(clock)
  return new QuotaLeases(clock, {
    acquire: (request, onReply) => onReply(isTokenRequest(request) ? buckets.take(request) : null, false),
    notify: () => {},
    makeDurable: () => true,
  })
}

/** Null for a call that came through, otherwise the seconds to wait. */
async function waitOf(admission: Promise<void> | null): Promise<number | null> {
  try {
    await admission
    return null
  } catch (error) {
    if (error instanceof Fault && error.kind === 'rate-limited') return error.retryAfter!
    throw error
  }
}

test('a name has its burst and then its rate; other names and limits have theirs', async (t) => {
  const clock = new FakeClock()
  const leases = bucketLeases(clock)
  const rate = { perSecond: 50, burst: 50, longestWait: 3 }
  const [limit, other] = [limitByBucket(leases, 'c', rate), limitByBucket(leases, 'd', rate)]
  const admitted = async (calls: number): Promise<number> => {
    const waits = await Promise.all(Array.from({ length: calls }, () => waitOf(limit('x'))))
    return waits.filter((wait) => wait === null).length
  }
  t.equal(await admitted(80), 50)
  t.equal(await waitOf(limit('x')), 1)
  t.equal(await waitOf(limit('y')), null)
  t.equal(await waitOf(other('x')), null)
  clock.advance(1_000)
  t.equal(await admitted(80), 50)
})

test('nobody is sent away for longer than the limit says', async (t) => {
  const waits = async (longestWait?: number) => {
    const limit = limitByBucket(bucketLeases(new FakeClock()), 'c', {
      perSecond: 0.01,
      burst: 1,
      ...(longestWait !== undefined && { longestWait }),
    })
    await limit('x')
    return waitOf(limit('x'))
  }
  t.equal(await waits(), 100)
  t.equal(await waits(3), 3)
})
