/** Rare members in every odd shape: what comes out is what the parsers of the strictest public client take. */
import { ChatAssistantMessage$inboundSchema, ChatStreamDelta$inboundSchema } from '@openrouter/sdk/models'
import { test } from 'tap'
import { answer, chunk, completion, openAiBench, streamed } from '../../../support/clients/openai-calls.js'

/** What a server sends in a member, and what goes on; undefined when the member is left out. */
type Row = readonly [sent: unknown, kept: unknown]

const same = (value: unknown): Row => [value, value]
const detail = (sent: object, kept: object | undefined = sent): Row => [
  [sent],
  kept === undefined ? undefined : [kept],
]
const gone = (sent: object): Row => [[sent], undefined]

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  audio: [
    same({ id: 'i', data: 'AA==', transcript: 't', expires_at: 17 }),
    same({ data: 'AA==' }),
    [{ id: null, data: 'AA==' }, { data: 'AA==' }],
    [{ id: 'i', expires_at: null }, { id: 'i' }],
    [{ id: 'i', expires_at: 1.5 }, { id: 'i' }],
    [{ id: 'i', expires_at: '17', own: 1 }, { id: 'i' }],
    [{ id: null }, undefined],
    [{}, undefined],
    [[], undefined],
    ['AA==', undefined],
  ],
  images: [
    same([{ type: 'image_url', image_url: { url: 'u' }, index: 0 }]),
    [[{}, { image_url: { url: 'u' } }, null], [{ image_url: { url: 'u' } }]],
    [[{}], undefined],
    [[{ image_url: 'text' }], undefined],
    [[{ image_url: { url: 5 } }], undefined],
    [[{ image_url: null }], undefined],
    [{ image_url: { url: 'u' } }, undefined],
    ['text', undefined],
  ],
  annotations: [
    same([{ type: 'url_citation', url_citation: { url: 'u' } }]),
    [[{ type: 5 }, {}, null, 'x', { type: 'file' }], [{ type: 'file' }]],
    [{ type: 'file' }, undefined],
  ],
  reasoning_details: [
    detail({ type: 'reasoning.text', text: 't', signature: null, id: null, format: 'unknown', index: 0 }),
    detail({ type: 'reasoning.text', text: 't', own: { a: 1 } }),
    detail(
      { type: 'reasoning.text', text: 5, signature: 's', index: 'a', own: 1 },
      { type: 'reasoning.text', signature: 's', own: 1 },
    ),
    detail(
      { type: 'reasoning.text', text: 't', id: 7, format: 5, index: null },
      { type: 'reasoning.text', text: 't' },
    ),
    detail({ type: 'reasoning.summary', summary: 's' }),
    gone({ type: 'reasoning.summary' }),
    gone({ type: 'reasoning.summary', summary: null }),
    detail({ type: 'reasoning.encrypted', data: 'd', format: 'own-format' }),
    detail(
      { type: 'reasoning.encrypted', data: 'd', index: 1.5 },
      { type: 'reasoning.encrypted', data: 'd' },
    ),
    gone({ type: 'reasoning.encrypted', data: 5 }),
    detail({ type: 'reasoning.server_tool_call', tool_name: 'n', arguments: '{}', result: 'r' }),
    detail(
      { type: 'reasoning.server_tool_call', tool_name: 'n', arguments: '{}', result: 'r', tool_call_id: 1 },
      { type: 'reasoning.server_tool_call', tool_name: 'n', arguments: '{}', result: 'r' },
    ),
    gone({ type: 'reasoning.server_tool_call', tool_name: 'n', arguments: {}, result: 'r' }),
    detail({ type: 'own', anything: [1] }),
    gone({ type: null }),
    [[null, 5, 'x'], undefined],
    [{ type: 'reasoning.text' }, undefined],
  ],
}

for (const [name, rows] of Object.entries(ROWS)) {
  for (const [sent, kept] of rows) {
    const expected = { content: 'x', ...(kept !== undefined && { [name]: kept }) }

    test(`${name} of ${JSON.stringify(sent)} in a whole answer`, async (t) => {
      const { provider } = await openAiBench(t, (peer) => peer.json(answer({ content: 'x', [name]: sent })))
      const { message } = (await completion(provider)).choices[0]!
      t.strictSame(message, { role: 'assistant', refusal: null, ...expected })
      t.ok(ChatAssistantMessage$inboundSchema.safeParse(message).success)
    })

    test(`${name} of ${JSON.stringify(sent)} in a stream`, async (t) => {
      const { provider } = await openAiBench(t, (peer) =>
        peer.stream([chunk({ content: 'x', [name]: sent }, 'stop')]),
      )
      const one = streamed(provider)
      t.equal(await one.end.opened, 'ended')
      const [event] = one.events
      t.strictSame(event, { type: 'delta', choice: 0, delta: expected })
      t.ok(ChatStreamDelta$inboundSchema.safeParse((event as { delta: unknown }).delta).success)
    })
  }
}
