import { test } from 'tap'
import { driveStream, parseDriveStream } from '../../bench/loadlab/tools/own-drivers.js'

const JOB = {
  url: new URL('http://127.0.0.1:1/api/v1/chat/completions'),
  connections: 100,
  seconds: 15,
  rate: null,
  timeoutS: 60,
  seed: 1,
  folder: '/tmp',
}
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
const output = (report: object) => ({ stdout: JSON.stringify(report), stderr: '', file: () => null })

test('streams are told in the common form, and their curves with it', async (t) => {
  t.same(parseDriveStream(output(REPORT), JOB), {
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
  t.match(parseDriveStream(output(cut), JOB), { done: 990, errors: { cut: 10 }, statuses: {} })
})

test('what is no report is refused', async (t) => {
  t.throws(() => parseDriveStream(output({ ends: {} }), JOB), { message: /no report of streams/ })
})

test('a key goes by file, so that no report shows it', async (t) => {
  const { argv, files } = driveStream.command({ ...JOB, key: 'sk-secret' }, '')
  t.notMatch(argv.join(' '), 'sk-secret')
  t.match(argv.join(' '), '--key-file key')
  t.same(files, { key: 'sk-secret' })
  t.notMatch(driveStream.command(JOB, '').argv.join(' '), '--key-file')
})
