/** Tools that print text: h2load, hey, httperf, loadtest, locust. */
import { quantileOfSorted } from '../../harness/figures/statistics.js'
import {
  matchNumber,
  matchText,
  milliseconds,
  namedNumbers,
  percentilesOf,
  positiveCounts,
  ratePerSecond,
  sumCounts,
} from './reading.js'
import {
  closedAtRate,
  closedLoop,
  commandLine,
  defineTool,
  openLoop,
  probe,
  type ToolJob,
  UnreadableOutput,
} from './tool.js'

const H2LOAD_LOG = 'requests.log'
const PERCENTAGES = [50, 75, 90, 95, 99, 99.9, 99.99]

/** Speaking HTTP/1.1. It prints no percentiles, so its log of every request is read; `--rps` catches up in bursts. */
export const h2load = defineTool({
  name: 'h2load',
  probe: probe('h2load', '--version', /^h2load nghttp2\/\S+/m),
  command: ({ url, connections, seconds, rate, timeoutS, folder }, program) => {
    const pace = rate === null ? [] : [`--rps=${rate / connections}`]
    const log = `${folder}/${H2LOAD_LOG}`
    return {
      argv: commandLine`${program} --h1 -t1 -c${connections} -D${Math.round(seconds)} -N ${timeoutS}s
        --log-file=${log} ${pace} ${url.href}`,
    }
  },
  parse: ({ stdout, file }) => {
    const rps = matchNumber(stdout, /^finished in [^,]+,\s*([\d.]+) req\/s/m, 'rate')
    const seconds = milliseconds(matchText(stdout, /^finished in ([^,]+),/m, 'duration')) / 1000
    const requests = matchText(stdout, /^requests: (.+)$/m, 'line of requests')
    const count = (name: string) =>
      matchNumber(requests, new RegExp(`(\\d+) ${name}`), `number of ${name} requests`)
    const codes = matchText(stdout, /^status codes: (.+)$/m, 'status codes')
    const [, max, mean] = matchText(stdout, /^time for request:\s+(.+)$/m, 'times of requests').split(/\s+/)
    const statuses = [...codes.matchAll(/(\d+) (\dxx)/g)].map(([, n, name]) => [name!, Number(n)])
    return {
      durationS: seconds,
      sent: count('started'),
      done: count('done'),
      // What failed holds what was errored and what timed out.
      errors: positiveCounts({
        timeout: count('timeout'),
        error: Math.max(0, count('errored') - count('timeout')),
      }),
      statuses: positiveCounts(Object.fromEntries(statuses)),
      rps,
      mean: milliseconds(mean ?? ''),
      max: milliseconds(max ?? ''),
      ...h2loadPercentiles(file(H2LOAD_LOG)),
      quantum: 0.001,
    }
  },
  variants: [
    closedLoop('h2load', 'closed loop, log of every request'),
    closedAtRate('h2load-rps', '--rps: a rate per connection, catches up in bursts'),
  ],
})

/** Of the log: start, status and duration of each request, microseconds. */
function h2loadPercentiles(log: string | null) {
  if (log === null || log.trim() === '') return { percentiles: {} }
  const lines = log.trimEnd().split('\n')
  const durations = lines.map((line) => Number(line.split('\t')[2]) / 1000)
  if (durations.some(Number.isNaN)) throw new UnreadableOutput('its log of requests is not in three columns')
  const sorted = Float64Array.from(durations).sort()
  return {
    percentiles: percentilesOf(
      PERCENTAGES.map((percent) => [percent, quantileOfSorted(sorted, percent / 100)]),
    ),
    samples: sorted.length,
  }
}

