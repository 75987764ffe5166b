/** What is refused before a provider hears of it (contract/gateway 1 and 2, contract/decisions 5 to 11 and 33). */
import tap, { test } from 'tap'
import { askRaw, type RawReply } from '../../support/clients/raw-http.js'
import { chatBench, MODEL, mockCompletion } from '../../support/servers/chat-bench.js'
import { API_KEY, askChat, type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'

const { server, upstream } = await chatBench(tap, {
  script: (peer) => peer.json(mockCompletion('never asked for')),
})

const BODY = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hi' }] })

function body(more: object): string {
  return JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hi' }], ...more })
}

const pairs = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))

/** One call with exactly these headers; the status and body of its answer. */
function raw(headers: readonly (readonly [string, string])[], text?: string): Promise<RawReply> {
  const parts = { method: 'POST', target: '/api/v1/chat/completions', headers }
  return askRaw(server.port, text === undefined ? parts : { ...parts, body: text })
}

const BAD_BODIES = [
  ['malformed JSON', '{', /JSON/],
  ['no body', '', /body/],
  ['no object', '[]', /object/],
  ['no messages', '{"model":"acme/mock"}', /messages/],
  ['empty messages', body({ messages: [] }), /messages/],
  ['an unknown role', body({ messages: [{ role: 'robot', content: 'x' }] }), /messages\.0\.role/],
  ['content of the wrong type', body({ messages: [{ role: 'user', content: 7 }] }), /messages\.0\.content/],
  ['neither model nor models', '{"messages":[{"role":"user","content":"x"}]}', /model/],
  ['a malformed model', body({ model: '' }), /model/],
  ['five stop strings', body({ stop: ['a', 'b', 'c', 'd', 'e'] }), /stop/],
  ['17 metadata pairs', body({ metadata: pairs(17) }), /metadata/],
  ['temperature 2.1', body({ temperature: 2.1 }), /temperature/],
  ['conflicting efforts', body({ reasoning_effort: 'low', reasoning: { effort: 'high' } }), /reasoning/],
  ['a session id of 257', body({ session_id: 's'.repeat(257) }), /session_id/],
  ['an end user of 257', body({ user: 'u'.repeat(257) }), /user/],
  ['top_logprobs without logprobs', body({ top_logprobs: 2 }), /top_logprobs/],
  ['an unknown plugin', body({ plugins: [{ id: 'nope' }] }), /plugins\.0/],
  ['a plugin that is not configured', body({ plugins: [{ id: 'web' }] }), /plugins\.0/],
  ['a server tool that is switched off', body({ tools: [{ type: 'service:bash' }] }), /tools\.0.*bash/],
] as const

for (const [what, text, named] of BAD_BODIES) {
  test(`400 naming the field: ${what}`, async (t) => {
    const asked = await askChat(server, text)
    t.equal(asked.status, 400)
    const { error } = asked.json()
    t.equal(error.code, 400)
    t.match(error.message, named)
    t.equal(upstream.requests.length, 0)
  })
}

test('400: a session id of 257 in the header', async (t) => {
  const asked = await askChat(server, BODY, { 'x-session-id': 's'.repeat(257) })
  t.equal(asked.status, 400)
  t.match(asked.json().error.message, /x-session-id/)
})

test('404: an unknown model', async (t) => {
  const asked = await askChat(server, body({ model: 'acme/unknown' }))
  t.equal(asked.status, 404)
  t.match(asked.json().error, { code: 404, message: /acme\/unknown/ })
})

test('413: a body over the limit, before a byte of it is read', async (t) => {
  const length = String(21 * 1024 * 1024)
  const reply = await raw([
    ['Authorization', `Bearer ${API_KEY}`],
    ['Content-Length', length],
  ])
  t.equal(reply.status, 413)
  t.match(JSON.parse(reply.body.toString()), { error: { code: 413 } })
})

const MISSING = 'Missing Authentication header'
const INVALID = 'Invalid credentials'

