/** contract/practice 4, `POST /hash`. */
import { pbkdf2Sync } from 'node:crypto'
import { test } from 'tap'
import { practiceServer } from '../../support/servers/practice-server.js'

const SALT = 'päpper 🧂'
const { client } = await practiceServer({}, 16)

interface Hash {
  readonly hash: string
  readonly rounds: number
  readonly elapsed_ms: number
}

function derived(data: string, rounds: number, salt = 'load-test'): string {
  return pbkdf2Sync(data, salt, rounds, 32, 'sha256').toString('hex')
}

const TEXTS = [
  '',
  'a',
  'password',
  'é',
  'e\u0301',
  '😀',
  '👨‍👩‍👧‍👦',
  '\u0000',
  'a\u0000b',
  '"\\\n\u2028',
  '{"data":"x"}',
  ' padded ',
  'x'.repeat(64), // the block size of SHA-256
  'x'.repeat(65),
  'x'.repeat(1000),
  '😀'.repeat(1000),
]
const ROUNDS = [1, 2, 3, 100, 1000, 9999]

test('the hash is PBKDF2-HMAC-SHA-256 over the UTF-8 bytes of the data', async (t) => {
  for (const data of TEXTS) {
    for (const rounds of ROUNDS) {
      const reply = await client.write('POST', '/api/v1/hash', { data, rounds })
      const { hash } = reply.json as Hash
      t.equal(hash, derived(data, rounds), `${rounds} rounds of ${Buffer.byteLength(data)} bytes`)
    }
  }
})

test('the bounds of the rounds are served as well', async (t) => {
  const reply = await client.write('POST', '/api/v1/hash', { data: '😀', rounds: 200_000 })
  t.equal((reply.json as Hash).hash, derived('😀', 200_000))
})

test('without rounds there are 10000', async (t) => {
  const { hash, rounds } = (await client.write('POST', '/api/v1/hash', { data: 'x' })).json as Hash
  t.equal(rounds, 10_000)
  t.equal(hash, derived('x', 10_000))
})

test('the answer has exactly these keys in this order, and lower-case hex', async (t) => {
  const reply = await client.write('POST', '/api/v1/hash', { rounds: 2, data: 'x' })
  t.equal(reply.status, 200)
  t.strictSame(Object.keys(reply.json as Hash), ['hash', 'rounds', 'elapsed_ms'])
  t.match((reply.json as Hash).hash, /^[0-9a-f]{64}$/)
})

test('Server-Timing names the queue and the derivation, and elapsed_ms is the derivation alone', async (t) => {
  for (const rounds of [1, 1000, 100_000]) {
    const begun = performance.now()
    const reply = await client.write('POST', '/api/v1/hash', { data: 'x', rounds })
    const took = performance.now() - begun
    const timing = /^queue;dur=(\d+(?:\.\d+)?), pbkdf2;dur=(\d+(?:\.\d+)?)$/.exec(
      String(reply.headers['server-timing']),
    )
    t.ok(timing, String(reply.headers['server-timing']))
    const { elapsed_ms } = reply.json as Hash
    t.equal(Number(timing?.[2]).toFixed(3), elapsed_ms.toFixed(3), 'pbkdf2 is elapsed_ms')
    t.ok(elapsed_ms > 0, 'time has passed')
    t.ok(Number(timing?.[1]) + elapsed_ms <= took, 'the parts fit into the whole')
  }
})

test('time spent waiting for a thread counts as queue, not as elapsed', async (t) => {
  const { client: near } = await practiceServer({ env: { SLUICE_WORKERS: '1' } }, 8, t)
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => near.write('POST', '/api/v1/hash', { data: 'x', rounds: 100_000 })),
  )
  const queues = replies.map(({ headers }) =>
    Number(/queue;dur=([\d.]+)/.exec(String(headers['server-timing']))?.[1]),
  )
  const elapsed = replies.map(({ json }) => (json as Hash).elapsed_ms)
  const longest = Math.max(...queues)
  const others = elapsed.reduce((sum, ms) => sum + ms, 0) - Math.max(...elapsed)
  t.ok(
    longest > others / 8,
    `the last waits for several others: ${queues.join()} ms, of ${elapsed.join()} ms`,
  )
  t.ok(longest < others * 3 + 5_000, `but not much longer than they take: ${longest} ms for ${others} ms`)
})

test('the salt can be set', async (t) => {
  const env = { SLUICE_HASH_SALT: SALT, SLUICE_WORKERS: '1' }
  const { client: near } = await practiceServer({ env }, 1, t)
  const { hash } = (await near.write('POST', '/api/v1/hash', { data: 'x', rounds: 7 })).json as Hash
  t.equal(hash, derived('x', 7, SALT))
})

test('many hashes at once are each their own', async (t) => {
  const jobs = Array.from({ length: 200 }, (_, i) => ({ data: `data ${i}`, rounds: 1 + (i % 50) }))
  const replies = await Promise.all(jobs.map((job) => client.write('POST', '/api/v1/hash', job)))
  for (const [i, reply] of replies.entries()) {
    const { data, rounds } = jobs[i]!
    const { hash, rounds: said } = reply.json as Hash
    t.strictSame({ hash, said }, { hash: derived(data, rounds), said: rounds })
  }
})
