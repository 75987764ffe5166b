/** Counting where the provider does not: a tokenizer's count, and nothing sent (contract/gateway 5.9). */
import tap, { test } from 'tap'
import { askMessages, message } from '../../support/clients/messages-calls.js'
import { chatBench, MODEL, mockCompletion } from '../../support/servers/chat-bench.js'

const { server, upstream } = await chatBench(tap, {
  script: (peer) => peer.json(mockCompletion('never asked for')),
})

async function counted(more: object): Promise<number> {
  const { max_tokens: _, ...request } = message({ model: MODEL, ...more })
  const asked = await askMessages(server, request, {}, '/messages/count_tokens')
  const { input_tokens, ...rest } = asked.json()
  if (asked.status !== 200 || Object.keys(rest).length > 0) throw new Error(asked.text)
  return input_tokens
}

const said = (content: unknown): object => ({ messages: [{ role: 'user', content }] })
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64')
const PICTURE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }
const TOOL = { name: 'lookup', description: 'Looks a word up.', input_schema: { type: 'object' } }

test('everything a model would read counts', async (t) => {
  const word = await counted(said('hello'))
  t.ok(word > 0 && word < 10, `one word is ${word}`)
  t.equal(await counted(said([{ type: 'text', text: 'hello' }])), word, 'in either form')
  t.equal(await counted(said('hello '.repeat(100).trim())), word + 99)
  for (const more of [
    { system: 'be brief' },
    { tools: [TOOL] },
    { tools: [{ type: 'service:datetime' }] },
    said([PICTURE, { type: 'text', text: 'hello' }]),
  ]) {
    t.ok((await counted({ ...said('hello'), ...more })) > word, JSON.stringify(more))
  }
})

test('nothing is sent to the provider for it', async (t) => {
  await counted({})
  t.equal(upstream.requests.length, 0)
})
