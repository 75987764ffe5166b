import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { keepKnown } from '../../../../src/base/known-json.js'
import type { ChatRequest } from '../../../../src/gateway/formats/canonical.js'
import { writePlainBody } from '../../../../src/gateway/providers/openai/plain-body.js'
import { buildChatBody } from '../../../../src/gateway/providers/openai/provider.js'
import { providerCall } from '../../../support/clients/openai-calls.js'

const RUNS = 10_000

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('', '"', '\\', '\u2028', '\ud800', '\u0000', '</script>', 'x'.repeat(16_385)),
)
const figure = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, min: -2, max: 2 }),
  fc.constantFrom(null, undefined, -0, Number.POSITIVE_INFINITY, 2 ** 53 + 2, 1e21, 1e-7),
)
const role = fc.constantFrom('user', 'system', 'developer', 'assistant')
const plainMessage = fc.oneof(
  fc.record({ role, content: text }),
  fc.record({ content: text, role }, { noNullPrototype: true }),
)
const otherMessage = fc.oneof(
  fc.record({ role, content: text, name: text }),
  fc.record({ role, content: fc.constantFrom(null, undefined) }),
  fc.record({ role: fc.constant('user'), content: fc.constant([{ type: 'text', text: 'x' }]) }),
  fc.record({ role: fc.constant('tool'), content: text, tool_call_id: text }),
  fc.record({ role: fc.constant('assistant'), content: text, refusal: fc.constantFrom(null, 'no') }),
  fc.record({ role: fc.constant('assistant'), content: text, model: text }),
  fc.record({ role: fc.constant('system'), content: text, configuration_update: fc.constant(null) }),
)
const figures = fc.record(
  {
    temperature: figure,
    top_p: figure,
    seed: figure,
    frequency_penalty: figure,
    presence_penalty: figure,
    max_tokens: figure.filter((value) => value !== Number.POSITIVE_INFINITY),
    max_completion_tokens: figure,
  },
  { requiredKeys: [], noNullPrototype: true },
)
const silent = fc.record(
  {
    user: text,
    session_id: text,
    models: fc.constant(['a', 'b']),
    provider: fc.constantFrom(null, { order: ['x'] }),
    route: fc.constantFrom(null, 'fallback'),
    metadata: fc.constant({ a: 'b' }),
    trace: fc.constant({ trace_id: 'a' }),
    stream_options: fc.constant({ include_usage: false }),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const tooled = fc.record(
  {
    tools: fc.constantFrom<object | null>(
      keepKnown([
        { type: 'function', function: { name: 'f', description: '"\u2028', parameters: { file_id: 1 } } },
      ]),
      keepKnown([{ type: 'function', function: { name: 'f' }, cache_control: { type: 'ephemeral' } }]),
      keepKnown([{ type: 'web_search_20250305' }]),
      [{ type: 'function', function: { name: 'g' } }],
      null,
    ),
    tool_choice: fc.constantFrom<unknown>('auto', 'none', 'required', null, {
      type: 'function',
      function: { name: 'f' },
    }),
    parallel_tool_calls: fc.constantFrom(true, false, null),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const rare = fc.constantFrom<object>(
  { stop: ['a'] },
  { tools: [] },
  { extra: { top_n: 1 } },
  { reasoning: { effort: 'low' } },
  { prompt_cache_key: 'k' },
  { response_format: { type: 'text' } },
  { debug: { echo_upstream_body: true } },
  { cache_control: { type: 'ephemeral' } },
  { some_new_member: 'x' },
)
const request = fc
  .record({
    messages: fc.array(
      fc.oneof({ weight: 12, arbitrary: plainMessage }, { weight: 1, arbitrary: otherMessage }),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
    figures,
    silent,
    tooled: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: tooled }),
    rare: fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: rare }),
  })
  .map(({ messages, ...members }) => {
    const all = { messages, ...members.figures, ...members.silent, ...members.tooled, ...members.rare }
    return all as unknown as Partial<ChatRequest>
  })

test('the text of a plain body is what its object comes to, byte for byte', async (t) => {
  let written = 0
  fc.assert(
    fc.property(
      request,
      fc.boolean(),
      fc.constantFrom(undefined, undefined, undefined, 'priority'),
      (asked, stream, serviceTier) => {
        const call = { ...providerCall(asked), serviceTier }
        const plain = writePlainBody(call, stream)
        if (plain === null) return
        written++
        assert.equal(plain, JSON.stringify(buildChatBody(call, stream)))
      },
    ),
    { numRuns: RUNS },
  )
  t.ok(written > RUNS / 10, `${written} of ${RUNS} were plain`)
})

test('what a provider must not see, or not as it came, is left to the object', async (t) => {
  const rest: object[] = [
    { tools: [] },
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    { tools: keepKnown([{ type: 'service:web_search' }]) },
    { tool_choice: { type: 'function', function: { name: 'f' } } },
    { extra: { a: 1 } },
    { prompt_cache_key: 'k' },
    { debug: { echo_upstream_body: true } },
    { files: [] },
    { unheard_of: 1 },
    { messages: [{ role: 'user', content: 'a', file_id: 'file-1' }] },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] },
    { messages: [{ role: 'assistant', content: null }] },
    { messages: [{ role: 'user' }] },
    { temperature: Number.NaN },
  ]
  for (const members of rest)
    t.equal(writePlainBody(providerCall(members), false), null, JSON.stringify(members))
})
