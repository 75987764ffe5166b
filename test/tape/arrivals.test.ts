/** Arrivals: from tapes and public traces, to traces, and as due times of a load. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'tap'
import { readStreamOptions } from '../../bench/loadlab/drivers/drive-stream-command.js'
import { ARRIVAL_FORMATS, formatArrivals, readArrivals } from '../../src/tape/arrivals.js'
import { formatStream } from '../../src/tape/tape.js'
import { makeFolder } from '../support/data/temp-folder.js'

const MOONCAKE = `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}
{"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": [46, 99]}
`
const AZURE = `TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
`

test('a Mooncake trace', async (t) => {
  t.same(readArrivals(MOONCAKE), [
    { atMs: 0, in: 6955, out: 52, blocks: [46, 47] },
    { atMs: 3053, in: 6472, out: 26, blocks: [46, 99] },
  ])
})

test('an Azure trace, of either year', async (t) => {
  const [first, second] = readArrivals(AZURE)
  t.same(first, { atMs: 0, in: 374, out: 44 })
  t.ok(Math.abs(second!.atMs - 4314.579) < 0.001)
  const later =
    'TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,1,2\n2024-05-10 00:00:01+00:00,3,4\n'
  t.match(readArrivals(later), [{ in: 1 }, { in: 3, out: 4 }])
})

test('a pace tape', async (t) => {
  const stream = { v: 1 as const, model: 'm', ttft: 10, gaps: [1], tok: [1, 2], end: 'stop' as const }
  const tape =
    formatStream({ ...stream, at: 55, in: null, out: null }) +
    formatStream({ ...stream, at: 5, in: 9, out: 7 })
  t.same(readArrivals(tape), [
    { atMs: 0, in: 9, out: 7 },
    { atMs: 5, in: 0, out: 3 },
  ])
})

test('what is written is read as it was', async (t) => {
  const arrival = fc.record({ gap: fc.nat(10_000_000), in: fc.nat(100_000), out: fc.nat(100_000) })
  fc.assert(
    fc.property(fc.array(arrival, { minLength: 1 }), fc.constantFrom(...ARRIVAL_FORMATS), (gaps, format) => {
      let ticks = 0
      const arrivals = gaps.map(({ gap, ...lengths }, at) => ({
        atMs: (at === 0 ? 0 : (ticks += gap)) / 10_000,
        ...lengths,
      }))
      const read = readArrivals(formatArrivals(arrivals, format))
      // A day in milliseconds leaves a double less than a tenth of a microsecond.
      return read.every(
        ({ atMs, in: asked, out }, at) =>
          Math.abs(atMs - arrivals[at]!.atMs) < 1e-3 &&
          asked === arrivals[at]!.in &&
          out === arrivals[at]!.out,
      )
    }),
  )
  t.end()
})

for (const [why, text] of [
  ['nothing at all', ''],
  ['other columns', 'a,b,c\n1,2,3\n'],
  ['a time that is none', 'TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,2\n'],
  ['a count that is none', 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,-2\n'],
  ['a line without a length', '{"timestamp": 1, "input_length": 2}\n'],
  ['a line that is no JSON', '{"timestamp": 1, "input_length": 2, "output_length": 3}\n{\n'],
] as const) {
  test(`a file with ${why} is refused`, async (t) => {
    t.throws(() => readArrivals(text), { message: /line \d|nothing arrives/ })
  })
}

for (const speed of [1, 5, 20]) {
  test(`a load is due when the file says, at ${speed} times its speed, to the end`, async (t) => {
    const file = join(makeFolder(), 'trace.jsonl')
    const times = [0, 10, 10, 500.5, 60_000]
    const arrivals = times.map((atMs, at) => ({ atMs, in: 3, out: at + 1 }))
    writeFileSync(file, formatArrivals(arrivals, 'mooncake'))
    const given = [
      '--url',
      'http://127.0.0.1:1/',
      '--model',
      'm',
      '--arrivals',
      file,
      '--speed',
      String(speed),
    ]
    const { plan } = readStreamOptions(given)!
    t.same(
      times.map(() => plan.schedule!.next()),
      times.map((ms) => ms / speed),
    )
    t.equal(plan.schedule!.next(), Number.POSITIVE_INFINITY)
    t.match(
      plan.request(4).toString(),
      /"max_tokens":5,"messages":\[\{"role":"user","content":"4 star star"\}\]/,
    )
  })
}