const CREDENTIALS: readonly (readonly [string, [string, string][], string])[] = [
  ['none', [], MISSING],
  ['an empty Authorization', [['Authorization', '']], MISSING],
  ['a wrong key', [['Authorization', 'Bearer sk-wrong']], INVALID],
  ['another scheme', [['Authorization', `Basic ${API_KEY}`]], INVALID],
  ['no token', [['Authorization', 'Bearer']], INVALID],
  ['a key cut by one character', [['Authorization', `Bearer ${API_KEY.slice(0, -1)}`]], INVALID],
  ['a key with something behind it', [['Authorization', `Bearer ${API_KEY} x`]], INVALID],
  ['a tab between', [['Authorization', `Bearer\t${API_KEY}`]], INVALID],
  ['non-ASCII', [['Authorization', 'Bearer schlüssel']], INVALID],
  ['8 KiB', [['Authorization', `Bearer ${'x'.repeat(8192)}`]], INVALID],
  ['a wrong x-api-key', [['x-api-key', 'sk-wrong']], INVALID],
  [
    'a wrong Authorization beside a right x-api-key',
    [
      ['Authorization', 'Bearer sk-wrong'],
      ['x-api-key', API_KEY],
    ],
    INVALID,
  ],
]

for (const [what, headers, message] of CREDENTIALS) {
  test(`401: ${what}`, async (t) => {
    const reply = await raw(headers, BODY)
    t.equal(reply.status, 401)
    t.equal(reply.header('www-authenticate'), 'Bearer')
    t.same(JSON.parse(reply.body.toString()), { error: { code: 401, message } })
    t.equal(upstream.requests.length, 0)
  })
}

test('400 and close: Authorization twice', async (t) => {
  const line = ['Authorization', `Bearer ${API_KEY}`] as const
  const reply = await raw([line, line], BODY)
  t.equal(reply.status, 400)
  t.equal(upstream.requests.length, 0)
})

test('a header block of 16 KiB is refused by the edge', async (t) => {
  const reply = await raw([['Authorization', `Bearer ${'x'.repeat(16 * 1024)}`]], BODY)
  t.equal(reply.status, 431)
})

test('401: a key that was disabled, deleted or has expired, on the very next call', async (t) => {
  const manage = async (method: string, path: string, value?: unknown): Promise<Json> => {
    const response = await fetch(`${server.apiUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
      ...(value !== undefined && { body: JSON.stringify(value) }),
    })
    return response.json()
  }
  const seen = upstream.requests.length
  const statusWith = async (key: string): Promise<number> =>
    (await askChat(server, BODY, { Authorization: `Bearer ${key}` })).status
  const { key, data } = await manage('POST', '/keys', { name: 'short-lived' })
  t.equal(await statusWith(key), 200)
  await manage('PATCH', `/keys/${data.hash}`, { disabled: true })
  t.equal(await statusWith(key), 401)
  await manage('PATCH', `/keys/${data.hash}`, { disabled: false })
  t.equal(await statusWith(key), 200)
  await manage('DELETE', `/keys/${data.hash}`)
  t.equal(await statusWith(key), 401)
  const expired = await manage('POST', '/keys', { name: 'late', expires_at: '2020-01-01T00:00:00Z' })
  if (expired.key !== undefined) t.equal(await statusWith(expired.key), 401)
  else t.equal(expired.error.code, 400, 'or it is refused at birth')
  t.equal(upstream.requests.length - seen, 2, 'and only the good calls went upstream')
})

test('management keys may call, and the scheme is case-insensitive', async (t) => {
  for (const credential of [`bearer ${API_KEY}`, `BEARER ${API_KEY}`, `Bearer ${MANAGEMENT_KEY}`]) {
    t.equal((await askChat(server, BODY, { Authorization: credential })).status, 200)
  }
})

test('x-api-key is a credential where there is no Authorization', async (t) => {
  const reply = await raw([['x-api-key', API_KEY]], BODY)
  t.equal(reply.status, 200)
})
