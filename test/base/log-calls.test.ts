/** The log of calls: one line each, of figures and ids. */
import { test } from 'tap'
import { type CallLog, createCallLog, type LoggedCalls, type LogLevel } from '../../src/base/log.js'

function captured(
  level: LogLevel,
  logged: LoggedCalls = 'failures',
): { calls: CallLog; lines: () => string[] } {
  const lines: string[] = []
  const calls = createCallLog(logged, level, 'worker-3', { write: (line: string) => void lines.push(line) })
  return { calls, lines: () => lines }
}

const LINE = { generation: 'gen-x', status: 200, streamed: true, firstEventMs: null } as const

test('a call is one line that says when, which process, how grave and what', async (t) => {
  const { calls, lines } = captured('info')
  calls.write('info', LINE, 'inference')
  calls.write('warn', { ...LINE, status: 502 }, 'inference\nfailed')
  t.equal(lines().length, 2)
  const [first, second] = lines().map((line) => JSON.parse(line))
  t.match(first, { level: 30, process: 'worker-3', pid: process.pid, msg: 'inference', ...LINE })
  t.match(first.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.match(second, { level: 40, status: 502, msg: 'inference\nfailed' })
  for (const line of lines()) t.equal(line.trimEnd().split('\n').length, 1)
})

const LEVELS = [
  ['trace', 2],
  ['info', 2],
  ['warn', 1],
  ['error', 0],
  ['silent', 0],
] as const

for (const [level, written] of LEVELS) {
  test(`at level ${level} ${written} of two severities are written`, async (t) => {
    const { calls, lines } = captured(level)
    calls.write('info', LINE, 'x')
    calls.write('warn', LINE, 'x')
    t.equal(lines().length, written)
    t.equal(['info', 'warn'].filter((severity) => calls.isOn(severity as 'info')).length, written)
  })
}

const SETTINGS = [
  ['none', []],
  ['failures', [30, 40]],
  ['all', [30, 30, 40]],
] as const

for (const [logged, levels] of SETTINGS) {
  test(`where ${logged} of the calls are told, the lines are at ${levels.join(', ') || 'no level'}`, async (t) => {
    const { calls, lines } = captured('trace', logged)
    const severities = ['success', 'info', 'warn'] as const
    for (const severity of severities.filter((each) => calls.isOn(each))) calls.write(severity, LINE, 'x')
    t.same(
      lines().map((line) => JSON.parse(line).level),
      levels,
    )
  })
}
