import { test } from 'tap'
import type { RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import { idleTraceMembers, traceIdFor, traceLabels } from '../../../src/gateway/formats/trace.js'
import { Generation } from '../../../src/gateway/run/generation.js'
import { findTraceParent } from '../../../src/telemetry/opentelemetry/trace-parent.js'
import { CALLER, catalogOf, ScriptedProvider } from '../../support/providers/scripted-provider.js'

const { endpoints } = catalogOf({ 'm/one': [{ slug: 'a' }] }, () => new ScriptedProvider()).models[0]!
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

function traceParentFor(header: string, trace?: RoutedRequest['trace']): ReturnType<typeof findTraceParent> {
  const request: RoutedRequest = trace === undefined ? {} : { trace }
  const plan = { requested: 'm/one', endpoints, total: 1, version: 'c0ffee', trace: null }
  const generation = new Generation('gen-x', request, CALLER, plan, 0, 0, { traceparent: header })
  return findTraceParent(generation)
}

const HEADERS = [
  ['sampled', `00-${TRACE}-${SPAN}-01`, { traceId: TRACE, spanId: SPAN, flags: 1 }],
  ['not sampled', `00-${TRACE}-${SPAN}-00`, { traceId: TRACE, spanId: SPAN, flags: 0 }],
  ['with flags of later versions', `00-${TRACE}-${SPAN}-03`, { traceId: TRACE, spanId: SPAN, flags: 1 }],
  ['of a later version', `01-${TRACE}-${SPAN}-01`, { traceId: TRACE, spanId: SPAN, flags: 1 }],
  [
    'of a later version that says more',
    `cc-${TRACE}-${SPAN}-01-what`,
    { traceId: TRACE, spanId: SPAN, flags: 1 },
  ],
  ['of the first version with more', `00-${TRACE}-${SPAN}-01-what`, null],
  ['of no version', `ff-${TRACE}-${SPAN}-01`, null],
  ['that runs on', `01-${TRACE}-${SPAN}-01what`, null],
  ['without a trace', `00-${'0'.repeat(32)}-${SPAN}-01`, null],
  ['without a span', `00-${TRACE}-${'0'.repeat(16)}-01`, null],
  ['in capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`, null],
  ['that is absent', '', null],
] as const

for (const [what, header, expected] of HEADERS) {
  test(`a traceparent ${what} ${expected === null ? 'counts for nothing' : 'names the caller’s span'}`, async (t) => {
    t.same(traceParentFor(header), expected)
  })
}

test('the header wins over the body; a header that is none leaves the word to the body', async (t) => {
  const other = { trace_id: '1'.repeat(32), parent_span_id: '2'.repeat(16) }
  t.equal(traceParentFor(`00-${TRACE}-${SPAN}-01`, other)!.traceId, TRACE)
  t.same(traceParentFor('nonsense', other), { traceId: '1'.repeat(32), spanId: '2'.repeat(16), flags: 1 })
})

test('a trace may be named without a span in it, a span without a trace says nothing', async (t) => {
  t.same(traceParentFor('', { trace_id: TRACE }), { traceId: TRACE, spanId: null, flags: 1 })
  t.same(traceParentFor('', { trace_id: TRACE, parent_span_id: 'mine' }), {
    traceId: TRACE,
    spanId: null,
    flags: 1,
  })
  t.equal(traceParentFor('', { parent_span_id: SPAN }), null)
})

test('a trace id of any form names a trace: the same one for the same text and organization', async (t) => {
  const mine = traceParentFor('', { trace_id: 'my trace' })
  t.match(mine, { traceId: /^[0-9a-f]{32}$/, spanId: null, flags: 1 })
  t.same(traceParentFor('', { trace_id: 'my trace' }), mine)
  t.not(traceParentFor('', { trace_id: 'another' })?.traceId, mine?.traceId)
  t.equal(traceParentFor('', { trace_id: TRACE.toUpperCase() })?.traceId, TRACE)
  t.equal(traceParentFor('', { trace_id: TRACE, parent_span_id: SPAN.toUpperCase() })?.spanId, SPAN)
  t.equal(traceParentFor('', { trace_id: '' }), null)
  t.not(traceIdFor({ trace: { trace_id: 'x' } }, 'one'), traceIdFor({ trace: { trace_id: 'x' } }, 'other'))
})

test('members of a trace that can have no effect are told', async (t) => {
  t.same(idleTraceMembers({ trace: { trace_id: 'x', parent_span_id: 'mine' } }), ['trace.parent_span_id'])
  t.same(idleTraceMembers({ trace: { parent_span_id: SPAN } }), ['trace.parent_span_id'])
  t.same(idleTraceMembers({ trace: { trace_id: 'x', parent_span_id: SPAN } }), [])
  t.same(idleTraceMembers({}), [])
})

test('members of a trace that nobody knows are labels', async (t) => {
  t.same(traceLabels({ trace_id: 'x', env: 'prod', build: 7, deep: { a: [1] }, nothing: null }), [
    ['env', 'prod'],
    ['build', '7'],
    ['deep', '{"a":[1]}'],
    ['nothing', 'null'],
  ])
})
