import { test } from 'tap'
import { BUILT } from '../../src/base/built-files.js'
import { createLog, LOG_LEVELS, type Log, type LogLevel } from '../../src/base/log.js'

const SECRET = 's3cr3t-v4lue'

function captured(level: LogLevel = 'trace'): { log: Log; lines: () => string[] } {
  const lines: string[] = []
  const log = createLog(level, 'worker-7', { write: (line: string) => void lines.push(line) })
  return { log, lines: () => lines }
}

const MEMBERS = [
  'authorization',
  'cookie',
  'set-cookie',
  'apiKey',
  'api_key',
  'x-api-key',
  'token',
  'access_token',
  'subject_token',
  'secret',
  'password',
  'body',
  // Names of headers come in any case.
  'Authorization',
  'X-API-Key',
]

type Speak = (log: Log, member: string) => void

const failed = (more: object): Error => Object.assign(new Error('failed'), more)

const PLACES: Readonly<Record<string, Speak>> = {
  'at the top': (log, member) => log.info({ [member]: SECRET }, 'said'),
  'in a member': (log, member) => log.info({ call: { [member]: SECRET } }, 'said'),
  'in a member with a dash': (log, member) => log.info({ 'the-call': { [member]: SECRET } }, 'said'),
  'in the headers of a request': (log, member) => log.info({ request: { headers: { [member]: SECRET } } }),
  'in a list': (log, member) => log.info({ calls: [{ [member]: SECRET }] }, 'said'),
  'as an object': (log, member) => log.info({ [member]: { inner: SECRET } }, 'said'),
  'as a list': (log, member) => log.info({ [member]: [SECRET] }, 'said'),
  'on an error': (log, member) => log.error({ err: failed({ [member]: SECRET }) }, 'said'),
  'deep on an error': (log, member) => log.error({ err: failed({ call: { [member]: SECRET } }) }, 'said'),
  'on an error that is the line itself': (log, member) => log.error(failed({ [member]: SECRET })),
  'on an error under another name': (log, member) => log.error({ reason: failed({ [member]: SECRET }) }),
  'formatted into the message': (log, member) => log.info('said %o', { [member]: SECRET }),
}

for (const [place, speak] of Object.entries(PLACES)) {
  test(`a secret ${place} never appears in the log`, async (t) => {
    for (const member of MEMBERS) {
      const { log, lines } = captured()
      speak(log, member)
      t.equal(lines().length, 1, `${member}: one line`)
      t.notMatch(lines()[0], SECRET, `${member}: no secret`)
      t.match(lines()[0], '[redacted]', `${member}: blanked, not dropped`)
    }
  })
}

test('every line is one JSON object that says when, which process and what', async (t) => {
  const { log, lines } = captured()
  log.warn({ worker: 3, text: 'two\nlines "quoted"' }, 'a worker\ndied')
  const [line = ''] = lines()
  t.equal(line.trimEnd().split('\n').length, 1)
  const said = JSON.parse(line)
  t.match(said, { level: 40, process: 'worker-7', pid: process.pid, worker: 3, msg: 'a worker\ndied' })
  t.match(said.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('what is too deep to be looked through is left out, and so is what goes round in circles', async (t) => {
  const { log, lines } = captured()
  const round: Record<string, unknown> = { name: 'round' }
  round.self = round
  let deep: object = { token: SECRET }
  for (let i = 0; i < 20; i++) deep = { deep }
  log.info({ round, deep }, 'said')
  t.equal(lines().length, 1)
  t.notMatch(lines()[0], SECRET)
  t.match(JSON.parse(lines()[0]!), { round: { name: 'round' }, msg: 'said' })
})

test('logging leaves what is logged as it was', async (t) => {
  const { log } = captured()
  const call = { headers: { authorization: SECRET }, list: [{ token: SECRET }] }
  log.info({ call }, 'said')
  t.same(call, { headers: { authorization: SECRET }, list: [{ token: SECRET }] })
})

test('an error is logged with its kind, its message and that of its cause', async (t) => {
  const { log, lines } = captured()
  log.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'call failed')
  const { err } = JSON.parse(lines()[0]!)
  t.equal(err.type, 'Error')
  t.match(err.message, /outer.*inner/)
  t.match(err.stack, /log\.test/)
})

test('traces in a line name the sources, those of causes and of single errors too', async (t) => {
  const { log, lines } = captured()
  const built = (message: string, cause?: Error) =>
    Object.assign(new Error(message, { cause }), {
      stack: `Error: ${message}\n    at f (${BUILT}test/base/log.test.js:20:3)`,
    })
  const several = Object.assign(built('several'), { errors: [built('one')] })
  log.error({ err: built('outer', built('inner')), other: several }, 'call failed')
  t.equal(
    lines()[0]?.match(/ {4}at f \(file:[^)]*\/test\/base\/log\.test\.ts:\d+:\d+\)/g)?.length,
    5,
    'the line',
  )
  t.notMatch(lines()[0], 'log.test.js')
})

test('what was thrown and is no error is logged as it is', async (t) => {
  const { log, lines } = captured()
  const bare = Object.assign(new Error('bare'), { stack: undefined })
  for (const err of ['a string', undefined, null, 7, { code: 'ODD' }, bare]) log.error({ err }, 'call failed')
  const logged = lines().map((line) => (JSON.parse(line) as { readonly err?: unknown }).err)
  t.match(logged, ['a string', undefined, null, 7, { code: 'ODD' }, { type: 'Error', message: 'bare' }])
})

test('what is below the level is not written', async (t) => {
  const written = { trace: 6, debug: 5, info: 4, warn: 3, error: 2, fatal: 1, silent: 0 }
  for (const level of LOG_LEVELS) {
    const { log, lines } = captured(level)
    for (const name of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log[name]('x')
    t.equal(lines().length, written[level], level)
  }
})
