/** hey: closed loop of workers; `-q` is per worker and leaves out what it could not send. */
import { matchNumber } from './reading.js'
import type { Tool, ToolFigures, ToolJob, ToolOutput, ToolVariant } from './tool.js'

function parseHey({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const seconds = matchNumber(stdout, /^\s*Total:\s+([\d.]+) secs/m, 'duration')
  const rps = matchNumber(stdout, /^\s*Requests\/sec:\s+([\d.]+)/m, 'rate')
  const statuses = Object.fromEntries(
    [...stdout.matchAll(/^\s*\[(\d{3})\]\s+(\d+) responses/gm)].map(([, code, n]) => [code!, Number(n)]),
  )
  const percentiles = [...stdout.matchAll(/^\s*(\d+)%% in ([\d.]+) secs|^\s*(\d+)% in ([\d.]+) secs/gm)]
    .map(([, a, b, c, d]) => [Number(a ?? c), Number(b ?? d) * 1000] as const)
    .filter(([percent]) => percent >= 50)
  const ms = (name: string) =>
    matchNumber(stdout, new RegExp(`^\\s*${name}:\\s+([\\d.]+) secs`, 'm'), name) * 1000
  return {
    durationS: seconds,
    done: Object.values(statuses).reduce((sum, count) => sum + count, 0),
    errors: errorsOf(stdout),
    statuses,
    rps,
    mean: ms('Average'),
    max: ms('Slowest'),
    percentiles: Object.fromEntries(percentiles.map(([percent, value]) => [`p${percent}`, value])),
    quantum: 0.1,
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

function errorsOf(text: string): Record<string, number> {
  const block = /Error distribution:\s*\n([\s\S]*)$/.exec(text)?.[1] ?? ''
  const errors: Record<string, number> = {}
  for (const [, count, reason] of block.matchAll(/^\s*\[(\d+)\]\s+(.+)$/gm)) {
    const name = /timeout|deadline/i.test(reason!) ? 'timeout' : 'error'
    errors[name] = (errors[name] ?? 0) + Number(count)
  }
  return errors
}

const command: ToolVariant['command'] = (
  { url, connections, seconds, rate, timeoutS }: ToolJob,
  program,
) => ({
  argv: [
    program,
    '-cpus',
    '1',
    '-c',
    String(connections),
    '-z',
    `${seconds}s`,
    '-t',
    String(timeoutS),
    ...(rate === null ? [] : ['-q', String(rate / connections)]),
    url.href,
  ],
})

export const hey: Tool = {
  name: 'hey',
  probe: {
    programs: ['hey'],
    // It has no option for its version; without an address it prints its usage, which no other program has.
    args: ['-h'],
    version: (text) =>
      /^Usage: hey \[options/m.test(text) && /-disable-redirects/.test(text) ? 'hey' : null,
  },
  variants: [
    { name: 'hey', says: 'closed loop', loop: 'closed', rate: 'none', command, parse: parseHey },
    {
      name: 'hey-q',
      says: '-q: a rate per worker, omits',
      loop: 'closed',
      rate: 'needed',
      command,
      parse: parseHey,
    },
  ],
}
