import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { test } from 'tap'
import { findTool, TOOLS } from '../../bench/loadlab/tools/catalogue.js'
import { driveStream, parseDriveStream } from '../../bench/loadlab/tools/own-drivers.js'
import {
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  UnreadableOutput,
} from '../../bench/loadlab/tools/tool.js'

const FOLDER = new URL('../../../test/bench/lab-tools/', import.meta.url)

const EMPTY: ToolOutput = { stdout: '', stderr: '', file: () => null }

/** What a fixture file holds: a first line that says where it comes from, then sections. */
function sectionsOf(file: string): ReadonlyMap<string, string> {
  const [, ...sections] = readFileSync(new URL(file, FOLDER), 'utf8').split(/^=== /m)
  const parts = sections.map((section) => /^(.*)\n([\s\S]*)$/.exec(section)!)
  return new Map(parts.map(([, title = '', text = '']) => [title, text]))
}

/** Outputs, each with a variant that reads it and what it shall read. */
const GOLDEN = readdirSync(FOLDER).flatMap((file) => {
  const sections = sectionsOf(file)
  const output: ToolOutput = {
    stdout: sections.get('stdout') ?? '',
    stderr: sections.get('stderr') ?? '',
    file: (name) => sections.get(`file ${name}`) ?? null,
  }
  return [...sections]
    .filter(([title]) => title.startsWith('figures of '))
    .map(([title, says]) => ({
      name: title.slice('figures of '.length),
      output,
      says: JSON.parse(says) as Partial<ToolFigures>,
    }))
})

const JOB: ToolJob = {
  url: new URL('http://127.0.0.1:8080/api/v1/health?x=1'),
  connections: 20,
  seconds: 8,
  rate: 200,
  timeoutS: 60,
  seed: 1,
  folder: '/folder',
}

const variants = TOOLS.flatMap(({ variants }) => variants)
const variant = (name: string) => variants.find((one) => one.name === name)!

/** Numbers that come from a multiplication are compared to nine digits. */
const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, each) =>
    typeof each === 'number' ? Number(each.toPrecision(9)) : each,
  )

const outputOf = (name: string) => GOLDEN.find((one) => one.name === name)!.output

for (const { name, output, says } of GOLDEN) {
  test(`the output of ${name} is read as it is meant`, async (t) => {
    const figures = variant(name).parse(output, JOB)
    const told = Object.fromEntries(Object.keys(says).map((key) => [key, figures[key as keyof ToolFigures]]))
    t.same(rounded(told), rounded(says))
  })
}

test('autocannon with a rate says how many samples it made up', async (t) => {
  const { samples, done } = variant('autocannon-R').parse(outputOf('autocannon-R'), JOB)
  t.ok(samples! > done * 2, `${samples} samples of ${done} requests`)
})

test('the events of the same run have as many samples as requests', async (t) => {
  const { samples, done, percentiles, max } = variant('autocannon-events').parse(
    outputOf('autocannon-R'),
    JOB,
  )
  t.equal(samples, done)
  t.ok(percentiles.p99! <= max!)
})

test('a tool that prints nothing is said to have printed nothing', async (t) => {
  for (const { name, parse } of variants) {
    t.ok(t.throws(() => parse(EMPTY, JOB)) instanceof UnreadableOutput, name)
  }
})

test('whatever a tool prints, its parser gives figures or says that it cannot read them', async (t) => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constantFrom('{', '{}', '{"result":{}}', '{"metrics":{}}', 'Requests/sec: x', 'Total: y secs', 'null'),
  )
  for (const { name, parse } of variants) {
    fc.assert(
      fc.property(text, text, (stdout, stderr) => {
        try {
          const figures = parse({ stdout, stderr, file: () => stdout }, JOB)
          return Number.isFinite(figures.done)
        } catch (error) {
          return error instanceof UnreadableOutput
        }
      }),
      { numRuns: 60 },
    )
    t.pass(name)
  }
})

test('outputs that are cut off somewhere are never taken for whole runs of another size', async (t) => {
  for (const { name, output: whole } of GOLDEN) {
    const done = variant(name).parse(whole, JOB).done
    for (const share of [0.2, 0.5, 0.8, 0.95]) {
      const cut = (text: string) => text.slice(0, Math.floor(text.length * share))
      const output = {
        stdout: cut(whole.stdout),
        stderr: cut(whole.stderr),
        file: (each: string) => {
          const text = whole.file(each)
          return text === null ? null : cut(text)
        },
      }
      try {
        t.ok(variant(name).parse(output, JOB).done <= done, `${name} at ${share}`)
      } catch (error) {
        t.ok(error instanceof UnreadableOutput, `${name} at ${share}: ${error}`)
      }
    }
  }
})

const WRK = '[epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk <options> <url>\n '

