/** What is refused before a provider hears of it (contract/gateway 1.6 and 5; contract/decisions 5 to 11, 33 and 34). */
import tap, { test } from 'tap'
import { askMessages, message } from '../../support/clients/messages-calls.js'
import { askRaw, type RawReply } from '../../support/clients/raw-http.js'
import { chatBench, MODEL, mockCompletion } from '../../support/servers/chat-bench.js'
import { API_KEY, type Json } from '../../support/servers/gateway-server.js'

const { server, upstream } = await chatBench(tap, {
  script: (peer) => peer.json(mockCompletion('never asked for')),
})

const body = (more: object): Json => message({ model: MODEL, ...more })
const said = (...content: object[]): Json => body({ messages: [{ role: 'user', content }] })
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64')
const picture = (media_type: string, data: string): object => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})
const fallbacks = (count: number): object[] => Array.from({ length: count }, () => ({ model: MODEL }))

/** What every such sentence begins with (contract/decisions 49). */
const BEGIN = 'Invalid request parameters: '

const BAD_BODIES: readonly (readonly [what: string, body: unknown, named: RegExp])[] = [
  ['malformed JSON', '{', /JSON/],
  ['no body', '', /body/],
  ['no object', '[]', /object/],
  ['no max_tokens', body({ max_tokens: undefined }), /^max_tokens: is required/],
  ['no messages', body({ messages: undefined }), /^messages: is required/],
  ['no model', body({ model: undefined }), /^model: is required/],
  ['a malformed model', body({ model: 'non sense' }), /^model: /],
  ['four fallbacks', body({ fallbacks: fallbacks(4) }), /^fallbacks: must have at most 3/],
  [
    'fallbacks with models',
    body({ fallbacks: fallbacks(1), models: [MODEL] }),
    /^fallbacks: cannot be combined with models/,
  ],
  [
    'an extra key in a fallback',
    body({ fallbacks: [{ model: MODEL, top_k: 1 }] }),
    /^fallbacks\.0: has a member/,
  ],
  [
    'a tool result without its call',
    said({ type: 'tool_result', tool_use_id: 'x', content: 'y' }),
    /^messages\.0\.content\.0\.tool_use_id/,
  ],
  ['bad base64', said(picture('image/png', '%%%')), /^messages\.0\.content\.0\.source\.data/],
  ['a media type that lies', said(picture('image/gif', PNG)), /^messages\.0\.content\.0\.source/],
  ['an end user of 257', body({ user: 'u'.repeat(257) }), /^user: /],
  [
    'an end user of 257 in the metadata',
    body({ metadata: { user_id: 'u'.repeat(257) } }),
    /^metadata\.user_id: /,
  ],
  ['a session of 257', body({ session_id: 's'.repeat(257) }), /^session_id: /],
  ['an unknown role', body({ messages: [{ role: 'robot', content: 'x' }] }), /^messages\.0\.role/],
  [
    'a server tool that there is none of',
    body({ tools: [{ type: 'service:nonsense' }] }),
    /^tools\.0\.type: is no tool of this gateway/,
  ],
  ['an unknown kind of thinking', body({ thinking: { type: 'hard' } }), /^thinking\.type/],
]

for (const [what, sent, named] of BAD_BODIES) {
  test(`400 naming the field, and nothing sent: ${what}`, async (t) => {
    for (const path of ['/messages', '/messages/count_tokens']) {
      if (path !== '/messages' && /max_tokens/.test(what)) continue
      const asked = await askMessages(server, sent, {}, path)
      t.equal(asked.status, 400)
      t.match(asked.headers.get('request-id'), /^req-/)
      t.equal(asked.headers.get('request-id'), asked.headers.get('x-request-id'))
      const { error, ...rest } = asked.json()
      t.strictSame(rest, { type: 'error', request_id: asked.headers.get('request-id') })
      t.equal(error.type, 'invalid_request_error')
      t.ok(error.message.startsWith(BEGIN), error.message)
      t.match(error.message.slice(BEGIN.length), named)
    }
    t.equal(upstream.requests.length, 0)
  })
}

test('400: a session of 257 in the header', async (t) => {
  const asked = await askMessages(server, body({}), { 'x-session-id': 's'.repeat(257) })
  t.equal(asked.status, 400)
  t.match(asked.json().error.message, /^Invalid request parameters: x-session-id/)
})

test('404: an unknown model', async (t) => {
  for (const path of ['/messages', '/messages/count_tokens']) {
    const asked = await askMessages(server, body({ model: 'acme/unknown' }), {}, path)
    t.equal(asked.status, 404)
    t.match(asked.json(), {
      type: 'error',
      error: { type: 'not_found_error', message: /^Resource not found: .*acme\/unknown/ },
      request_id: asked.headers.get('request-id'),
    })
  }
})

test('404: an unknown fallback', async (t) => {
  const asked = await askMessages(server, body({ fallbacks: [{ model: 'acme/unknown' }] }))
  t.equal(asked.status, 404)
})

type Headers = readonly (readonly [string, string])[]

function raw(headers: Headers, text?: string, method = 'POST'): Promise<RawReply> {
  const parts = { method, target: '/api/v1/messages', headers }
  return askRaw(server.port, text === undefined ? parts : { ...parts, body: text })
}

const SMALL = JSON.stringify(body({}))

const WITHOUT_CREDENTIAL: readonly (readonly [what: string, headers: Headers, message: string])[] = [
  ['none', [], 'Missing Authentication header'],
  ['a wrong key', [['x-api-key', 'sk-wrong-0123456789']], 'Invalid credentials'],
  [
    'a wrong bearer beside a good x-api-key',
    [
      ['Authorization', 'Bearer nonsense'],
      ['x-api-key', API_KEY],
    ],
    'Invalid credentials',
  ],
]

for (const [what, headers, told] of WITHOUT_CREDENTIAL) {
  test(`401: ${what}`, async (t) => {
    const reply = await raw(headers, SMALL)
    t.equal(reply.status, 401)
    const { error, request_id } = JSON.parse(reply.body.toString())
    t.strictSame([error.type, error.message], ['authentication_error', told])
    t.match(request_id, /^req-/)
  })
}

test('405 and 413 are invalid_request_error', async (t) => {
  const key: Headers = [['x-api-key', API_KEY]]
  const wrong = await raw(key, undefined, 'GET')
  t.equal(wrong.status, 405)
  t.equal(JSON.parse(wrong.body.toString()).error.type, 'invalid_request_error')
  const big = await raw([...key, ['Content-Length', String(21 * 1024 * 1024)]])
  t.equal(big.status, 413)
  t.equal(JSON.parse(big.body.toString()).error.type, 'invalid_request_error')
})

test('nothing of all this was sent to the provider', async (t) => {
  t.equal(upstream.requests.length, 0)
})
