/** contract/decisions 36: exchanges per client address, counted by all workers together. */
import tap, { test } from 'tap'
import { FederationServer, type Form } from '../../support/servers/federation-server.js'

const RATE_PER_S = 10
const BURST = 100
/** Both workers, and callers behind a proxy that says who they are. */
const bench = await FederationServer.start(tap, {
  SLUICE_WORKERS: '2',
  SLUICE_EXCHANGES_PER_MINUTE: String(RATE_PER_S * 60),
  SLUICE_EXCHANGE_BURST: String(BURST),
  SLUICE_TRUSTED_PROXIES: '127.0.0.1',
})
const { policy } = await bench.trusting()
const form = bench.form(policy.id)

interface Burst {
  readonly admitted: number
  readonly refused: number
  /** What burst and rate allow in the time it took, and two for what was in hand before. */
  readonly most: number
}

/** So many requests at once, each from the address that `address` says. */
async function burst(
  address: (n: number) => string,
  count: number,
  body: Form | string = form,
): Promise<Burst> {
  const began = performance.now()
  const all = await Promise.all(
    Array.from({ length: count }, (_, n) => bench.post(body, { 'X-Forwarded-For': address(n) })),
  )
  const refused = all.filter(({ status }) => status === 429).length
  const seconds = (performance.now() - began) / 1000
  return { admitted: count - refused, refused, most: BURST + RATE_PER_S * seconds + 2 }
}

/**
 * A worker whose supervisor is kept from its core for half a second counts by itself, and lets a burst of its own through:
 * then once more, from other addresses. Were the count not shared, no burst would be within what one gets.
 */
async function sharedBurst(
  address: (again: number, n: number) => string,
  body: Form | string = form,
): Promise<Burst> {
  for (let again = 0; ; again++) {
    const seen = await burst((n) => address(again, n), 300, body)
    if (seen.admitted <= seen.most || again === 4) return seen
  }
}

test('an address gets its burst and its rate from two workers as from one, within a few percent', async (t) => {
  for (const address of [1, 2, 3]) {
    const { admitted, refused, most } = await sharedBurst((again) => `192.0.2.${address + 10 * again}`)
    t.ok(refused > 0)
    t.ok(admitted <= most, `${admitted} of at most ${most.toFixed(1)}`)
    t.ok(admitted >= BURST * 0.95, `${admitted} of at least ${BURST} but 5 %`)
  }
})

test('beyond it: 429 with the seconds to wait, in the words of the endpoint, whatever the form says', async (t) => {
  await burst(() => '198.51.100.7', BURST + 50)
  const again = { 'X-Forwarded-For': '198.51.100.7' }
  // A few tokens may have come meanwhile, more of them where the machine is busy.
  const answers = await Promise.all(Array.from({ length: BURST + 50 }, () => bench.post('', again)))
  const answer = answers.find(({ status }) => status === 429) ?? answers[0]!
  t.equal(answer.status, 429)
  t.strictSame(answer.json, { error: 'invalid_request', error_description: 'Too many requests' })
  t.equal(answer.headers.get('retry-after'), '1')
  t.equal(answer.headers.get('cache-control'), 'no-store')
  t.equal((await bench.post(`x=${'a'.repeat(40_000)}`, again)).status, 413, 'the size is judged before')
  t.equal(
    (await bench.post(form, { 'X-Forwarded-For': '198.51.100.8' })).status,
    200,
    'others are not concerned',
  )
})

test('a subscriber of IPv6 is one address, however many it has', async (t) => {
  const { admitted, most } = await sharedBurst((again, n) => `2001:db8:1:${again}2::${n.toString(16)}`)
  t.ok(admitted <= most, `${admitted} of at most ${most.toFixed(1)}`)
  t.equal((await bench.post(form, { 'X-Forwarded-For': '2001:db8:1:3::1' })).status, 200)
})

test('a malformed request counts like any other', async (t) => {
  const { admitted, most } = await sharedBurst((again) => `203.0.113.${9 + again}`, 'x=1')
  t.ok(admitted <= most && admitted >= BURST * 0.95, `${admitted} of at most ${most.toFixed(1)}`)
})