/** Closed loop of workers; `-q` is per worker and leaves out what it could not send. */
export const hey = defineTool({
  name: 'hey',
  probe: {
    programs: ['hey'],
    // It has no option for its version; without an address it prints its usage, which no other program has.
    args: ['-h'],
    version: (text) =>
      /^Usage: hey \[options/m.test(text) && /-disable-redirects/.test(text) ? 'hey' : null,
  },
  command: ({ url, connections, seconds, rate, timeoutS }, program) => {
    const pace = rate === null ? [] : ['-q', String(rate / connections)]
    return {
      argv: commandLine`${program} -cpus 1 -c ${connections} -z ${seconds}s
        -t ${timeoutS} ${pace} ${url.href}`,
    }
  },
  parse: ({ stdout }, job) => {
    const statuses = namedNumbers(stdout, /^\s*\[(\d{3})\]\s+(\d+) responses/gm)
    const percentiles = Object.entries(namedNumbers(stdout, /^\s*(\d+)%%? in ([\d.]+) secs/gm))
    const ms = (name: string) =>
      matchNumber(stdout, new RegExp(`^\\s*${name}:\\s+([\\d.]+) secs`, 'm'), name) * 1000
    return {
      durationS: matchNumber(stdout, /^\s*Total:\s+([\d.]+) secs/m, 'duration'),
      done: sumCounts(statuses),
      errors: heyErrors(stdout),
      statuses,
      rps: matchNumber(stdout, /^\s*Requests\/sec:\s+([\d.]+)/m, 'rate'),
      mean: ms('Average'),
      max: ms('Slowest'),
      percentiles: percentilesOf(
        percentiles.filter(([percent]) => Number(percent) >= 50),
        1000,
      ),
      quantum: 0.1,
      censor: job.timeoutS * 1000,
    }
  },
  variants: [closedLoop('hey', 'closed loop'), closedAtRate('hey-q', '-q: a rate per worker, omits')],
})

function heyErrors(text: string): Record<string, number> {
  const block = /Error distribution:\s*\n([\s\S]*)$/.exec(text)?.[1] ?? ''
  const errors: Record<string, number> = {}
  for (const [, count, reason] of block.matchAll(/^\s*\[(\d+)\]\s+(.+)$/gm)) {
    const name = /timeout|deadline/i.test(reason!) ? 'timeout' : 'error'
    errors[name] = (errors[name] ?? 0) + Number(count)
  }
  return errors
}

/** httperf has no duration. At the highest rates seen it needs about as long as asked for. */
const HTTPERF_CALLS_PER_SECOND = 30_000

/** So many calls on each of so many connections; its rate is one of connections, so it runs closed here. */
export const httperf = defineTool({
  name: 'httperf',
  probe: probe('httperf', '--version', /^httperf: (httperf-\d\S*)/m),
  command: ({ url, connections, seconds, timeoutS }, program) => {
    const calls = Math.max(1, Math.round((HTTPERF_CALLS_PER_SECOND * seconds) / connections))
    const path = `${url.pathname}${url.search}`
    return {
      argv: commandLine`${program} --hog --server=${url.hostname} --port=${url.port || '80'}
        --uri=${path} --num-conns=${connections} --num-calls=${calls} --rate=1000
        --timeout=${timeoutS}`,
    }
  },
  parse: ({ stdout }) => {
    const total = matchText(stdout, /^Total: (.+)$/m, 'totals')
    const of = (pattern: RegExp, what: string) => matchNumber(total, pattern, what)
    const seconds = of(/test-duration ([\d.]+) s/, 'duration')
    const done = of(/replies (\d+)/, 'number of replies')
    const reply = matchText(stdout, /^Reply time \[ms\]: (.+)$/m, 'reply time')
    const errors =
      /^Errors: total \d+ client-timo (\d+) socket-timo (\d+) connrefused (\d+) connreset (\d+)/m.exec(stdout)
    const [, clientTimeout = 0, socketTimeout = 0, refused = 0, reset = 0] = (errors ?? []).map(Number)
    const statuses = matchText(stdout, /^Reply status: (.+)$/m, 'statuses')
    return {
      durationS: seconds,
      sent: of(/requests (\d+)/, 'number of requests'),
      done,
      errors: positiveCounts({ timeout: clientTimeout + socketTimeout, refused, reset }),
      statuses: positiveCounts(namedNumbers(statuses, /(\dxx)=(\d+)/g)),
      rps: ratePerSecond(done, seconds),
      mean:
        matchNumber(reply, /response ([\d.]+)/, 'response time') +
        matchNumber(reply, /transfer ([\d.]+)/, 'transfer time'),
      percentiles: {},
      quantum: 0.1,
    }
  },
  variants: [closedLoop('httperf', 'a fixed number of calls per connection, no percentiles')],
})

/** loadtest of npm: closed loop, or an open one with `--rps`; whole milliseconds. */
export const loadtest = defineTool({
  name: 'loadtest',
  probe: probe('loadtest', '--version', /^Loadtest version: \S+/im),
  npm: { name: 'loadtest', version: '8.2.1', program: 'bin/loadtest.js' },
  command: ({ url, connections, seconds, rate, timeoutS }, program) => {
    const pace = rate === null ? [] : ['--rps', String(rate)]
    return {
      argv: commandLine`${program} -t ${Math.round(seconds)} -c ${connections} -k --cores 1
        --timeout ${timeoutS * 1000} ${pace} ${url.href}`,
    }
  },
  parse: ({ stdout }) => {
    const seconds = matchNumber(stdout, /^Total time:\s+([\d.]+) s/m, 'duration')
    const all = matchNumber(stdout, /^Completed requests:\s+(\d+)/m, 'number of requests')
    const failed = matchNumber(stdout, /^Total errors:\s+(\d+)/m, 'number of errors')
    const percentiles = Object.entries(namedNumbers(stdout, /^\s*(\d+)%\s+(\d+) ms\s*$/gm))
    // An answer with a bad status is among its errors, under its status; what got no answer has a code of its own.
    const refused = namedNumbers(stdout, /^\s*(\d{3}):\s+(\d+) errors$/gm)
    const answeredBadly = sumCounts(refused)
    const unanswered = Math.max(0, failed - answeredBadly)
    const done = all - unanswered
    return {
      durationS: seconds,
      sent: all,
      done,
      errors: positiveCounts({ error: unanswered }),
      statuses: { ...positiveCounts({ '2xx': Math.max(0, done - answeredBadly) }), ...refused },
      rps: ratePerSecond(done, seconds),
      mean: matchNumber(stdout, /^Mean latency:\s+([\d.]+) ms/m, 'mean latency'),
      max: matchNumber(stdout, /^\s*100%\s+(\d+) ms/m, 'longest request'),
      percentiles: percentilesOf(percentiles.filter(([percent]) => percent !== '100')),
      quantum: 1,
    }
  },
  variants: [closedLoop('loadtest', 'closed loop'), openLoop('loadtest-rps', '--rps: a rate')],
})

function locustFile({ url, rate, connections, timeoutS }: ToolJob): string {
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

/** Closed users; `constant_throughput` is per user and leaves out what it could not send. */
export const locust = defineTool({
  name: 'locust',
  probe: probe('locust', '--version', /^locust \d\S*/m),
  command: (job, program) => {
    const { folder, connections, seconds, url } = job
    return {
      argv: commandLine`${program} -f ${folder}/locustfile.py --headless -u ${connections}
        -r ${connections} -t ${Math.round(seconds)}s -H ${url.origin} --only-summary`,
      files: { 'locustfile.py': locustFile(job) },
    }
  },
  /** Both tables end in a row `Aggregated`; the second, of percentiles, has its names in its head. */
  parse: ({ stdout, stderr }, job) => {
    const text = `${stdout}\n${stderr}`
    const [counted, latencies] = [...text.matchAll(/^\s*Aggregated\s+(.+)$/gm)]
      .slice(-2)
      .map(([, row]) => row!)
    if (counted === undefined || latencies === undefined)
      throw new UnreadableOutput('it printed no aggregated rows')
    const row =
      /^(\d+)\s+(\d+)\([\d.]+%\)\s*\|\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*\|\s*([\d.]+)/.exec(
        counted,
      )
    if (row === null)
      throw new UnreadableOutput(`its aggregated row cannot be read: '${counted.slice(0, 80)}'`)
    const [all = 0, failed = 0, mean = 0, , max = 0, , rps = 0] = row.slice(1).map(Number)
    const head = matchText(text, /^Type\s+Name\s+(50%.+)# reqs/m, 'names of percentiles')
    const values = latencies.trim().split(/\s+/)
    const named = head
      .trim()
      .split(/\s+/)
      .map((name, i) => [name.slice(0, -1), values[i]] as const)
    const good = all - failed
    return {
      durationS: rps === 0 ? job.seconds : all / rps,
      done: good,
      errors: positiveCounts({ error: failed }),
      statuses: good > 0 ? { '2xx': good } : {},
      rps,
      mean,
      max,
      percentiles: percentilesOf(named.filter(([percent]) => PERCENTAGES.includes(Number(percent)))),
      quantum: 1,
    }
  },
  variants: [
    closedLoop('locust', 'closed users'),
    closedAtRate('locust-throughput', 'constant_throughput: a rate per user, omits'),
  ],
})
