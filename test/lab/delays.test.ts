import { test } from 'tap'
import { uniformDelays } from '../../src/features/report/delays.js'
import { type DelayShape, parseDelayShape } from '../../src/lab/delay-shape.js'
import { createDelaySource } from '../../src/lab/delays.js'

function drawDelays(shape: DelayShape, count: number, worker = 0): number[] {
  const source = createDelaySource(shape, worker, uniformDelays)
  return Array.from({ length: count }, () => source.next()).sort((a, b) => a - b)
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.ceil(q * sorted.length) - 1]!
}

const QUANTILES = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999]

for (const seed of [0, 1, 7, 4_294_967_295]) {
  test(`quasi-random delays of seed ${seed} have every percentile within 2 ms of theory after 2,000`, async (t) => {
    for (const worker of [0, 1, 5]) {
      const delays = drawDelays({ shape: 'quasi', seed }, 2_000, worker)
      for (const q of QUANTILES) {
        const off = Math.abs(quantile(delays, q) - (100 + 400 * q))
        t.ok(off < 2, `worker ${worker}, p${q * 100}: ${off.toFixed(2)} ms off`)
      }
      const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
      t.ok(Math.abs(mean - 300) < 0.5, `mean ${mean}`)
      t.ok(delays[0]! >= 100 && delays.at(-1)! < 500)
    }
  })
}

test('two workers together are as even as one', async (t) => {
  const both = [
    ...drawDelays({ shape: 'quasi', seed: 3 }, 1_000, 0),
    ...drawDelays({ shape: 'quasi', seed: 3 }, 1_000, 1),
  ]
  both.sort((a, b) => a - b)
  for (const q of QUANTILES) t.ok(Math.abs(quantile(both, q) - (100 + 400 * q)) < 2, `p${q * 100}`)
})

test('the default draws what the public API has always drawn', async (t) => {
  const old = uniformDelays(17)
  const source = createDelaySource({ shape: 'random', seed: 15 }, 2, uniformDelays)
  for (let i = 0; i < 5; i++) t.equal(source.next(), old())
})

test('a log-normal shape has its median and its 99th percentile', async (t) => {
  const delays = drawDelays({ shape: 'log-normal', medianMs: 300, p99Ms: 900, seed: 1 }, 50_000)
  t.ok(Math.abs(quantile(delays, 0.5) / 300 - 1) < 0.02, `${quantile(delays, 0.5)}`)
  t.ok(Math.abs(quantile(delays, 0.99) / 900 - 1) < 0.04, `${quantile(delays, 0.99)}`)
})

test('a bimodal shape has two values in their proportion', async (t) => {
  const delays = drawDelays({ shape: 'bimodal', fastMs: 10, slowMs: 2_000, slowShare: 0.05, seed: 1 }, 20_000)
  t.same(new Set(delays), new Set([10, 2_000]))
  t.ok(Math.abs(delays.filter((ms) => ms === 2_000).length / 20_000 - 0.05) < 0.005)
})

test('uniform and constant shapes keep their bounds', async (t) => {
  const delays = drawDelays({ shape: 'uniform', fromMs: 50, toMs: 150, seed: 1 }, 10_000)
  t.ok(delays[0]! >= 50 && delays.at(-1)! <= 150 && Math.abs(quantile(delays, 0.5) - 100) < 3)
  t.same(new Set(drawDelays({ shape: 'constant', ms: 7 }, 10)), new Set([7]))
})

test('the same seed repeats a sequence, and every worker has its own', async (t) => {
  const shape: DelayShape = { shape: 'uniform', fromMs: 0, toMs: 1, seed: 9 }
  t.same(drawDelays(shape, 50, 1), drawDelays(shape, 50, 1))
  t.notSame(drawDelays(shape, 50, 1), drawDelays(shape, 50, 2))
})

test('a load-dependent delay grows with the reports under way and shrinks again', async (t) => {
  const source = createDelaySource({ shape: 'load', baseMs: 50, perCallMs: 2 }, 0, uniformDelays)
  t.same([source.next(), source.next(), source.next()], [50, 52, 54])
  source.onCallEnded()
  source.onCallEnded()
  t.equal(source.next(), 52)
  for (let i = 0; i < 9; i++) source.onCallEnded()
  t.equal(source.next(), 50, 'never less than the base')
})

const WORDS: readonly (readonly [string, DelayShape | null])[] = [
  ['random', { shape: 'random', seed: 4 }],
  ['quasi', { shape: 'quasi', seed: 4 }],
  ['constant 200', { shape: 'constant', ms: 200 }],
  [' uniform  50 150.5 ', { shape: 'uniform', fromMs: 50, toMs: 150.5, seed: 4 }],
  ['log-normal 300 900', { shape: 'log-normal', medianMs: 300, p99Ms: 900, seed: 4 }],
  ['bimodal 100 2000 0.05', { shape: 'bimodal', fastMs: 100, slowMs: 2000, slowShare: 0.05, seed: 4 }],
  ['load 50 2', { shape: 'load', baseMs: 50, perCallMs: 2 }],
  ['', null],
  ['poisson', null],
  ['constant', null],
  ['constant -1', null],
  ['constant 1e9', null],
  ['constant 600001', null],
  ['uniform 2 1', null],
  ['log-normal 0 1', null],
  ['bimodal 1 2 1.5', null],
  ['random 3', null],
]

test('a shape can be said in words', async (t) => {
  for (const [words, shape] of WORDS) t.same(parseDelayShape(words, 4), shape, words)
})
