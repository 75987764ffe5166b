/** loadtest of npm: closed loop, or an open one with `--rps`; whole milliseconds. */
import { matchNumber } from './reading.js'
import type { Tool, ToolFigures, ToolJob, ToolOutput, ToolVariant } from './tool.js'

function parseLoadtest({ stdout }: ToolOutput): ToolFigures {
  const seconds = matchNumber(stdout, /^Total time:\s+([\d.]+) s/m, 'duration')
  const all = matchNumber(stdout, /^Completed requests:\s+(\d+)/m, 'number of requests')
  const failed = matchNumber(stdout, /^Total errors:\s+(\d+)/m, 'number of errors')
  const percentiles = [...stdout.matchAll(/^\s*(\d+)%\s+(\d+) ms\s*$/gm)].map(([, percent, ms]) => [
    `p${percent}`,
    Number(ms),
  ])
  const codes = [...stdout.matchAll(/^\s*(-?\w+):\s+(\d+) errors$/gm)].map(
    ([, code, n]) => [code!, Number(n)] as const,
  )
  // An answer with a bad status is among its errors, under its status; what got no answer has a code of its own.
  const refused = codes.filter(([code]) => /^\d{3}$/.test(code))
  const answeredBadly = refused.reduce((sum, [, count]) => sum + count, 0)
  const unanswered = Math.max(0, failed - answeredBadly)
  const done = all - unanswered
  const good = done - answeredBadly
  return {
    durationS: seconds,
    sent: all,
    done,
    errors: unanswered > 0 ? { error: unanswered } : {},
    statuses: { ...(good > 0 && { '2xx': good }), ...Object.fromEntries(refused) },
    rps: seconds === 0 ? 0 : done / seconds,
    mean: matchNumber(stdout, /^Mean latency:\s+([\d.]+) ms/m, 'mean latency'),
    max: matchNumber(stdout, /^\s*100%\s+(\d+) ms/m, 'longest request'),
    percentiles: Object.fromEntries(percentiles.filter(([name]) => name !== 'p100')),
    quantum: 1,
    pipelining: 1,
  }
}

const command: ToolVariant['command'] = (
  { url, connections, seconds, rate, timeoutS }: ToolJob,
  program,
) => ({
  argv: [
    program,
    '-t',
    String(Math.round(seconds)),
    '-c',
    String(connections),
    '-k',
    '--cores',
    '1',
    '--timeout',
    String(timeoutS * 1000),
    ...(rate === null ? [] : ['--rps', String(rate)]),
    url.href,
  ],
})

export const loadtest: Tool = {
  name: 'loadtest',
  probe: {
    programs: ['loadtest'],
    args: ['--version'],
    version: (text) => /^Loadtest version: (\S+)/im.exec(text)?.[0] ?? null,
  },
  variants: [
    { name: 'loadtest', says: 'closed loop', loop: 'closed', rate: 'none', command, parse: parseLoadtest },
    {
      name: 'loadtest-rps',
      says: '--rps: a rate',
      loop: 'open',
      rate: 'needed',
      command,
      parse: parseLoadtest,
    },
  ],
}
