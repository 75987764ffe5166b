import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { test } from 'tap'
import { findTool, TOOLS } from '../../bench/loadlab/tools/catalogue.js'
import {
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  UnreadableOutput,
} from '../../bench/loadlab/tools/tool.js'

/** The fixtures stand in the source tree; this file runs in the tree that was built from it. */
const FOLDER = fixtureFolder()

function fixtureFolder(): URL {
  for (let at = new URL('./', import.meta.url); at.pathname !== '/'; at = new URL('../', at)) {
    const folder = new URL('test/bench/lab-tools/', at)
    try {
      readFileSync(new URL('wrk.txt', folder))
      return folder
    } catch {
      // One level up, then.
    }
  }
  throw new Error('the fixtures are not there')
}

const EMPTY: ToolOutput = { stdout: '', stderr: '', file: () => null }

/** What a fixture file holds: a first line that says where it comes from, then sections. */
function fixture(name: string): ToolOutput {
  const [, ...sections] = readFileSync(new URL(`${name}.txt`, FOLDER), 'utf8').split(/^=== /m)
  const texts = new Map(
    sections.map((section) => {
      const end = section.indexOf('\n')
      return [section.slice(0, end), section.slice(end + 1)]
    }),
  )
  return {
    stdout: texts.get('stdout') ?? '',
    stderr: texts.get('stderr') ?? '',
    file: (file) => texts.get(`file ${file}`) ?? null,
  }
}

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

interface Golden {
  readonly name: string
  readonly file: string
  readonly says: Partial<ToolFigures>
}

const golden = (name: string, file: string, says: Partial<ToolFigures>): Golden => ({ name, file, says })

const GOLDEN: readonly Golden[] = [
  golden('wrk', 'wrk', {
    done: 27458,
    durationS: 1.009923,
    statuses: { '2xx': 27458 },
    errors: {},
    mean: 1.138492,
    max: 30.859,
    corrected: true,
    quantum: 0.001,
  }),
  golden('wrk2', 'wrk2', {
    done: 4801,
    statuses: { '2xx': 4800, '4xx': 1 },
    mean: 37.1,
    corrected: true,
    quantum: 1,
  }),
  golden('autocannon-R', 'autocannon-R', {
    done: 138,
    statuses: { '200': 138 },
    errors: {},
    quantum: 1,
    durationS: 2.02,
  }),
  golden('h2load-rps', 'h2load', {
    sent: 1620,
    done: 1600,
    rps: 200,
    durationS: 8,
    statuses: { '2xx': 1597, '5xx': 3 },
    errors: { timeout: 1, error: 2 },
    mean: 12.1,
    max: 943.12,
    samples: 4,
    percentiles: { p50: 0.2, p75: 0.3, p90: 0.4, p95: 0.4, p99: 0.4, 'p99.9': 0.4, 'p99.99': 0.4 },
  }),
  golden('hey-q', 'hey', {
    done: 1439,
    rps: 179.973,
    statuses: { '200': 1437, '503': 2 },
    errors: { timeout: 1 },
    mean: 13.5,
    max: 941,
    percentiles: { p50: 0.3, p75: 0.4, p90: 0.7, p95: 1.1, p99: 941 },
    quantum: 0.1,
  }),
  golden('siege', 'siege', {
    done: 120800,
    errors: { error: 4 },
    statuses: { '2xx': 120790, '4xx': 10 },
    mean: 10,
    max: 20,
    percentiles: {},
    quantum: 10,
  }),
  golden('k6-rate-few', 'k6', {
    sent: 1421,
    done: 1420,
    statuses: { '200': 1420 },
    errors: { error: 1, dropped: 180 },
    mean: 13.5,
    max: 996.2,
    percentiles: { p50: 0.08, p75: 0.09, p90: 0.1, p95: 0.3, p99: 925.1, 'p99.9': 990.4 },
  }),
  golden('k6-rate', 'k6', { connections: 400 }),
  golden('oha-q', 'oha', {
    sent: 1603,
    done: 1594,
    statuses: { '200': 1590, '503': 4 },
    errors: { timeout: 2, cut: 6, error: 1 },
    mean: 63.1,
    corrected: true,
    percentiles: { p50: 0.2, p75: 0.3, p90: 202.1, p95: 600, p99: 919.5, 'p99.9': 992 },
  }),
  golden('vegeta', 'vegeta', {
    sent: 1600,
    done: 1598,
    statuses: { '200': 1598 },
    errors: { timeout: 2 },
    mean: 63.3,
    max: 999,
    percentiles: { p50: 0.105, p90: 202.9, p95: 601, p99: 919.5 },
    connections: 400,
  }),
  golden('fortio-qps', 'fortio', {
    sent: 1421,
    done: 1418,
    statuses: { '200': 1418 },
    errors: { error: 3 },
    rps: 177.5,
    samples: 1421,
    percentiles: { p50: 0.15, p90: 0.19, p99: 925.1, 'p99.9': 990.4 },
  }),
  golden('bombardier-r', 'bombardier', {
    done: 1600,
    statuses: { '2xx': 1598, '5xx': 2 },
    errors: { timeout: 2, error: 1 },
    max: 996.2,
    percentiles: { p50: 0.15, p75: 0.18, p90: 0.21, p99: 925.1 },
  }),
  golden('loadtest-rps', 'loadtest', {
    sent: 1600,
    done: 1598,
    statuses: { '2xx': 1595, '503': 3 },
    errors: { error: 2 },
    mean: 63.5,
    max: 998,
    percentiles: { p50: 1, p90: 215, p95: 610, p99: 926 },
    quantum: 1,
  }),
  golden('locust-throughput', 'locust', {
    done: 1418,
    errors: { error: 2 },
    statuses: { '2xx': 1418 },
    rps: 177.52,
    mean: 13,
    max: 910,
    percentiles: { p50: 1, p75: 1, p90: 1, p95: 2, p99: 910, 'p99.9': 910, 'p99.99': 910 },
  }),
  golden('httperf', 'httperf', {
    sent: 32000,
    done: 31990,
    statuses: { '2xx': 31988, '5xx': 2 },
    errors: { timeout: 4, reset: 6 },
    percentiles: {},
  }),
]

