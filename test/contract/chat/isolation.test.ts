/** What one organization's calls come to is no other's concern (contract/decisions 64). */
import tap, { test } from 'tap'
import { chatBench, MODEL, mockCompletion } from '../../support/servers/chat-bench.js'
import { type Asked, askChat, type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

/** The provider fails at some requests and at no others; two workers tell each other of it. */
const { server, upstream } = await chatBench(tap, {
  provider: { breaker: true },
  env: { SLUICE_WORKERS: '2' },
  script: (peer, { body }) => {
    if (body.includes('poison')) peer.json({ error: { message: 'it broke' } }, 500)
    else peer.json(mockCompletion('fine'))
  },
})

async function post(path: string, key: string, body: object): Promise<Json> {
  return (await server.post(path, body, { key })).json()
}

/** An ordinary key of a new organization. */
async function tenant(limits: object = {}): Promise<string> {
  const { key: management } = await post('/organizations', MANAGEMENT_KEY, { name: 'tenant' })
  return (await post('/keys', management, { name: 'x', ...limits })).key
}

function ask(key: string, content: string): Promise<Asked> {
  const headers = { Authorization: `Bearer ${key}`, Connection: 'close' }
  return askChat(server, { model: MODEL, messages: [{ role: 'user', content }], max_tokens: 1 }, headers)
}

test('failing calls of one organization shut that one out, soon and for nothing, and nobody else', async (t) => {
  const [bad, good] = [await tenant({ limit: 0.01 }), await tenant()]
  const statuses: number[] = []
  for (let call = 0; call < 60; call++) {
    statuses.push((await ask(bad, 'poison')).status)
    if (call % 6 === 0) t.equal((await ask(good, 'hello')).status, 200)
  }
  const failed = statuses.filter((status) => status === 502).length
  t.ok(failed >= 5 && failed <= 15, `${failed} of 60 have reached the provider`)
  t.equal(upstream.requests.filter(({ body }) => body.includes('poison')).length, failed)
  // A second after it was shut out one call may try again.
  const refused = await eventually(async () => {
    const answer = await ask(bad, 'poison')
    return answer.status === 503 && answer
  })
  t.match(refused.headers.get('retry-after'), /^[1-9]/)
  t.equal((await ask(good, 'hello')).status, 200)
})
