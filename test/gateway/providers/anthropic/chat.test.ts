import { test } from 'tap'
import type { ModelEndpoint } from '../../../../src/gateway/catalog/catalog.js'
import type { ProviderFailure } from '../../../../src/gateway/providers/port/provider.js'
import { DEFAULT_MAX_TOKENS } from '../../../../src/gateway/translation/chat-over-messages/request.js'
import { assembledCompletion } from '../../../support/clients/chat-assembled.js'
import { textBlock } from '../../../support/clients/messages-face-calls.js'
import { completed, completion, providerCall, streamed } from '../../../support/clients/openai-calls.js'
import {
  anthropicBench,
  breakingOff,
  refusing,
  speaking,
  wireEvents,
} from '../../../support/providers/mock-anthropic.js'
import { eventually } from '../../../support/timing/eventually.js'

const HELLO = { content: [textBlock('Hello you')] }

test('the body that was sent is shown before the first event, when asked for', async (t) => {
  const { mock, provider } = await anthropicBench(t, speaking(HELLO))
  const one = streamed(provider, providerCall({ debug: { echo_upstream_body: true } }))
  await one.end.opened
  t.equal(one.told[0], 'sent')
  t.same(one.body, JSON.parse(mock.requests[0]!.body))
  t.notOk('debug' in (one.body as object))
  const silent = streamed(provider)
  await silent.end.opened
  t.notOk(silent.told.includes('sent'))
})

const LIMITS: readonly (readonly [string, object, number | null, number])[] = [
  ['the caller’s', { max_tokens: 7 }, 50, 7],
  ['the caller’s, by its newer name', { max_tokens: 7, max_completion_tokens: 9 }, 50, 9],
  ['the configured one', {}, 50, 50],
  ['a default', {}, null, DEFAULT_MAX_TOKENS],
  ['a default beside the thinking', { reasoning: { max_tokens: 2000 } }, null, DEFAULT_MAX_TOKENS + 2000],
]

for (const [name, request, maxCompletionTokens, expected] of LIMITS) {
  test(`the limit of the answer, which the format needs, is ${name}`, async (t) => {
    const { mock, provider } = await anthropicBench(t, speaking(HELLO))
    const endpoint = { ...providerCall().endpoint, maxCompletionTokens } as ModelEndpoint
    await completion(provider, providerCall(request, { endpoint }))
    t.equal((JSON.parse(mock.requests[0]!.body) as { max_tokens: number }).max_tokens, expected)
  })
}

test('a stream cancelled in the middle closes its socket and tells nothing more', async (t) => {
  const { mock, client, provider } = await anthropicBench(t, breakingOff(wireEvents(HELLO).slice(0, 4)))
  const one = streamed(provider)
  await one.first.opened
  one.flow.cancel()
  await mock.peers[0]!.closed()
  await eventually(() => client.sockets() === 0 && client.inFlight() === 0)
  t.same(one.told, ['delta'])
})

test('failures are those of the provider, before the first event and after it', async (t) => {
  const { mock, provider } = await anthropicBench(t, refusing(529, 'overloaded_error'))
  const overloaded = { fault: { kind: 'provider-overloaded' }, class: 'refused', status: 529 }
  t.match(await completed(provider).end.opened, overloaded)
  t.match(await streamed(provider).end.opened, overloaded)
  mock.script = breakingOff(wireEvents(HELLO).slice(0, 4), (peer) => peer.endChunks())
  const cut = streamed(provider)
  t.match((await cut.end.opened) as ProviderFailure, {
    fault: { kind: 'provider-failed' },
    class: 'maybe-processed',
  })
  t.same(cut.told, ['delta', 'failed'])
})

test('members that should be texts and are none say nothing', async (t) => {
  const odd = { toString: 1, valueOf: 1 }
  const content = [
    { type: 'text', text: odd },
    { type: 'thinking', thinking: odd },
    { type: 'redacted_thinking', data: odd },
    { type: 'tool_use', id: odd, name: odd, input: {} },
    textBlock('Hello you'),
  ]
  const { mock, provider } = await anthropicBench(t, speaking({ content }))
  const { message } = (await completion(provider)).choices[0]!
  t.equal(message.content, 'Hello you')
  const deltas = ['text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta'].map((type) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type, text: odd, thinking: odd, signature: odd, partial_json: odd },
  }))
  const events = wireEvents(HELLO)
  events.splice(
    events.findIndex(({ type }) => type === 'content_block_delta'),
    0,
    ...deltas,
  )
  mock.script = breakingOff(events)
  const stream = streamed(provider)
  t.equal(await stream.end.opened, 'ended')
  t.equal(assembledCompletion(stream.events).choices[0]!.message.content, 'Hello you')
})
