/** contract/gateway 5.5: blocks are open. What nobody checks may cost its caller an answer, never others theirs. */
import { after, test } from 'tap'
import { childrenOf } from '../../../bench/harness/machine/proc.js'
import { askMessages, message } from '../../support/clients/messages-calls.js'
import { askChat, type Json, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

/** It takes a minute, so that whoever leaves does so before its end, on a machine that is busy as well. */
const SLOW = 'acme/slow'
const simulation = { tokens: { constant: 3_000 }, gap_ms: { constant: 20 } }
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: { models: { [SLOW]: { endpoints: [{ provider: 'sim', simulation }] } } },
})
after(() => server.stop())

function workers(): string {
  return childrenOf(server.pid).join(' ')
}

const HOLDS_NULL: readonly Json[] = [
  { type: 'web_fetch_tool_result', tool_use_id: 'a', content: { content: [{ content: [null] }] } },
  { type: 'brand_new', content: [null], source: { content: [null, { source: null }] } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'a',
    content: [{ type: 'tool_use', name: { toString: 1 } }],
  },
]

/** Asks for a stream, leaves after its first event, and tells the id of the generation. */
async function leaveEarly(content: Json): Promise<string> {
  const leaving = new AbortController()
  const messages = [{ role: 'user', content }]
  const asked = message({ model: SLOW, max_tokens: 3_000, stream: true, messages })
  const response = await server.post('/messages', asked, { signal: leaving.signal })
  if (response.status !== 200) throw new Error(`answered ${response.status}: ${await response.text()}`)
  await response.body!.getReader().read()
  leaving.abort()
  return response.headers.get('x-generation-id')!
}

async function generation(id: string): Promise<Json> {
  const response = await server.get(`/generation?id=${id}`)
  const told = (await response.json()) as Json
  return response.status === 200 ? told.data : null
}

test('a stream whose blocks hold null is left: it is settled, its worker lives, and others are served', async (t) => {
  const before = workers()
  const text = { type: 'text', text: 'hello' }
  const other = askMessages(server, message({ model: 'sim/fast', stream: true }))
  for (const block of HOLDS_NULL) {
    const id = await leaveEarly([text, block])
    const settled = await eventually(() => generation(id))
    t.match(settled, { id, cancelled: true })
    t.ok(settled.tokens_prompt > 0, 'with what was asked')
    t.equal(
      (await askChat(server, { model: 'sim/instant', messages: [{ role: 'user', content: 'hi' }] })).status,
      200,
    )
  }
  t.equal((await other).events().at(-1).type, 'message_stop', 'a stream beside them comes to its end')
  t.equal(workers(), before, 'no worker has died')
})

test('such blocks are answered and counted as any others', async (t) => {
  for (const block of HOLDS_NULL) {
    const messages = [{ role: 'user', content: [block] }]
    t.equal((await askMessages(server, message({ messages }))).status, 200)
    const counted = await askMessages(server, message({ messages }), {}, '/messages/count_tokens')
    t.ok(counted.json().input_tokens > 0)
  }
})

test('a source is read by its kind, whatever stands beside', async (t) => {
  const url = 'https://example.org/a.png'
  for (const more of [{ data: 5 }, { data: null, file_id: {} }, { file_id: [] }]) {
    const content = [{ type: 'image', source: { type: 'url', url, ...more } }]
    const asked = await askMessages(server, message({ messages: [{ role: 'user', content }] }))
    t.equal(asked.status, 200, JSON.stringify(more))
  }
})
