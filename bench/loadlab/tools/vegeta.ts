/** vegeta: open loop; it measures into a file and reports afterwards. */
import { finiteNumber, objectMember, parseJsonIn, positiveCounts } from './reading.js'
import type { Tool, ToolFigures, ToolJob, ToolOutput } from './tool.js'

const NAMES: Readonly<Record<string, string>> = { p50: '50th', p90: '90th', p95: '95th', p99: '99th' }
const MS = 1e-6

function parseVegeta({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const own = parseJsonIn(stdout)
  const latency = objectMember(own, 'latencies')
  const all = positiveCounts(objectMember(own, 'status_codes'))
  const { 0: unanswered = 0, ...statuses } = all
  const requests = finiteNumber(own.requests, 'number of requests')
  const done = requests - unanswered
  const seconds = (finiteNumber(own.duration, 'duration') * MS) / 1000
  // Its errors are texts without counts; what the texts say is the best that can be told apart.
  const texts = Array.isArray(own.errors) ? own.errors.map(String) : []
  const name = texts.length > 0 && texts.every((text) => /timeout|deadline/i.test(text)) ? 'timeout' : 'error'
  return {
    durationS: seconds,
    sent: requests,
    done,
    errors: positiveCounts({ [name]: unanswered }),
    statuses,
    rps: seconds === 0 ? 0 : done / seconds,
    mean: finiteNumber(latency.mean, 'mean latency') * MS,
    max: finiteNumber(latency.max, 'greatest latency') * MS,
    percentiles: Object.fromEntries(
      Object.entries(NAMES).map(([ours, own]) => [ours, finiteNumber(latency[own], own) * MS]),
    ),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

const mostWorkers = ({ rate }: ToolJob): number => Math.ceil((rate ?? 1) * 2)

export const vegeta: Tool = {
  name: 'vegeta',
  probe: {
    programs: ['vegeta'],
    args: ['--version'],
    version: (text) => {
      const version = /^Version:\s*(\S+)/m.exec(text)?.[1]
      return version !== undefined && /Commit:/.test(text) ? `vegeta ${version}` : null
    },
  },
  variants: [
    {
      name: 'vegeta',
      says: 'open loop',
      loop: 'open',
      rate: 'needed',
      command: (job, program) => ({
        argv: [
          program,
          'attack',
          `-rate=${job.rate}/s`,
          `-duration=${job.seconds}s`,
          `-timeout=${job.timeoutS}s`,
          `-max-workers=${mostWorkers(job)}`,
          `-targets=${job.folder}/targets`,
          `-output=${job.folder}/results.bin`,
        ],
        files: { targets: `GET ${job.url.href}\n` },
        environment: { GOMAXPROCS: '1' },
        reportedBy: [program, 'report', '-type=json', `${job.folder}/results.bin`],
      }),
      parse: (output, job) => ({ ...parseVegeta(output, job), connections: mostWorkers(job) }),
    },
  ],
}
