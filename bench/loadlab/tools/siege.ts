/** siege: closed loop, latencies in hundredths of a second, no percentiles. */
import { finiteNumber, parseJsonIn } from './reading.js'
import type { Tool, ToolFigures, ToolOutput } from './tool.js'

const RC = [
  'connection = keep-alive',
  'parser = false',
  'limit = 10000',
  'json_output = true',
  'color = off',
  '',
].join('\n')

function parseSiege({ stdout, stderr }: ToolOutput): ToolFigures {
  const own = parseJsonIn(stdout.includes('{') ? stdout : stderr, 'first')
  const number = (name: string) => finiteNumber(own[name], name)
  const seconds = number('elapsed_time')
  const done = number('transactions')
  const failed = number('failed_transactions')
  const good = Math.min(done, number('successful_transactions'))
  return {
    durationS: seconds,
    done,
    errors: failed > 0 ? { error: failed } : {},
    // What is no success by its rules was answered all the same.
    statuses: { ...(good > 0 && { '2xx': good }), ...(done > good && { '4xx': done - good }) },
    rps: seconds === 0 ? 0 : done / seconds,
    mean: number('response_time') * 1000,
    max: number('longest_transaction') * 1000,
    percentiles: {},
    quantum: 10,
    pipelining: 1,
  }
}

export const siege: Tool = {
  name: 'siege',
  probe: {
    programs: ['siege'],
    args: ['--version'],
    version: (text) => /^SIEGE \d\S*/m.exec(text)?.[0] ?? null,
  },
  variants: [
    {
      name: 'siege',
      says: 'closed loop, hundredths of a second, no percentiles',
      loop: 'closed',
      rate: 'none',
      leastSeconds: 4,
      command: ({ url, connections, seconds, folder }, program) => ({
        argv: [
          program,
          '-R',
          `${folder}/siegerc`,
          '-b',
          `-c${connections}`,
          `-t${Math.round(seconds)}S`,
          '-j',
          url.href,
        ],
        files: { siegerc: RC },
        environment: { HOME: folder },
      }),
      parse: parseSiege,
    },
  ],
}