const RECOGNISED: Readonly<Record<string, readonly [program: string, prints: string]>> = {
  wrk: ['wrk', `wrk 4.1.0 ${WRK}-c, --connections`],
  wrk2: ['wrk', `wrk 4.0.0 ${WRK}-R, --rate <T>`],
  h2load: ['h2load', 'h2load nghttp2/1.52.0'],
  hey: ['hey', 'Usage: hey [options...] <url>\n  -disable-redirects  Disable following of HTTP redirects'],
  siege: ['siege', 'SIEGE 4.0.7\n\nCopyright (C) 2021 by Jeffrey Fulmer, et al.'],
  k6: ['k6', 'k6 v1.3.0 (commit/abc, go1.24, linux/amd64)'],
  oha: ['oha', 'oha 1.4.7'],
  vegeta: ['vegeta', 'Version: 12.12.0\nCommit: abc\nRuntime: go1.22 linux/amd64\nDate: 2024'],
  fortio: ['fortio', '1.63.2 h1:abc= go1.22 amd64 linux\ngo\tgo1.22\npath\tfortio.org/fortio'],
  bombardier: ['bombardier', 'bombardier version v1.2.6 linux/amd64'],
  loadtest: ['loadtest', 'Loadtest version: 8.2.1'],
  locust: ['locust', 'locust 2.24.0 from /usr/lib (python 3.11)'],
  httperf: [
    'httperf',
    'httperf: warning: open file limit > FD_SETSIZE; limiting max. # of open files to FD_SETSIZE\nhttperf: httperf-0.9.0 compiled without DEBUG without TIME_SYSCALLS.',
  ],
  artillery: ['artillery', 'VERSION INFO:\n\nArtillery: 2.0.20\nNode.js:   v20.20.2\nOS:        linux'],
  ab: ['ab', 'This is ApacheBench, Version 2.3 <$Revision$>'],
}

const found = (name: string, ask: (program: string) => string) =>
  findTool(TOOLS.find((tool) => tool.name === name)!, ask)

test('tools are recognised by what they say of themselves', async (t) => {
  for (const [name, [program, prints]] of Object.entries(RECOGNISED)) {
    const tool = found(name, (asked) => (asked === program ? prints : ''))
    t.equal(tool?.program, program, name)
    t.ok(prints.includes(tool!.version.replace(/^vegeta /, '')), `${name}: ${tool!.version}`)
  }
})

test('a program of the same name that is something else is not taken for the tool', async (t) => {
  const game = 'bombardier, a game in which you drop bombs on a city'
  const [, asWrk2] = RECOGNISED.wrk2!
  const wrong = TOOLS.filter(({ probe }) => typeof probe !== 'string').flatMap(({ name }) => [
    [name, game],
    [name, ''],
  ])
  for (const [name, prints] of [...wrong, ['wrk', asWrk2]])
    t.equal(
      found(name!, () => prints!),
      null,
      `${name}: ${prints}`,
    )
})

test('every variant tells its tool where to go and for how long', async (t) => {
  for (const one of variants) {
    const { argv, files = {} } = one.command({ ...JOB, rate: one.rate === 'needed' ? 200 : null }, 'program')
    const all = [...argv, ...Object.values(files)].join('\n')
    t.match(all, /127\.0\.0\.1/, one.name)
    t.match(all, /8080/, one.name)
    t.notMatch(argv.join('\n'), /undefined|NaN/, one.name)
    if (one.rate === 'needed') t.match(all, /\b(200|10)\b/, `${one.name} is told the rate`)
  }
})

test('variants have names of their own', async (t) => {
  t.equal(new Set(variants.map(({ name }) => name)).size, variants.length)
})

const NO_TIMES = { count: 0, mean: 0, max: 0, percentiles: {} }
const REPORT = {
  partial: false,
  seconds: 15,
  startNs: '1000',
  endNs: '15000001000',
  started: 1000,
  cut: 0,
  ends: { complete: 990, error: 4, reset: 6 },
  statuses: { '200': 990, '429': 4 },
  total: { count: 990, mean: 150, max: 300, percentiles: { p50: 140, p99: 250 } },
  gap: NO_TIMES,
  curves: { firstToken: [], gap: [], tokensPerSecond: 2000, streams: 1000 },
}
const reported = (report: object): ToolOutput => ({ ...EMPTY, stdout: JSON.stringify(report) })

test('streams are told in the common form, and their curves with it', async (t) => {
  t.same(parseDriveStream(reported(REPORT), JOB), {
    startNs: '1000',
    endNs: '15000001000',
    durationS: 15,
    sent: 1000,
    done: 994,
    errors: { reset: 6 },
    statuses: { '200': 990, '429': 4 },
    rps: 994 / 15,
    mean: 150,
    percentiles: { p50: 140, p99: 250 },
    max: 300,
    samples: 990,
    quantum: 0.001,
    censor: 60_000,
    streams: REPORT.curves,
  })
})

test('statuses of streams that were lost are left out', async (t) => {
  const cut = { ...REPORT, ends: { complete: 990, cut: 10 }, statuses: { '200': 1000 } }
  t.match(parseDriveStream(reported(cut), JOB), { done: 990, errors: { cut: 10 }, statuses: {} })
})

test('what is no report is refused', async (t) => {
  t.throws(() => parseDriveStream(reported({ ends: {} }), JOB), { message: /no report of streams/ })
})

test('a key goes by file, so that no report shows it', async (t) => {
  const { argv, files } = driveStream.command({ ...JOB, key: 'sk-secret' }, '')
  t.notMatch(argv.join(' '), 'sk-secret')
  t.match(argv.join(' '), '--key-file key')
  t.same(files, { key: 'sk-secret' })
  t.notMatch(driveStream.command(JOB, '').argv.join(' '), '--key-file')
})
