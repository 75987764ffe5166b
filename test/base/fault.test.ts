import { test } from 'tap'
import { Fault, throwFault, ValidationIssue } from '../../src/base/fault.js'

test('a fault without particulars has empty ones', async (t) => {
  const fault = new Fault('unavailable')
  t.ok(fault instanceof Error)
  t.equal(fault.kind, 'unavailable')
  t.equal(fault.name, 'Fault')
  t.equal(fault.message, 'unavailable')
  t.same(fault.issues, [])
  t.same(fault.allow, [])
  t.equal(fault.retryAfter, undefined)
  t.equal(fault.detail, undefined)
  t.notOk('cause' in fault, 'no cause, not even an undefined one')
})

test('a fault carries what it was given', async (t) => {
  const cause = new Error('disk full')
  const issues = [new ValidationIssue(['body', 'name'], 'missing')]
  const fault = new Fault('invalid-input', { issues, retryAfter: 3, allow: ['GET'], detail: 'why', cause })
  t.same(fault.issues, issues)
  t.equal(fault.retryAfter, 3)
  t.same(fault.allow, ['GET'])
  t.equal(fault.detail, 'why')
  t.equal(fault.cause, cause)
})

test('the message of a fault never says its detail or its cause', async (t) => {
  const fault = new Fault('internal', { detail: 'secret detail', cause: new Error('secret cause') })
  t.equal(fault.message, 'internal')
})

test('fail throws the named fault', async (t) => {
  const read = (value: string | null): string =>
    value ?? throwFault('item-not-found', { detail: 'no such id' })
  t.equal(read('there'), 'there')
  t.throws(() => read(null), { name: 'Fault', kind: 'item-not-found', detail: 'no such id' })
})

test('an issue keeps place, rule, bound and note', async (t) => {
  const issue = new ValidationIssue(['query', 'limit'], 'at-most', 100, 'too many')
  t.same({ ...issue }, { loc: ['query', 'limit'], rule: 'at-most', bound: 100, note: 'too many' })
})
