/** httperf: so many calls on each of so many connections; its rate is one of connections, so it runs closed here. */
import { matchNumber, matchText } from './reading.js'
import type { Tool, ToolFigures, ToolOutput } from './tool.js'

/** It has no duration. At the highest rates seen it needs about as long as asked for. */
const CALLS_PER_SECOND = 30_000

function parseHttperf({ stdout }: ToolOutput): ToolFigures {
  const total = matchText(stdout, /^Total: (.+)$/m, 'totals')
  const of = (pattern: RegExp, what: string) => matchNumber(total, pattern, what)
  const seconds = of(/test-duration ([\d.]+) s/, 'duration')
  const done = of(/replies (\d+)/, 'number of replies')
  const reply = matchText(stdout, /^Reply time \[ms\]: (.+)$/m, 'reply time')
  const errors =
    /^Errors: total \d+ client-timo (\d+) socket-timo (\d+) connrefused (\d+) connreset (\d+)/m.exec(stdout)
  const [, clientTimeout, socketTimeout, refused, reset] = (errors ?? ['0', '0', '0', '0', '0']).map(Number)
  const codes = [...matchText(stdout, /^Reply status: (.+)$/m, 'statuses').matchAll(/(\dxx)=(\d+)/g)]
  return {
    durationS: seconds,
    sent: of(/requests (\d+)/, 'number of requests'),
    done,
    errors: positive({
      timeout: (clientTimeout ?? 0) + (socketTimeout ?? 0),
      refused: refused ?? 0,
      reset: reset ?? 0,
    }),
    statuses: positive(Object.fromEntries(codes.map(([, name, count]) => [name!, Number(count)]))),
    rps: seconds === 0 ? 0 : done / seconds,
    mean:
      matchNumber(reply, /response ([\d.]+)/, 'response time') +
      matchNumber(reply, /transfer ([\d.]+)/, 'transfer time'),
    percentiles: {},
    quantum: 0.1,
    pipelining: 1,
  }
}

function positive(of: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(of).filter(([, count]) => count > 0))
}

export const httperf: Tool = {
  name: 'httperf',
  probe: {
    programs: ['httperf'],
    args: ['--version'],
    version: (text) => /^httperf-\d\S*/m.exec(text)?.[0] ?? null,
  },
  variants: [
    {
      name: 'httperf',
      says: 'a fixed number of calls per connection, no percentiles',
      loop: 'closed',
      rate: 'none',
      command: ({ url, connections, seconds, timeoutS }, program) => ({
        argv: [
          program,
          '--hog',
          `--server=${url.hostname}`,
          `--port=${url.port || '80'}`,
          `--uri=${url.pathname}${url.search}`,
          `--num-conns=${connections}`,
          `--num-calls=${Math.max(1, Math.round((CALLS_PER_SECOND * seconds) / connections))}`,
          '--rate=1000',
          `--timeout=${timeoutS}`,
        ],
      }),
      parse: parseHttperf,
    },
  ],
}
