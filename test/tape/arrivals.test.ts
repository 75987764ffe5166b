/** Arrivals: from tapes and public traces, to traces, and as due times of a load. */
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'tap'
import { readStreamOptions } from '../../bench/loadlab/drivers/drive-stream-command.js'
import { tapeCommand } from '../../src/cli/tape.js'
import { ARRIVAL_FORMATS, formatArrivals, isCounted, readArrivals } from '../../src/tape/arrivals.js'
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

const stream = { v: 1 as const, model: 'm', ttft: 10, gaps: [1], tok: [1, 2], end: 'stop' as const }
const LEFT = { ...stream, in: null, out: null, ttft: null, gaps: [], tok: [], end: 'left' as const }

test('a pace tape', async (t) => {
  const tape =
    formatStream({ ...stream, at: 55, in: null, out: null }) +
    formatStream({ ...stream, at: 5, in: 9, out: 7 })
  t.same(readArrivals(tape), [
    { atMs: 0, in: 9, out: 7, taped: { model: 'm', stream: 2, tokens: 3, isLeftEmpty: false } },
    { atMs: 5, in: null, out: 3, taped: { model: 'm', stream: 1, tokens: 3, isLeftEmpty: false } },
  ])
})

test('an Azure trace is told again to the tick, over a week and a day in which it begins late', async (t) => {
  const ticks = [0, 1, 3_333_333, 9_999_999, 10_000_000, 6_048_000_000_001, 6_048_000_000_002]
  const begin = Date.parse('2024-05-10T23:59:59Z')
  const line = (tick: number): string => {
    // The first is at .4444443: a second does not begin with it.
    const since = tick + 4_444_443
    const second = new Date(begin + Math.floor(since / 10_000_000) * 1000).toISOString().slice(0, 19)
    return `${second.replace('T', ' ')}.${String(since % 10_000_000).padStart(7, '0')},3,4`
  }
  const trace = `TIMESTAMP,ContextTokens,GeneratedTokens\n${ticks.map(line).join('\n')}\n`
  const read = readArrivals(trace)
  t.same(
    read.map(({ atMs }) => atMs),
    ticks.map((tick) => tick / 10_000),
  )
  const again = readArrivals(formatArrivals(read.filter(isCounted), 'azure'))
  t.same(again, read)
  t.same(
    readArrivals(formatArrivals(read.filter(isCounted), 'mooncake')).map(({ atMs }) => atMs),
    read.map(({ atMs }) => atMs),
  )
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
      return read.every(
        ({ atMs, in: asked, out }, at) =>
          atMs === arrivals[at]!.atMs && asked === arrivals[at]!.in && out === arrivals[at]!.out,
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

const played = (file: string, ...more: string[]) =>
  readStreamOptions(['--url', 'http://127.0.0.1:1/', '--arrivals', file, ...more])!

function tapeFile(...streams: object[]): string {
  const file = join(makeFolder(), 'some.ndjson')
  writeFileSync(file, streams.map((each, at) => formatStream({ ...stream, at, ...each } as never)).join(''))
  return file
}

test('a model that replays the tape is asked for the stream of each call, with room for all its tokens', async (t) => {
  const file = tapeFile({ in: 4, out: 1 }, LEFT, { in: null, out: null, tok: [5, 6] })
  const { plan, leftOut } = played(file, '--model', 'sim/tape:monday')
  t.equal(leftOut, 1, 'nothing came of it')
  const requests = [0, 1].map((index) => plan.request(index).toString())
  t.match(requests[0], /X-Service-Simulate: tape_stream=1\r\n/)
  t.match(requests[0], /"max_tokens":3,"messages":\[\{"role":"user","content":"0 star star star"/)
  t.match(requests[1], /X-Service-Simulate: tape_stream=3\r\n/)
  t.match(requests[1], /"max_tokens":11,/)
  t.same(
    [plan.schedule!.next(), plan.schedule!.next(), plan.schedule!.next()],
    [0, 0.2, Number.POSITIVE_INFINITY],
  )
})

test('any other model is asked for an answer of the length, whatever became of the call', async (t) => {
  const { plan, leftOut } = played(tapeFile({ in: 4, out: 7 }, LEFT), '--model', 'sim/instant')
  t.equal(leftOut, 0)
  const request = plan.request(0).toString()
  t.match(request, /"max_tokens":7,/)
  t.notMatch(request, /X-Service-Simulate/)
})

test('the calls of each model of a tape are asked of the model that stands for it', async (t) => {
  const file = tapeFile({ model: 'acme/large', in: 1, out: 1 }, { model: 'acme/small', in: 1, out: 1 })
  const modelOf = (plan: ReturnType<typeof played>['plan'], index: number) =>
    /"model":"([^"]*)"/.exec(plan.request(index).toString())![1]
  const both = played(file, '--model', 'acme/large=sim/a', '--model', 'acme/small=sim/b').plan
  t.same([modelOf(both, 0), modelOf(both, 1)], ['sim/a', 'sim/b'])
  const rest = played(file, '--model', 'acme/large=sim/a', '--model', 'sim/c').plan
  t.same([modelOf(rest, 0), modelOf(rest, 1)], ['sim/a', 'sim/c'])
  for (const [models, told] of [
    [['acme/large=sim/a'], /nothing is said of acme\/small/],
    [['sim/a', 'acme/huge=sim/b'], /has no call of acme\/huge/],
    [['sim/a', 'sim/b'], /once for all calls/],
  ] as const)
    t.throws(() => played(file, ...models.flatMap((each) => ['--model', each])), { message: told })
})

async function tape(...args: string[]) {
  const told = { 1: '', 2: '' }
  const code = await tapeCommand(args, (fd, text) => (told[fd] += text))
  return { code, out: told[1], err: told[2] }
}

test('calls whose question nobody has counted are left out of a trace, and counted', async (t) => {
  const file = tapeFile(
    { in: null, out: null, tok: [], gaps: [], ttft: null, end: 'refused' },
    { in: 9, out: 3 },
  )
  const { code, out, err } = await tape('arrivals', file, '--as', 'mooncake')
  t.equal(code, 0)
  t.same(JSON.parse(out), { timestamp: 0.1, input_length: 9, output_length: 3, hash_ids: [] })
  t.match(err, /^sluice: 1 of 2 calls left out: /)
})

test('an option that is of the other word is refused by name', async (t) => {
  const file = tapeFile({ in: 1, out: 3 })
  t.match(await tape('arrivals', file, '--as', 'azure', '--json'), {
    code: 2,
    out: '',
    err: /--json is for fit/,
  })
  t.match(await tape('fit', file, file, '--as', 'azure'), { code: 2, out: '', err: /--as is for arrivals/ })
  t.match(await tape('fit', file, file), { code: 0, err: '' })
})

test('a file that is too large is refused before it is read', async (t) => {
  const file = join(makeFolder(), 'large')
  writeFileSync(file, '')
  truncateSync(file, 256 * 1024 * 1024 + 1)
  t.match(await tape('arrivals', file, '--as', 'azure'), { code: 1, err: /more than 256 MiB/ })
  t.match(await tape('fit', file, file), { code: 1, err: /more than 64 MiB/ })
  t.match(await tape('arrivals', makeFolder(), '--as', 'azure'), { code: 1, err: /it is no file/ })
})
