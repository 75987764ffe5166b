/** The document and the gateway's operations: real replies of every status are what the document says. */
import tap, { type Test, test } from 'tap'
import {
  type HttpClient,
  type HttpReply,
  type HttpRequest,
  httpClient,
} from '../../support/clients/http-client.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import {
  DocumentRules,
  type OpenApiDocument,
  operationsOf,
  type PlacedOperation,
} from '../../support/schemas/openapi-validator.js'
import {
  API_KEY,
  CANARY_PROMPT,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

/** Answers with the status that the prompt names. */
const upstream = await mockUpstream(tap, (peer, { body }) => {
  const status = Number(/status (\d+)/.exec(body)?.[1])
  peer.json({ error: { message: 'no' } }, status)
})
const CONFIG = {
  providers: {
    // It fails all the time, and each time with a status of its own.
    mock: { kind: 'openai', base_url: `${upstream.origin}/v1`, breaker: false },
    lab: { kind: 'simulated' },
  },
  models: {
    'acme/mock': { endpoints: [{ provider: 'mock' }] },
    'lab/slow': { endpoints: [{ provider: 'lab', simulation: { first_token_ms: { constant: 20_000 } } }] },
  },
}
const server = await startGateway({ config: CONFIG })
const client = httpClient(server.baseUrl, 16)
tap.teardown(async () => {
  client.close()
  await server.stop()
})
const document = (await client.get('/api/v1/openapi.json')).json as OpenApiDocument
const rules = new DocumentRules(document)
/** Those of other faces and of federation have tests of their own. */
const PATHS =
  /^\/api\/v1\/(chat|models?|endpoints|providers|keys?|organizations|workspaces|credits|generations?|usage|fleet|settings|configuration|tools)(\/|$)/
const operations = operationsOf(document).filter(({ path }) => PATHS.test(path))

type Call = Omit<HttpRequest, 'headers'>

async function send(
  call: Call,
  key = MANAGEMENT_KEY,
  headers: object = {},
  over = client,
): Promise<HttpReply> {
  const credential = key === '' ? {} : { Authorization: `Bearer ${key}` }
  const all = { 'Content-Type': 'application/json', ...credential, ...headers }
  return over.send({ ...call, headers: all })
}

const post = (path: string, value: unknown, method = 'POST'): Call => ({
  method,
  path: `/api/v1${path}`,
  body: JSON.stringify(value),
})
const get = (path: string): Call => ({ method: 'GET', path: `/api/v1${path}` })

function chat(more: object = {}): Call {
  const messages = [{ role: 'user', content: CANARY_PROMPT }]
  return post('/chat/completions', { model: 'sim/instant', messages, ...more })
}

const failing = (status: number): Call =>
  chat({ model: 'acme/mock', messages: [{ role: 'user', content: `status ${status}` }] })

/** Things to name in paths. */
const key = ((await send(post('/keys', { name: 'sample' }))).json as Json).data.hash as string
const home = ((await send(get('/organizations'))).json as Json).data[0].id as string
const other = ((await send(post('/organizations', { name: 'other' }))).json as Json).data.id as string
const generation = ((await send(chat())).json as Json).id as string
const spare = async (): Promise<string> =>
  ((await send(post('/keys', { name: 'spare' }))).json as Json).data.hash

const workspace = async (): Promise<string> => ((await send(get('/workspaces'))).json as Json).data[0].id

/** A call of each operation that succeeds. */
const GOOD: Readonly<Record<string, () => Call | Promise<Call>>> = {
  chat_completions: () => chat(),
  list_models: () => get('/models?limit=5'),
  list_models_of_key: () => get('/models/user'),
  count_models: () => get('/models/count'),
  read_model: () => get('/model/sim/instant'),
  list_model_endpoints: () => get('/models/sim/instant/endpoints'),
  retrieve_model: () => get('/models/sim/instant'),
  retrieve_model_by_id: () => get('/models/sim%2Finstant'),
  list_model_endpoints_by_id: () => get('/models/sim%2Finstant/endpoints'),
  list_zdr_endpoints: () => get('/endpoints/zdr'),
  list_providers: () => get('/providers'),
  read_current_key: () => get('/key'),
  list_keys: () => get('/keys?include_disabled=true'),
  create_key: () => post('/keys', { name: 'made', limit: 1, limit_reset: 'daily' }),
  read_key: () => get(`/keys/${key}`),
  update_key: () => post(`/keys/${key}`, { name: 'changed' }, 'PATCH'),
  delete_key: async () => ({ method: 'DELETE', path: `/api/v1/keys/${await spare()}` }),
  list_organizations: () => get('/organizations'),
  create_organization: () => post('/organizations', { name: 'made' }),
  read_organization: () => get(`/organizations/${home}`),
  update_organization: () => post(`/organizations/${home}`, { name: 'changed' }, 'PATCH'),
  list_workspaces: () => get('/workspaces'),
  read_workspace: async () => get(`/workspaces/${await workspace()}`),
  update_workspace: async () => post(`/workspaces/${await workspace()}`, { name: 'changed' }, 'PATCH'),
  create_workspace: () => post('/workspaces', { name: 'made' }),
  delete_workspace: async () => {
    const { data } = (await send(post('/workspaces', { name: 'made' }))).json as Json
    return { ...get(`/workspaces/${data.id}`), method: 'DELETE' }
  },
  read_credits: () => get('/credits'),
  list_credits_changes: () => get('/credits/history'),
  add_credits: () => post('/credits', { amount: 1, organization_id: other }),
  list_generations: () => get('/generations?limit=5'),
  read_usage: () => get('/usage?by=day,key'),
  read_generation: () => get(`/generation?id=${generation}`),
  read_fleet: () => get('/fleet'),
  read_settings: () => get('/settings'),
  read_configuration: () => get('/configuration'),
  reload_configuration: () => post('/configuration/reload', {}),
  list_tools: () => get('/tools'),
}

/** Calls that an operation refuses in its own way. */
const OWN: readonly (readonly [operation: string, status: number, call: Call])[] = [
  ['chat_completions', 200, chat({ tools: [{ type: 'function', function: { name: 'f' } }], logprobs: true })],
  ['chat_completions', 200, chat({ model: 'sim/fast', reasoning: { effort: 'low' } })],
  ['chat_completions', 400, chat({ temperature: 3 })],
  ['chat_completions', 404, chat({ model: 'acme/none' })],
  ['chat_completions', 413, failing(413)],
  ['chat_completions', 422, failing(422)],
  ['chat_completions', 429, failing(429)],
  ['chat_completions', 502, failing(500)],
  ['chat_completions', 503, failing(503)],
  ['chat_completions', 524, failing(504)],
  ['chat_completions', 529, failing(529)],
  ['list_models', 400, get('/models?limit=0')],
  ['count_models', 400, get('/models/count?context=x')],
  ['read_model', 404, get('/model/sim/none')],
  ['retrieve_model', 404, get('/models/sim/none')],
  ['retrieve_model_by_id', 404, get('/models/none')],
  ['list_model_endpoints_by_id', 404, get('/models/none/endpoints')],
  ['list_model_endpoints', 404, get('/models/sim/none/endpoints')],
  ['list_keys', 400, get('/keys?offset=-1')],
  ['create_key', 400, post('/keys', {})],
  ['read_key', 404, get('/keys/none')],
  ['update_key', 400, post(`/keys/${key}`, { limit: -1 }, 'PATCH')],
  ['update_key', 404, post('/keys/none', {}, 'PATCH')],
  ['delete_key', 404, { method: 'DELETE', path: '/api/v1/keys/none' }],
  ['create_organization', 400, post('/organizations', { name: 'x', plan: 'none' })],
  ['read_organization', 404, get('/organizations/none')],
  ['update_organization', 404, post('/organizations/none', {}, 'PATCH')],
  ['create_workspace', 400, post('/workspaces', { name: '' })],
  ['read_workspace', 404, get('/workspaces/none')],
  ['delete_workspace', 404, { ...get('/workspaces/none'), method: 'DELETE' }],
  ['delete_workspace', 409, { ...get(`/workspaces/${await workspace()}`), method: 'DELETE' }],
  ['update_workspace', 404, post('/workspaces/none', { name: 'x' }, 'PATCH')],
  ['add_credits', 400, post('/credits', { amount: -1 })],
  ['add_credits', 404, post('/credits', { amount: 1, organization_id: 'none' })],
  ['read_generation', 404, get('/generation?id=none')],
  ['list_generations', 400, get('/generations?cursor=x')],
  ['read_usage', 400, get('/usage?by=day,hour')],
]

const seen = new Set<string>()

/** Compares a reply with the document, and notes that its status has been met. */
function judge(t: Test, operation: string, status: number, reply: HttpReply): void {
  t.equal(reply.status, status, `${operation} ${status}: ${reply.text.slice(0, 200)}`)
  t.strictSame(rules.replyFaults(operation, reply), [], `${operation} ${status}`)
  seen.add(`${operation} ${reply.status}`)
}

test('the samples are of every operation of the gateway', async (t) => {
  t.same(operations.map(({ operationId }) => operationId).sort(), Object.keys(GOOD).sort())
})

test('what operations answer in their own way', async (t) => {
  for (const [operation, call] of Object.entries(GOOD)) {
    judge(t, operation, /^(create|add)/.test(operation) ? 201 : 200, await send(await call()))
  }
  for (const [operation, status, call] of OWN) judge(t, operation, status, await send(call))
})

test('a key that may spend nothing is refused what costs something', async (t) => {
  const made = (await send(post('/keys', { name: 'poor', limit: 0 }))).json as Json
  judge(t, 'chat_completions', 402, await send(chat({ model: 'sim/fast' }), made.key))
})

test('each chunk of a stream, and the reply that carries them', async (t) => {
  const calls = [
    chat({ stream: true, logprobs: true, max_tokens: 5 }),
    chat({ stream: true, tool_choice: 'required', tools: [{ type: 'function', function: { name: 'f' } }] }),
    chat({ stream: true, reasoning: { effort: 'low' } }),
    chat({ stream: true, model: 'sim/fault-cut' }),
  ]
  for (const call of calls) {
    const reply = await send(call, API_KEY, { 'X-Service-Metadata': 'enabled' })
    const events = reply.text.split('\n\n').filter((frame) => frame.startsWith('data: {'))
    t.ok(events.length > 1)
    for (const event of events) {
      // The document describes the events; a body of this media type is judged one event at a time.
      const { status, headers, body } = reply
      const text = JSON.parse(event.slice('data: '.length))
      const faults = rules.replyFaults('chat_completions', { status, headers, body, text, json: null })
      t.strictSame(faults, [], event)
    }
  }
})

const access = ({ responses }: PlacedOperation): 'anyone' | 'key' | 'management' =>
  '403' in responses ? 'management' : '401' in responses ? 'key' : 'anyone'

test('who may not call is told as the document says', async (t) => {
  for (const operation of operations) {
    const { operationId } = operation
    const call = await GOOD[operationId]!()
    const needed = access(operation)
    if (needed === 'anyone') continue
    for (const wrong of ['', 'sk-wrong']) judge(t, operationId, 401, await send(call, wrong))
    if (needed === 'management') judge(t, operationId, 403, await send(call, API_KEY))
  }
})

test('what is framed in a way that cannot be served', async (t) => {
  for (const { operationId } of operations) {
    const call = await GOOD[operationId]!()
    const { body: _, ...bare } = call
    const twice = { 'Content-Type': ['application/json', 'application/json'] }
    judge(t, operationId, 400, await send(call, API_KEY, twice))
    judge(t, operationId, 400, await send(bare, API_KEY, { 'Transfer-Encoding': 'gzip, chunked' }))
    judge(t, operationId, 413, await send(bare, API_KEY, { 'Content-Length': 64 * 1024 * 1024 }))
  }
})

/** A server of one place, which a call that takes its time holds. */
async function withFullServer(use: (near: HttpClient) => Promise<void>): Promise<void> {
  const full = await startGateway({
    env: { SLUICE_WORKERS: '1', SLUICE_MAX_IN_FLIGHT: '1' },
    config: CONFIG,
  })
  const near = httpClient(full.baseUrl, 4)
  const leave = new AbortController()
  const wanted = { ...chat({ model: 'lab/slow' }), headers: { Authorization: `Bearer ${API_KEY}` } }
  const held = near.send({ ...wanted, signal: leave.signal }).catch(() => {})
  try {
    await use(near)
  } finally {
    leave.abort()
    await held
    near.close()
    await full.stop()
  }
}

test('a full server answers 503', async (t) => {
  await withFullServer(async (near) => {
    // The first call may come before the one that holds the place.
    while ((await send(get('/key'), API_KEY, {}, near)).status !== 503);
    for (const { operationId } of operations) {
      judge(t, operationId, 503, await send(await GOOD[operationId]!(), MANAGEMENT_KEY, {}, near))
    }
  })
})

test('a body that does not come in time is a 408, and an answer that does not is a 524', async (t) => {
  const hasty = await startGateway({
    env: { SLUICE_CALL_DEADLINE_MS: '150' },
    config: { ...CONFIG, limits: { inference_deadline_ms: 400 } },
  })
  const near = httpClient(hasty.baseUrl, 16)
  const late = operations.filter(({ requestBody }) => requestBody !== undefined)
  await Promise.all(
    late.map(async ({ operationId }) => {
      const call = { ...(await GOOD[operationId]!()), body: '{' }
      judge(t, operationId, 408, await send(call, MANAGEMENT_KEY, { 'Content-Length': 100 }, near))
    }),
  )
  const slow = await send(chat({ model: 'lab/slow' }), API_KEY, {}, near)
  judge(t, 'chat_completions', 524, slow)
  near.close()
  await hasty.stop()
})

/** Documented, and met by no sample above. */
const UNMET: readonly (readonly [which: RegExp, why: string])[] = [
  [/^reload_configuration 409$/, 'a bad file is logged as an error: test/contract/settings/settings.test.ts'],
  [/^(list_generations|read_usage) 404$/, 'the operator reaches every organization'],
  [
    /^chat_completions 504$/,
    'a provider that is late past the deadline is told as 524, and nothing else waits',
  ],
  [
    /^(create|update|add)_\w+ 429$/,
    'bodies under way would have to take a quarter of the memory for them: test/http/body-memory.test.ts',
  ],
  [/ 202$/, 'a machine that stands alone has nobody to wait for'],
  [/^(?!chat)\w+ 504$/, 'the handler answers in the turn in which it is called, or after one write to disk'],
]

test('every other status that is documented has a reason to be missing here', async (t) => {
  const documented = operations.flatMap(({ operationId, responses }) =>
    Object.keys(responses).map((status) => `${operationId} ${status}`),
  )
  const unmet = documented.filter((each) => !seen.has(each))
  t.strictSame(
    unmet.filter((each) => !UNMET.some(([which]) => which.test(each))),
    [],
  )
  for (const [which, why] of UNMET)
    t.ok(
      unmet.some((each) => which.test(each)),
      why,
    )
})
