/**
 * autocannon in a process of its own, through its API, so that its version is the project's. Prints one line of JSON: its
 * own result, which is what its table shows, and the same run as its `response` events tell it.
 *
 * Usage: node autocannon-child.js '<AutocannonJob as JSON>'
 */
import autocannon from 'autocannon'
import { SampleSet } from '../../harness/figures/sample-set.js'

export interface AutocannonJob {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  readonly rate: number | null
  readonly timeoutS: number
  /** Do not fill up the histogram for omitted requests: its option `-C`. */
  readonly plain: boolean
}

const job = JSON.parse(process.argv[2] ?? '{}') as AutocannonJob
const samples = new SampleSet()
const options: autocannon.Options = {
  url: job.url,
  connections: job.connections,
  duration: job.seconds,
  timeout: job.timeoutS,
  pipelining: 1,
  ...(job.rate !== null && { overallRate: job.rate }),
  ...(job.plain && { ignoreCoordinatedOmission: true }),
}
const startNs = process.hrtime.bigint()
const instance = autocannon(options, (error, result) => {
  if (error) {
    process.stderr.write(`autocannon: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
  const endNs = process.hrtime.bigint()
  const events = { ...samples.quantiles(), startNs: String(startNs), endNs: String(endNs) }
  process.stdout.write(`${JSON.stringify({ result, events })}\n`)
})
instance.on('response', (_client, _status, _bytes, ms) => samples.record(ms))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => instance.stop())