/** Numbers that come from a multiplication are compared to nine digits. */
const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, each) =>
    typeof each === 'number' ? Number(each.toPrecision(9)) : each,
  )

for (const { name, file, says } of GOLDEN) {
  test(`the output of ${name} is read as it is meant`, async (t) => {
    const figures = variant(name).parse(fixture(file), JOB)
    const told = Object.fromEntries(Object.keys(says).map((key) => [key, figures[key as keyof ToolFigures]]))
    t.same(rounded(told), rounded(says))
  })
}

test('autocannon with a rate says how many samples it made up', async (t) => {
  const { samples, done } = variant('autocannon-R').parse(fixture('autocannon-R'), JOB)
  t.ok(samples! > done * 2, `${samples} samples of ${done} requests`)
})

test('the events of the same run have as many samples as requests', async (t) => {
  const { samples, done, percentiles, max } = variant('autocannon-events').parse(fixture('autocannon-R'), JOB)
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
  for (const { name, file } of GOLDEN) {
    const whole = fixture(file)
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

const RECOGNISED: Readonly<Record<string, readonly [program: string, prints: string]>> = {
  wrk: [
    'wrk',
    'wrk 4.1.0 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk <options> <url>\n -c, --connections',
  ],
  wrk2: [
    'wrk',
    'wrk 4.0.0 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk <options> <url>\n -R, --rate <T>',
  ],
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
  httperf: ['httperf', 'httperf-0.9.0 compiled Jan  1 2024 with DEBUG'],
  ab: ['ab', 'This is ApacheBench, Version 2.3 <$Revision$>'],
}

test('tools are recognised by what they say of themselves', async (t) => {
  for (const [name, [program, prints]] of Object.entries(RECOGNISED)) {
    const tool = TOOLS.find((one) => one.name === name)!
    const found = findTool(tool, (asked) => (asked === program ? prints : ''))
    t.equal(found?.program, program, name)
    t.ok(prints.includes(found!.version.replace(/^vegeta /, '')), `${name}: ${found!.version}`)
  }
})

test('a program of the same name that is something else is not taken for the tool', async (t) => {
  const game = 'bombardier, a game in which you drop bombs on a city'
  for (const tool of TOOLS.filter(({ probe }) => probe !== null)) {
    t.equal(
      findTool(tool, () => game),
      null,
      tool.name,
    )
    t.equal(
      findTool(tool, () => ''),
      null,
      tool.name,
    )
  }
  const [, asWrk2] = RECOGNISED.wrk2!
  t.equal(
    findTool(TOOLS.find(({ name }) => name === 'wrk')!, () => asWrk2),
    null,
    'wrk2 under the name of wrk',
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
