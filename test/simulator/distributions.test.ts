import { test } from 'tap'
import { z } from 'zod'
import { behaviourSchema, FAULT_KINDS } from '../../src/simulator/behaviour.js'
import { compileDistribution, type Distribution } from '../../src/simulator/distribution.js'
import { SeededRandom } from '../../src/simulator/random.js'

const DRAWS = 200_000

function quantiles(distribution: Distribution, at: readonly number[]): number[] {
  const random = new SeededRandom({ low: 1, high: 2 }, 3)
  const { draw } = compileDistribution(distribution)
  const values = Float64Array.from({ length: DRAWS }, () => draw(random)).sort()
  return at.map((q) => values[Math.floor(q * DRAWS)]!)
}

/** Values by their quantiles, according to theory. */
const THEORY: readonly [string, Distribution, Readonly<Record<number, number>>][] = [
  ['constant', { constant: 20 }, { 0.001: 20, 0.999: 20 }],
  ['uniform', { uniform: [10, 30] }, { 0.1: 12, 0.5: 20, 0.9: 28 }],
  ['normal', { normal: { mean: 100, deviation: 10 } }, { 0.1587: 90, 0.5: 100, 0.8413: 110, 0.9772: 120 }],
  // A half normal: the median of |z| is 0.6745, its 95th percentile 1.96.
  ['normal, truncated at its mean', { normal: { mean: 0, deviation: 1 } }, { 0.5: 0.6745, 0.95: 1.96 }],
  ['log_normal', { log_normal: { median: 300, p99: 1200 } }, { 0.5: 300, 0.99: 1200, 0.01: 75 }],
  [
    'exponential',
    { exponential: { mean: 50 } },
    { 0.5: 50 * Math.LN2, 0.9: 50 * Math.log(10), 0.99: 50 * Math.log(100) },
  ],
]

for (const [name, distribution, expected] of THEORY) {
  test(`the quantiles of ${name} are those of theory, within 3 percent`, async (t) => {
    const at = Object.keys(expected).map(Number)
    for (const [i, value] of quantiles(distribution, at).entries()) {
      const theory = expected[at[i]!]!
      t.ok(Math.abs(value - theory) <= 0.03 * theory, `p${at[i]! * 100}: ${value} against ${theory}`)
    }
  })
}

test('no draw is negative or infinite, whatever the distribution', async (t) => {
  for (const [name, distribution] of THEORY) {
    const [least, most] = quantiles(distribution, [0, 1 - 1 / DRAWS])
    t.ok(least! >= 0 && Number.isFinite(most!), name)
  }
})

test('equal seeds draw equal sequences, other seeds and lanes others', async (t) => {
  const sequence = (low: number, lane: number) => {
    const random = new SeededRandom({ low, high: 9 }, lane)
    return Array.from({ length: 32 }, () => random.nextBits())
  }
  t.strictSame(sequence(1, 0), sequence(1, 0))
  t.notSame(sequence(1, 0), sequence(2, 0))
  t.notSame(sequence(1, 0), sequence(1, 1))
})

const REFUSED: readonly [string, unknown][] = [
  ['an unknown member', { speed: 3 }],
  ['a distribution of two kinds', { gap_ms: { constant: 1, uniform: [1, 2] } }],
  ['an unknown distribution', { gap_ms: { pareto: 1 } }],
  ['bounds in the wrong order', { gap_ms: { uniform: [3, 2] } }],
  ['a negative time', { first_token_ms: { constant: -1 } }],
  ['a median of nothing', { gap_ms: { log_normal: { median: 0, p99: 1 } } }],
  ['a p99 below its median', { gap_ms: { log_normal: { median: 2, p99: 1 } } }],
  ['an unknown fault', { fault: { kind: 'earthquake' } }],
  ['a parameter of another fault', { fault: { kind: 'error', after: 3 } }],
  ['a Retry-After of nothing', { fault: { kind: 'rate-limited', retry_after: 0 } }],
  ['another word than request', { tokens: 'many' }],
]

for (const [what, behaviour] of REFUSED) {
  test(`a behaviour with ${what} is refused`, async (t) => {
    t.notOk(behaviourSchema.safeParse(behaviour).success)
  })
}

test('the schema of a behaviour can be published, with every member and every fault', async (t) => {
  const published = JSON.stringify(z.toJSONSchema(behaviourSchema, { io: 'input' }))
  for (const name of Object.keys(behaviourSchema.shape)) t.ok(published.includes(`"${name}"`), name)
  for (const kind of FAULT_KINDS) t.ok(published.includes(`"${kind}"`), kind)
})
