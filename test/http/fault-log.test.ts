/** What the log says of calls that were refused, and how much of it. */
import { test } from 'tap'
import { Fault, invalidInput, ValidationIssue } from '../../src/base/fault.js'
import { createLog, type LogLevel } from '../../src/base/log.js'
import { FaultLog } from '../../src/http/fault-log.js'
import type { HttpCall } from '../../src/transport/exchange.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const CALL = { requestId: 'req-1' } as HttpCall

function logAt(level: LogLevel, tellsRefusals = true) {
  const lines: Record<string, unknown>[] = []
  const log = createLog(level, 'test', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const clock = new FakeClock()
  const faults = new FaultLog(log, tellsRefusals, (ms, task) => void clock.runAfter(ms, task))
  return { faults, lines, clock }
}

test('a refusal is one line with operation, field and message, and without what is for debugging', async (t) => {
  const { faults, lines } = logAt('info')
  faults.record(invalidInput(['body', 'temperature'], 'must be at most 2'), 400, 'chat', CALL)
  const issues = [
    new ValidationIssue(['body', 'messages', 0], 'at-most', 2),
    new ValidationIssue(['body'], 'missing'),
  ]
  faults.record(new Fault('invalid-input', { issues }), 400, 'chat', CALL)
  faults.record(new Fault('forbidden', { note: 'Not yours', detail: 'the reason' }), 403, 'create_file', CALL)
  t.match(lines, [
    { level: 30, operation: 'chat', status: 400, field: 'body.temperature', message: 'must be at most 2' },
    { field: 'body.messages.0', message: 'must be at most 2' },
    { level: 30, operation: 'create_file', fault: 'forbidden', message: 'Not yours', msg: 'call refused' },
  ])
  t.notMatch(JSON.stringify(lines), 'the reason')
})

test('a provider that fails a call outside inference is no error of ours, and its line says how', async (t) => {
  const { faults, lines } = logAt('info')
  const metadata = { error_type: 'provider_unavailable', provider_name: 'theirs' } as const
  const fault = new Fault('provider-failed', { metadata, detail: 'theirs: answered 500', cause: new Error() })
  faults.record(fault, 502, 'read_file', CALL)
  faults.record(new Fault('unavailable', fault), 503, 'read_file', CALL)
  faults.record(fault.withGeneration({ id: 'gen-1', serviceMetadata: null }), 502, 'chat', CALL)
  t.match(lines, [
    { level: 30, operation: 'read_file', status: 502, detail: 'theirs: answered 500' },
    { level: 30, operation: 'read_file', status: 503 },
  ])
  t.equal(lines.length, 2)
  faults.record(new Fault('internal', { metadata }), 500, 'chat', CALL)
  t.match(lines[2], { level: 50, status: 500 })
})

test('a call without an operation is told with its path, and a key in it is not', async (t) => {
  const { faults, lines } = logAt('info')
  faults.record(
    new Fault('not-found', { note: 'use /docs' }),
    404,
    'unmatched',
    CALL,
    '/v1/sk-sluice-v1-abc_D-e/x',
  )
  faults.record(new Fault('not-found'), 404, 'unmatched', CALL, `/${'x'.repeat(5000)}`)
  t.match(lines, [{ operation: 'unmatched', path: '/v1/sk-…/x', message: 'use /docs' }, { status: 404 }])
  t.equal(String(lines[1]?.path).length, 200)
})

test('where no single call is to be told a refusal is not, and what we failed at is', async (t) => {
  const { faults, lines } = logAt('info', false)
  for (let n = 0; n < 20; n++) faults.record(new Fault('item-not-found'), 404, 'read_item', CALL)
  faults.record(new Fault('internal'), 500, 'read_item', CALL)
  t.match(lines, [{ level: 50, status: 500 }])
  t.equal(lines.length, 1)
})

test('when debugging the reason is told as well', async (t) => {
  const { faults, lines } = logAt('debug')
  faults.record(new Fault('invalid-grant', { detail: 'the reason' }), 400, 'exchange', CALL)
  t.match(lines, [{ level: 20, detail: 'the reason' }])
})

test('of a flood of refusals ten a second are told, and how many more there were', async (t) => {
  const { faults, lines, clock } = logAt('info')
  for (let second = 0; second < 3; second++) {
    for (let n = 0; n < 1_000; n++) faults.record(new Fault('item-not-found'), 404, 'read_item', CALL)
    clock.advance(1_000)
  }
  t.equal(lines.length, 33)
  t.match(
    lines.filter(({ msg }) => msg === 'further calls were refused'),
    [{ level: 30, leftOut: 990 }, { leftOut: 990 }, { leftOut: 990 }],
  )
  t.equal(clock.pending, 0, 'nothing is left running')
  faults.record(new Fault('item-not-found'), 404, 'read_item', CALL)
  clock.advance(1_000)
  t.equal(lines.length, 34)
})

test('of a store that takes nothing ten failures a second are told, and how many more there were', async (t) => {
  const { faults, lines, clock } = logAt('error')
  const cause = new Error('ENOSPC')
  for (let n = 0; n < 500; n++) faults.record(new Fault('unavailable', { cause }), 503, 'create_item', CALL)
  clock.advance(1_000)
  t.equal(lines.length, 11)
  t.match(lines.at(-1), { level: 50, leftOut: 490 })
})

test('at a higher level refusals cost nothing, and failures of ours are told however many there are', async (t) => {
  const { faults, lines, clock } = logAt('warn')
  for (let n = 0; n < 100; n++) faults.record(new Fault('item-not-found'), 404, 'read_item', CALL)
  t.equal(clock.pending, 0)
  for (let n = 0; n < 100; n++) faults.record(new Fault('internal'), 500, 'read_item', CALL)
  t.equal(lines.length, 100)
})

test('what the server says it does not do is a refusal and no failure', async (t) => {
  const { faults, lines } = logAt('info')
  faults.record(new Fault('not-implemented', { note: 'No bulk' }), 501, 'bulk', CALL)
  t.match(lines, [{ level: 30, status: 501, message: 'No bulk', msg: 'call refused' }])
})
