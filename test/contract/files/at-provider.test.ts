/** Files that lie in the caller's account at a provider (contract/gateway 8.1 and 8.2). */
import tap, { type Test, test } from 'tap'
import { mockUpstream, type Peer } from '../../support/providers/mock-upstream.js'
import { anthropicFiles, openAiFiles } from '../../support/providers/strict-files.js'
import { type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

/** In no form that anything recognises as a credential. */
const CANARY = 'zebra-crossing-at-dawn'
const WORKSPACE_CANARY = 'heron-standing-at-noon'
const CLAUDE_CANARY = 'otter-sleeping-at-dusk'
const WRONG_CANARY = 'magpie-calling-at-night'
const CANARIES = [CANARY, WORKSPACE_CANARY, CLAUDE_CANARY, WRONG_CANARY]
const MIB = 1024 * 1024
const MOST_BYTES = 24 * MIB

const openai = openAiFiles([CANARY, WORKSPACE_CANARY])
const anthropic = anthropicFiles([CLAUDE_CANARY])
const one = await mockUpstream(tap, openai.script)
const mirror = await mockUpstream(tap, openai.script)
const claude = await mockUpstream(tap, anthropic.script)
const provider = (kind: string, base_url: string, more: object = {}): object => ({
  ...{ kind, base_url, api_key_env: 'OPERATOR_KEY', ...more },
})
const server = await startGateway({
  env: { SLUICE_WORKERS: '1', SLUICE_LOG_LEVEL: 'info', OPERATOR_KEY: 'operator-key-0123456789' },
  config: {
    limits: { upload_body_bytes: MOST_BYTES },
    providers: {
      another: provider('openai', `${mirror.origin}/v1`),
      claude: provider('anthropic', claude.origin),
      openai: provider('openai', `${one.origin}/v1`),
      silent: provider('openai', `${mirror.origin}/v1`, { timeouts: { headers_ms: 150 } }),
      zoo: provider('openai', `${mirror.origin}/v1`),
    },
    models: { 'acme/one': { endpoints: [{ provider: 'openai' }] } },
  },
})
tap.teardown(() => server.stop())
const said: string[] = []

async function ask(key: string, method: string, path: string, body?: FormData | object, agent = 'test') {
  const isForm = body instanceof FormData
  const response = await fetch(server.apiUrl + path, {
    method,
    headers: {
      ...{ Authorization: `Bearer ${key}`, 'User-Agent': agent },
      ...(body !== undefined && !isForm && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  said.push(text)
  return { status: response.status, headers: response.headers, text, json: (): Json => JSON.parse(text) }
}

interface Tenant {
  readonly management: string
  readonly key: string
  readonly workspace: string
}

/** An organization with provider keys: pairs of a provider and a key, or more of a record. */
async function tenant(...keys: readonly (readonly [string, string, object?])[]): Promise<Tenant> {
  const made = await ask(MANAGEMENT_KEY, 'POST', '/organizations', { name: 'tenant' })
  const management: string = made.json().key
  const { key, data } = (await ask(management, 'POST', '/keys', { name: 'x' })).json()
  const workspace: string = data.workspace_id
  const ours = { management, key, workspace }
  for (const [slug, secret, more] of keys) await bring(ours, slug, secret, more)
  return ours
}

async function bring({ management }: Tenant, slug: string, key: string, more: object = {}): Promise<void> {
  const body = { provider: slug, name: 'ours', key, ...more }
  const { status, text } = await ask(management, 'POST', '/provider-keys', body)
  if (status !== 201) throw new Error(text)
}

function form(content: string, purpose?: string, type = 'application/pdf'): FormData {
  const sent = new FormData()
  if (purpose !== undefined) sent.set('purpose', purpose)
  sent.set('file', new File([content], 'a "b".pdf', { type }))
  return sent
}

const AT_OPENAI = '?provider=openai'
const AT_ANTHROPIC = '?provider=anthropic'

test('files are put, listed, read and deleted at OpenAI, under the key of the organization', async (t) => {
  const { management } = await tenant(['openai', CANARY])
  const put = await ask(management, 'POST', `/files${AT_OPENAI}`, form('{"a":1}', 'batch'))
  t.equal(put.status, 200, put.text)
  const id: string = put.json().id
  t.match(put.json(), {
    type: 'file',
    size_bytes: 7,
    mime_type: 'application/octet-stream',
    downloadable: true,
  })
  t.equal(put.json().created_at, '2025-11-23T12:13:20.000Z')
  const kept = await ask(management, 'GET', '/files')
  t.strictSame(kept.json().data, [], 'it does not lie here')
  t.strictSame((await ask(management, 'GET', `/files/${id}${AT_OPENAI}`)).json(), put.json())
  const content = await ask(management, 'GET', `/files/${id}/content${AT_OPENAI}`)
  t.equal(content.status, 200)
  t.equal(content.text, '{"a":1}')
  t.equal(content.headers.get('content-type'), 'application/octet-stream')
  t.equal(content.headers.get('x-content-type-options'), 'nosniff')
  const second = (await ask(management, 'POST', `/files${AT_OPENAI}`, form('x'), 'OpenAI/JS 6')).json()
  t.match(second, { object: 'file', bytes: 1, purpose: 'user_data', status: 'processed' })
  const first = await ask(management, 'GET', `/files${AT_OPENAI}&limit=1`)
  t.match(first.json(), { data: [{ id: second.id, downloadable: false }], has_more: true, cursor: second.id })
  const next = await ask(
    management,
    'GET',
    `/files${AT_OPENAI}&limit=1&cursor=${second.id}`,
    undefined,
    'OpenAI/JS 6',
  )
  t.match(next.json(), { object: 'list', data: [{ id, object: 'file', purpose: 'batch' }], has_more: false })
  const oldest = await ask(management, 'GET', `/files${AT_OPENAI}&limit=1&order=asc`)
  t.equal(oldest.json().data[0].id, id)
  const refused = await ask(management, 'GET', `/files/${second.id}/content${AT_OPENAI}`)
  t.equal(refused.status, 400)
  t.match(refused.json().error, {
    message: 'Invalid request parameters: The provider rejected the request',
    metadata: { provider_name: 'openai', raw: 'Not allowed to download files of [redacted]' },
  })
  t.strictSame((await ask(management, 'DELETE', `/files/${id}${AT_OPENAI}`)).json(), {
    id,
    type: 'file_deleted',
  })
  for (const [method, below] of [
    ['GET', ''],
    ['GET', '/content'],
    ['DELETE', ''],
  ] as const)
    t.equal((await ask(management, method, `/files/${id}${below}${AT_OPENAI}`)).status, 404)
  const { status, text } = await ask(management, 'GET', `/files${AT_OPENAI}&before_id=${second.id}`)
  t.equal(status, 400)
  t.match(text, 'before_id: is not known to this provider')
})

test('so they are at Anthropic, whose files have a type and no purpose', async (t) => {
  const { management } = await tenant(['claude', CLAUDE_CANARY])
  const put = await ask(management, 'POST', `/files${AT_ANTHROPIC}`, form('%PDF-1.4', 'user_data'))
  t.equal(put.status, 200, put.text)
  t.match(put.json(), { mime_type: 'application/pdf', size_bytes: 8, downloadable: false })
  const id: string = put.json().id
  t.equal((await ask(management, 'GET', `/files/${id}/content${AT_ANTHROPIC}`)).status, 400)
  const made = anthropic.put(CLAUDE_CANARY, 'made.csv', 'made', 'a,b')
  t.equal((await ask(management, 'GET', `/files/${made}/content${AT_ANTHROPIC}`)).text, 'a,b')
  t.match((await ask(management, 'GET', `/files/${made}${AT_ANTHROPIC}`)).json(), {
    ...{ filename: 'made.csv', mime_type: 'text/csv', downloadable: true },
  })
  const after = await ask(management, 'GET', `/files${AT_ANTHROPIC}&after=${made}`)
  t.strictSame(
    after.json().data.map((file: Json) => file.id),
    [id],
  )
  const before = await ask(management, 'GET', `/files${AT_ANTHROPIC}&before_id=${id}`)
  t.strictSame(
    before.json().data.map((file: Json) => file.id),
    [made],
  )
  t.strictSame((await ask(management, 'DELETE', `/files/${id}${AT_ANTHROPIC}`)).json(), {
    id,
    type: 'file_deleted',
  })
  t.equal((await ask(management, 'GET', `/files${AT_ANTHROPIC}&order=asc`)).status, 400)
  const asked = claude.requests.length
  t.equal((await ask(management, 'POST', `/files${AT_ANTHROPIC}`, form('x', 'batch'))).status, 400)
  t.equal(claude.requests.length, asked)
})

test('a caller without a key of its own has no files there, and goes nowhere with the operator’s', async (t) => {
  const seen = [one, mirror, claude].map(({ requests }) => requests.length)
  const none = await tenant(['claude', CLAUDE_CANARY], ['openai', CANARY, { models: ['acme/one'] }])
  const disabled = await tenant(['openai', CANARY, { disabled: true }])
  for (const { management, key } of [none, disabled, await tenant()]) {
    for (const [as, method, path] of [
      [key, 'POST', '/files'],
      [key, 'GET', '/files'],
      [key, 'GET', '/files/file-1'],
      [key, 'DELETE', '/files/file-1'],
      [management, 'GET', '/files/file-1/content'],
    ] as const) {
      const body = method === 'POST' ? form('x') : undefined
      const { status, json } = await ask(as, method, path + AT_OPENAI, body)
      t.equal(status, 400)
      t.match(json().error.message, 'provider: needs a key of your own for this provider')
    }
  }
  t.equal((await ask(none.key, 'GET', `/files/file-1/content${AT_ANTHROPIC}`)).status, 403)
  t.strictSame(
    [one, mirror, claude].map(({ requests }) => requests.length),
    seen,
  )
})

test('an ordinary key sees the account of its workspace, never that of the organization', async (t) => {
  const ours = await tenant(['openai', CANARY])
  const id = openai.put(CANARY, 'ours.txt', 'user_data', 'x')
  t.equal((await ask(ours.key, 'GET', `/files/${id}${AT_OPENAI}`)).status, 400)
  t.equal((await ask(ours.management, 'GET', `/files/${id}${AT_OPENAI}`)).status, 200)
  await bring(ours, 'openai', WORKSPACE_CANARY, { workspace_id: ours.workspace })
  const put = await ask(ours.key, 'POST', `/files${AT_OPENAI}`, form('x'))
  t.equal(put.status, 200, put.text)
  t.equal((await ask(ours.key, 'GET', `/files/${id}${AT_OPENAI}`)).status, 404)
  const { data: spare } = (await ask(ours.management, 'POST', '/workspaces', { name: 'spare' })).json()
  const listed = async (query: string): Promise<string[]> =>
    (await ask(ours.management, 'GET', `/files${AT_OPENAI}${query}`)).json().data.map((file: Json) => file.id)
  t.strictSame(await listed(`&workspace_id=${ours.workspace}`), [put.json().id])
  t.ok((await listed(`&workspace_id=${spare.id}`)).includes(id), 'where it has none of its own')
  t.equal((await ask(ours.key, 'GET', `/files${AT_OPENAI}&workspace_id=${spare.id}`)).status, 403)
})

test('of several providers of a kind it is the one named so, else the first by name that a key is for', async (t) => {
  const all = await tenant(['zoo', CANARY], ['another', CANARY])
  const seen = { one: one.requests.length, mirror: mirror.requests.length }
  t.equal((await ask(all.management, 'GET', `/files${AT_OPENAI}`)).status, 200)
  t.strictSame([one.requests.length, mirror.requests.length], [seen.one, seen.mirror + 1])
  await bring(all, 'openai', CANARY, { priority: 'fallback' })
  await bring(all, 'openai', WORKSPACE_CANARY)
  t.equal((await ask(all.management, 'GET', `/files${AT_OPENAI}`)).status, 200)
  t.equal(one.requests.at(-1)!.headers.authorization, `Bearer ${WORKSPACE_CANARY}`, 'the one that goes first')
})

test('what is no id, and what is no upload, is never sent', async (t) => {
  const { management } = await tenant(['openai', CANARY])
  const seen = one.requests.length
  for (const id of ['..%2Fmodels', '%2e%2e', 'a%2Fb', 'a%3Fb', 'a%00b', 'a.b', 'x'.repeat(257), '%ff'])
    for (const below of ['', '/content']) {
      const { status } = await ask(management, 'GET', `/files/${id}${below}${AT_OPENAI}`)
      t.ok(status === 404 || status === 400, `${id} ${status}`)
    }
  const empty = await ask(management, 'POST', `/files${AT_OPENAI}`, form(''))
  t.match([empty.status, empty.text], [400, 'file: must not be empty'])
  const none = new FormData()
  none.set('purpose', 'batch')
  t.equal((await ask(management, 'POST', `/files${AT_OPENAI}`, none)).status, 400)
  t.equal((await ask(management, 'POST', `/files${AT_OPENAI}`, form('x'.repeat(MOST_BYTES + 1)))).status, 413)
  t.equal(one.requests.length, seen)
})

const ERROR = { error: { message: `bad key ${CANARY}`, type: 'x', code: CANARY } }
const FAILURES: readonly (readonly [string, number, (peer: Peer) => void, string?])[] = [
  ['a key that it refuses', 403, (peer) => peer.json(ERROR, 401)],
  ['a key without the right', 403, (peer) => peer.json(ERROR, 403)],
  ['an account without money', 403, (peer) => peer.json(ERROR, 402)],
  ['too many calls', 429, (peer) => peer.json(ERROR, 429, { 'Retry-After': '7' }), '7'],
  ['a broken server', 502, (peer) => peer.json(ERROR, 500)],
  ['a server without room', 503, (peer) => peer.json(ERROR, 503, { 'Retry-After': '9' }), '9'],
  ['a server with too much to do', 503, (peer) => peer.json(ERROR, 529), '1'],
  ['a server that is late', 502, (peer) => peer.json(ERROR, 504)],
  ['a redirect', 502, (peer) => peer.json({}, 302, { Location: `${claude.origin}/v1/files` })],
  ['no HTTP', 502, (peer) => peer.write('nonsense\r\n\r\n')],
  ['a reset', 502, (peer) => peer.reset()],
]

async function fails(t: Test, management: string, name: string, status: number, retryAfter?: string) {
  const file = `/files/file-000001`
  for (const [method, path] of [
    ['GET', `${file}/content`],
    ['GET', file],
    ['GET', '/files'],
    ['DELETE', file],
    ['POST', '/files'],
  ] as const) {
    const body = method === 'POST' ? form('x') : undefined
    const reply = await ask(management, method, path + AT_OPENAI, body)
    t.equal(reply.status, status, `${name}: ${method} ${path} ${reply.text}`)
    t.equal(reply.json().error.code, status)
    t.equal(reply.headers.get('retry-after'), retryAfter ?? null, `${name}: ${method} ${path}`)
  }
}

test('a provider that refuses or fails is told as such', async (t) => {
  const { management } = await tenant(['openai', CANARY])
  for (const [name, status, script, retryAfter] of FAILURES) {
    one.script = script
    await fails(t, management, name, status, retryAfter)
  }
  one.script = openai.script
  const wrong = await tenant(['openai', WRONG_CANARY])
  const refused = await ask(wrong.management, 'GET', `/files/file-000001/content${AT_OPENAI}`)
  t.match(refused.json(), {
    error: {
      code: 403,
      message: 'The provider refused the key that was brought for it',
      metadata: {
        error_type: 'permission_denied',
        provider_code: 'invalid_api_key',
        provider_name: 'openai',
      },
    },
  })
  const silent = await tenant(['silent', CANARY])
  mirror.script = () => {}
  await fails(t, silent.management, 'silence', 502)
  mirror.script = openai.script
})

test('an answer that is none is 502', async (t) => {
  const { management } = await tenant(['openai', CANARY])
  const file = { id: 'file-1', bytes: 1, created_at: 1, filename: 'a' }
  for (const [method, path, answer] of [
    ['GET', '/files', { data: 'x' }],
    ['GET', '/files', { data: [file, { ...file, bytes: -1 }] }],
    ['GET', '/files', { data: [{ ...file, created_at: 1e300 }] }],
    ['GET', '/files/file-1', []],
    ['GET', '/files/file-1', { ...file, id: 7 }],
    ['DELETE', '/files/file-1', { id: 'file-1', deleted: false }],
    ['POST', '/files', {}],
  ] as const) {
    one.script = (peer) => peer.json(answer)
    const body = method === 'POST' ? form('x') : undefined
    const reply = await ask(management, method, path + AT_OPENAI, body)
    t.equal(reply.status, 502, `${method} ${path} ${JSON.stringify(answer)} ${reply.text}`)
  }
  one.script = (peer) => peer.answer(404, 'nothing here', { 'content-type': 'text/plain' })
  t.equal((await ask(management, 'GET', `/files${AT_OPENAI}`)).status, 502, 'a server that has no files')
  t.equal((await ask(management, 'GET', `/files/file-1${AT_OPENAI}`)).status, 404)
  one.script = openai.script
})

const download = (management: string, more: RequestInit = {}): Promise<Response> =>
  fetch(`${server.apiUrl}/files/file-1/content${AT_OPENAI}`, {
    headers: { Authorization: `Bearer ${management}` },
    ...more,
  })

test('a download that breaks off does so for the caller as well', async (t) => {
  const { management } = await tenant(['openai', CANARY])
  for (const headers of [{ 'content-length': '1000' }, { 'transfer-encoding': 'chunked' }] as const)
    for (const end of ['cut', 'reset'] as const) {
      let break_ = (): void => {}
      one.script = (peer) => {
        peer.head(200, headers)
        if ('content-length' in headers) peer.write('some')
        else peer.chunk('some')
        break_ = () => peer[end]()
      }
      const reply = await download(management)
      t.equal(reply.status, 200)
      const reader = reply.body!.getReader()
      t.equal(Buffer.from((await reader.read()).value!).toString(), 'some')
      break_()
      await t.rejects(reader.read(), `${end} ${JSON.stringify(headers)}`)
    }
  one.script = openai.script
})

test('a large content passes a slow reader whole, and one over the limit does not pass', async (t) => {
  const { management } = await tenant(['openai', CANARY])
  const piece = Buffer.alloc(MIB, 'content-')
  let held: () => void = () => {}
  const isHeld = new Promise<void>((resolve) => {
    held = resolve
  })
  one.script = (peer) => {
    peer.head(200, { 'content-length': String(20 * MIB) })
    // All at once: what is not read stays here.
    for (let at = 0; at < 20; at++) if (!peer.write(piece)) held()
  }
  const reply = await download(management)
  await isHeld
  let size = 0
  for await (const chunk of reply.body!) {
    size += chunk.byteLength
    await new Promise(setImmediate)
  }
  t.equal(size, 20 * MIB)
  one.script = (peer) => peer.head(200, { 'content-length': String(MOST_BYTES + 1) })
  const large = await download(management)
  t.equal(large.status, 400)
  t.match(await large.text(), `The file is larger than ${MOST_BYTES} bytes`)
  one.script = (peer) => {
    peer.head(200, { 'transfer-encoding': 'chunked' })
    for (let at = 0; at <= MOST_BYTES / MIB; at++) peer.chunk(piece)
    peer.endChunks()
  }
  await t.rejects((await download(management)).arrayBuffer(), 'it is not known before')
  one.script = openai.script
})

test('the provider is left when the caller leaves, and when only the head is wanted', async (t) => {
  const { management } = await tenant(['openai', CANARY])
  const peers: Peer[] = []
  one.script = (peer) => {
    peers.push(peer)
    peer.head(200, { 'content-length': '1000' })
    peer.write('some')
  }
  const leaving = new AbortController()
  const reply = await download(management, { signal: leaving.signal })
  t.equal(reply.status, 200)
  leaving.abort()
  await peers[0]!.closed()
  const head = await download(management, { method: 'HEAD' })
  t.equal(head.status, 200)
  await peers[1]!.closed()
  for (const [method, path] of [
    ['GET', '/files/file-1/content'],
    ['GET', '/files/file-1'],
    ['POST', '/files'],
  ] as const) {
    const early = new AbortController()
    one.script = (peer) => {
      peers.push(peer)
      early.abort()
    }
    const asked = fetch(server.apiUrl + path + AT_OPENAI, {
      method,
      headers: { Authorization: `Bearer ${management}` },
      signal: early.signal,
      ...(method === 'POST' && { body: form('x') }),
    })
    await t.rejects(asked, `${method} ${path}`)
    await peers.at(-1)!.closed()
  }
  t.equal(peers.length, 5)
  one.script = openai.script
})

test('no key is in an answer, a log or a metric', async (t) => {
  said.push(await (await fetch(`${server.baseUrl}/metrics`)).text(), server.log())
  const used = [...one.requests, ...mirror.requests, ...claude.requests].map(({ headers }) =>
    JSON.stringify(headers),
  )
  for (const canary of CANARIES) {
    t.ok(
      used.some((headers) => headers.includes(canary)),
      'it was used',
    )
    for (const text of said) t.notOk(text.includes(canary), text.slice(0, 200))
  }
  t.notOk(used.some((headers) => headers.includes('operator-key')))
})
