/** locust: closed users; `constant_throughput` is per user and leaves out what it could not send. */
import { matchText } from './reading.js'
import {
  type Tool,
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  UnreadableOutput,
} from './tool.js'

const COLUMNS: Readonly<Record<string, string>> = {
  '50%': 'p50',
  '75%': 'p75',
  '90%': 'p90',
  '95%': 'p95',
  '99%': 'p99',
  '99.9%': 'p99.9',
  '99.99%': 'p99.99',
}

function script({ url, rate, connections, timeoutS }: ToolJob): string {
  const wait = rate === null ? 'constant(0)' : `constant_throughput(${rate / connections})`
  return `from locust import FastHttpUser, constant, constant_throughput, task

class Caller(FastHttpUser):
    wait_time = ${wait}
    connection_timeout = ${timeoutS}
    network_timeout = ${timeoutS}

    @task
    def call(self):
        self.client.get(${JSON.stringify(`${url.pathname}${url.search}`)})
`
}

/** Both tables end in a row `Aggregated`; the second, of percentiles, has its names in its head. */
function parseLocust({ stdout, stderr }: ToolOutput, job: ToolJob): ToolFigures {
  const text = `${stdout}\n${stderr}`
  const [counted, latencies] = [...text.matchAll(/^\s*Aggregated\s+(.+)$/gm)].slice(-2).map(([, row]) => row!)
  if (counted === undefined || latencies === undefined)
    throw new UnreadableOutput('it printed no aggregated rows')
  const row =
    /^(\d+)\s+(\d+)\([\d.]+%\)\s*\|\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*\|\s*([\d.]+)/.exec(counted)
  if (row === null) throw new UnreadableOutput(`its aggregated row cannot be read: '${counted.slice(0, 80)}'`)
  const [all, failed, mean, , max, , rps] = row.slice(1).map(Number)
  const head = matchText(text, /^Type\s+Name\s+(50%.+)# reqs/m, 'names of percentiles')
    .trim()
    .split(/\s+/)
  const values = latencies.trim().split(/\s+/)
  const pairs = head.flatMap((name, i) => (COLUMNS[name] ? [[COLUMNS[name], Number(values[i])]] : []))
  const good = all! - failed!
  return {
    durationS: rps! === 0 ? job.seconds : all! / rps!,
    done: good,
    errors: failed! > 0 ? { error: failed! } : {},
    statuses: good > 0 ? { '2xx': good } : {},
    rps: rps!,
    mean: mean!,
    max: max!,
    percentiles: Object.fromEntries(pairs),
    quantum: 1,
    pipelining: 1,
  }
}

const command: ToolVariant['command'] = (job: ToolJob, program) => ({
  argv: [
    program,
    '-f',
    `${job.folder}/locustfile.py`,
    '--headless',
    '-u',
    String(job.connections),
    '-r',
    String(job.connections),
    '-t',
    `${Math.round(job.seconds)}s`,
    '-H',
    job.url.origin,
    '--only-summary',
  ],
  files: { 'locustfile.py': script(job) },
})

export const locust: Tool = {
  name: 'locust',
  probe: {
    programs: ['locust'],
    args: ['--version'],
    version: (text) => /^locust \d\S*/m.exec(text)?.[0] ?? null,
  },
  variants: [
    { name: 'locust', says: 'closed users', loop: 'closed', rate: 'none', command, parse: parseLocust },
    {
      name: 'locust-throughput',
      says: 'constant_throughput: a rate per user, omits',
      loop: 'closed',
      rate: 'needed',
      command,
      parse: parseLocust,
    },
  ],
}
