import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { keepKnown } from '../../../../src/base/known-json.js'
import type { MessagesRequest } from '../../../../src/gateway/formats/messages.js'
import { writePlainBody } from '../../../../src/gateway/providers/anthropic/plain-body.js'
import { buildMessagesBody } from '../../../../src/gateway/providers/anthropic/provider.js'
import { refuseAccountReference } from '../../../../src/gateway/providers/http/server.js'
import { messagesCall } from '../../../support/clients/messages-face-calls.js'

const RUNS = 10_000

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('', '"', '\\', '\u2028', '\ud800', '\u0000', '</script>', 'x'.repeat(16_385)),
)
const figure = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, min: -2, max: 2 }),
  fc.constantFrom(undefined, -0, Number.POSITIVE_INFINITY, 2 ** 53 + 2, 1e21, 1e-7),
)
const block = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant('text'), text }, { noNullPrototype: true }) },
  fc.record({ text, type: fc.constant('text') }, { noNullPrototype: true }),
  fc.constantFrom<object>(
    { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'a', citations: [] },
    { type: 'image', source: { type: 'url', url: 'http://127.0.0.1/a.png' } },
    { type: 'thinking', thinking: 'a', signature: 's' },
    { type: 'text', file_id: 'file-1' },
    { type: 'text' },
  ),
)
const content = fc.oneof(text, fc.array(block, { maxLength: 4 }))
const message = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(
      { role: fc.constantFrom('user', 'assistant', 'system'), content },
      { noNullPrototype: true },
    ),
  },
  fc.record({ content, role: fc.constant('user') }, { noNullPrototype: true }),
  fc.record(
    { role: fc.constant('user'), content, clear_at: fc.constant('never') },
    { noNullPrototype: true },
  ),
)
const tools = fc.constantFrom<object>(
  keepKnown([{ name: 'f', description: '"', input_schema: { type: 'object', file_id: 'no reference' } }]),
  keepKnown([{ name: 'f', file_id: 'file-1' }]),
  keepKnown([{ name: 'f', cache_control: { type: 'ephemeral' } }]),
  [{ name: 'g', input_schema: {} }],
)
const members = fc.record(
  {
    max_tokens: figure,
    temperature: figure,
    top_p: figure,
    top_k: figure,
    system: fc.oneof(content, fc.constant(undefined)),
    tools,
    tool_choice: fc.constantFrom<object>(
      { type: 'auto' },
      { disable_parallel_tool_use: true, type: 'any' },
      { type: 'tool', name: '"' },
      { type: 'auto', file_id: 'file-1' },
    ),
    user: text,
    session_id: text,
    models: fc.constant(['a', 'b']),
    provider: fc.constantFrom(null, { order: ['x'] }),
    trace: fc.constant({ trace_id: 'a' }),
    stream: fc.boolean(),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const rare = fc.constantFrom<object>(
  { stop_sequences: ['a'] },
  { extra: { top_n: 1 } },
  { thinking: { type: 'disabled' } },
  { speed: 'fast' },
  { service_tier: 'auto' },
  { cache_control: { type: 'ephemeral' } },
  { debug: { echo_upstream_body: true } },
  { container: { skills: [] } },
  { some_new_member: 'x' },
)
const request = fc
  .record({
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    members,
    rare: fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: rare }),
  })
  .map(
    (all) => ({ messages: all.messages, ...all.members, ...all.rare }) as unknown as Partial<MessagesRequest>,
  )

test('the text of a plain body is what its object comes to, byte for byte, and refers to nothing', async (t) => {
  let written = 0
  fc.assert(
    fc.property(request, fc.boolean(), (asked, stream) => {
      const call = messagesCall(asked)
      const plain = writePlainBody(call, stream)
      if (plain === null) return
      written++
      const built = buildMessagesBody(call, stream)
      assert.equal(plain, JSON.stringify(built))
      assert.equal(refuseAccountReference(built), null)
    }),
    { numRuns: RUNS },
  )
  t.ok(written > RUNS / 20, `${written} of ${RUNS} were plain`)
})

test('what a provider must not see, or not as it came, is left to the object', async (t) => {
  const rest: object[] = [
    { tools: [{ name: 'f' }] },
    { tools: keepKnown([{ name: 'f', container: 'c' }]) },
    { tool_choice: { type: 'auto', file_id: 'f' } },
    { extra: { a: 1 } },
    { service_tier: 'auto' },
    { cache_control: { type: 'ephemeral' } },
    { files: [] },
    { messages: [{ role: 'user', content: 'a', file_id: 'file-1' }] },
    { messages: [{ role: 'user', content: [{ type: 'image' }] }] },
    { system: [{ type: 'text', text: 'a', citations: null }] },
    { temperature: Number.NaN },
    { messages: Array.from({ length: 20 }, () => ({ role: 'user', content: 'x'.repeat(16_000) })) },
  ]
  for (const each of rest)
    t.equal(writePlainBody(messagesCall(each), false), null, JSON.stringify(each).slice(0, 60))
})
