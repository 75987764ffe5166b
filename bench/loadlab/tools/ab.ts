/** ApacheBench 2.3, which speaks HTTP/1.0: the native server answers it with 505, so it runs through the shipped nginx. */
import { fileURLToPath } from 'node:url'
import { isInstalled } from '../../harness/server/shipped-proxies.js'
import { matchNumber, namedNumbers, percentilesOf, positiveCounts } from './reading.js'
import { closedLoop, commandLine, defineTool, probe } from './tool.js'

const BEHIND_NGINX = fileURLToPath(new URL('behind-nginx.js', import.meta.url))
/** It wants an upper bound, and keeps as many samples: more than it can do. */
const MOST_PER_SECOND = 50_000

export const ab = defineTool({
  name: 'ab',
  probe: probe('ab', '-V', /ApacheBench, Version \S+/),
  unusable: () =>
    isInstalled('nginx')
      ? null
      : 'it speaks HTTP/1.0, which the server answers with 505; with nginx installed it runs through the shipped configuration',
  command: ({ url, connections, seconds, timeoutS }, program) => ({
    argv: commandLine`${process.execPath} ${BEHIND_NGINX} ${url.port} ${program} -q -k -l -r -c ${connections}
      -t ${Math.round(seconds)} -n ${Math.round(seconds * MOST_PER_SECOND)} -s ${timeoutS}
      http://127.0.0.1:{port}${url.pathname}${url.search}`,
  }),
  parse: ({ stdout }, job) => {
    const of = (pattern: RegExp, what: string) => matchNumber(stdout, pattern, what)
    const done = of(/^Complete requests:\s+(\d+)/m, 'number of requests')
    const refused = Number(/^Non-2xx responses:\s+(\d+)/m.exec(stdout)?.[1] ?? 0)
    // Of its failures those of length are answers too; what could not be connected or read is none.
    const lost = /\(Connect: (\d+), Receive: (\d+), Length: \d+, Exceptions: (\d+)\)/.exec(stdout)
    const [connect = 0, receive = 0, exceptions = 0] = (lost ?? []).slice(1).map(Number)
    const table = namedNumbers(stdout, /^\s*(\d+)%\s+(\d+)/gm)
    const { 100: max } = table
    return {
      durationS: of(/^Time taken for tests:\s+([\d.]+) seconds/m, 'duration'),
      done,
      errors: positiveCounts({ connect, receive, exceptions }),
      statuses: positiveCounts({ '2xx': Math.max(0, done - refused), '5xx': Math.min(done, refused) }),
      rps: of(/^Requests per second:\s+([\d.]+)/m, 'rate'),
      mean: of(/^Time per request:\s+([\d.]+) \[ms\] \(mean\)/m, 'mean latency'),
      ...(max !== undefined && { max }),
      percentiles: percentilesOf(
        Object.entries(table).filter(([percent]) => ['50', '75', '90', '95', '99'].includes(percent)),
      ),
      quantum: 1,
      censor: job.timeoutS * 1000,
    }
  },
  variants: [closedLoop('ab-nginx', 'closed loop, HTTP/1.0 with keep-alive through the shipped nginx')],
})
