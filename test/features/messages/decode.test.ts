/** What becomes of a messages body on its way to the gateway (contract/gateway 1.3, 5.1). */
import { test } from 'tap'
import { counted, decoded, decodedOf, refusal, SMALLEST, withMembers, withSaid } from './messages-bodies.js'

test('the smallest request passes as it is', async (t) => {
  t.strictSame(decoded(SMALLEST), SMALLEST)
})

test('fallbacks become models', async (t) => {
  const named = withMembers({ fallbacks: [{ model: 'a/b' }, { model: 'c/d' }] })
  t.strictSame(decoded(named).models, ['a/b', 'c/d'])
  for (const none of [
    { fallbacks: null },
    { fallbacks: [] },
    { models: [] },
    { fallbacks: null, models: [] },
  ])
    t.strictSame(decodedOf(none), SMALLEST, JSON.stringify(none))
  t.strictSame(decodedOf({ fallbacks: null, models: ['a/b'] }).models, ['a/b'])
})

test('the user of the metadata counts where no other is named, and metadata go no further', async (t) => {
  t.strictSame(decodedOf({ metadata: { user_id: 'm' } }), { ...SMALLEST, user: 'm' })
  t.equal(decodedOf({ metadata: { user_id: 'm' }, user: 'u' }).user, 'u')
  t.strictSame(decodedOf({ metadata: { user_id: null } }), SMALLEST)
})

test('the session of the header counts where the body names none', async (t) => {
  t.equal(decoded(SMALLEST, 'from-header').session_id, 'from-header')
  t.equal(decoded(withMembers({ session_id: 'from-body' }), 'from-header').session_id, 'from-body')
  t.equal(decoded(SMALLEST).session_id, undefined)
  t.equal(refusal(SMALLEST, 'x'.repeat(256)), null)
  t.equal(refusal(SMALLEST, 'x'.repeat(257)), 'x-session-id: must have at most 256 characters')
})

test('what has been judged and says nothing to a provider is gone', async (t) => {
  const spent = {
    plugins: [{ id: 'web', enabled: false }],
    store: false,
    mcp_servers: [],
    background: false,
  }
  t.strictSame(decodedOf(spent), SMALLEST)
  for (const nothing of [false, [], null])
    for (const name of ['store', 'conversation', 'mcp_servers', 'thread', 'cached_content'])
      t.strictSame(decodedOf({ [name]: nothing }), SMALLEST)
})

test('a choice where there are no tools is no choice', async (t) => {
  t.strictSame(decodedOf({ tools: [], tool_choice: { type: 'auto' } }), SMALLEST)
  t.strictSame(decodedOf({ tool_choice: { type: 'none' } }), SMALLEST)
})

test('blocks, tools and settings keep the members nobody here knows', async (t) => {
  const block = { type: 'tool_use', id: 'a', name: 'b', input: { c: [1] }, later: { d: 1 } }
  const body = withSaid(block) as { messages: object[] }
  t.strictSame(decoded(body).messages, body.messages)
  const tools = [{ type: 'later_20300101', name: 'x', more: { a: 1 } }]
  const thinking = { type: 'adaptive', later: 1 }
  const asked = decodedOf({ tools, thinking, output_config: { later: 2 } })
  t.strictSame([asked.tools, asked.thinking, asked.output_config], [tools, thinking, { later: 2 }])
})

test('a conversation is handed on itself and not copied', async (t) => {
  const body = withSaid({ type: 'thinking', thinking: 'a', signature: 'b' }) as { messages: object[] }
  t.equal(decoded(body).messages as unknown, body.messages)
})

test('counting needs no max_tokens, and keeps the other rules', async (t) => {
  const { max_tokens: _, ...rest } = SMALLEST
  t.same(counted.decoded(rest).messages, SMALLEST.messages)
  for (const more of [{ tool_choice: { type: 'any' } }, { messages: [] }, { max_tokens: 0 }])
    t.type(counted.refusal({ ...rest, ...more }), 'string', JSON.stringify(more))
})
