/**
 * contract/gateway 11.2 to 11.4 and contract/decisions 31: what calls came to, and the limits they meet, over two
 * workers.
 */
import { after, type Test, test } from 'tap'
import { askPatiently } from '../../support/clients/ask-again.js'
import {
  API_KEY,
  type Asked,
  askChat,
  type GatewayServer,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const EXACT = 'acme/exact'
const SLOW = 'acme/slow'
const PRICED = 'acme/priced'
const simulated = (prices: object, simulation: object) => ({
  endpoints: [{ provider: 'sim', prices, simulation }],
})
const server: GatewayServer = await startGateway({
  config: {
    models: {
      [EXACT]: simulated({ prompt: '0', completion: '0', request: '0.01' }, { tokens: { constant: 4 } }),
      [SLOW]: simulated(
        { prompt: '0', completion: '0.001', request: '0' },
        { tokens: { constant: 3_000 }, gap_ms: { constant: 20 } },
      ),
      [PRICED]: simulated({ prompt: '0.000001', completion: '0.00001' }, { tokens: 'request' }),
    },
  },
})
after(() => server.stop())

async function api(
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; json: Json }> {
  const response = await fetch(`${server.apiUrl}${path}`, {
    method,
    // Connections of their own, so that both workers are met.
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Connection: 'close' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: await response.json() }
}

function chat(key: string, model = EXACT, more: object = {}): Promise<Asked> {
  const body = { model, max_tokens: 4, messages: [{ role: 'user', content: 'hi' }], ...more }
  return askPatiently(() => askChat(server, body, { Authorization: `Bearer ${key}`, Connection: 'close' }))
}

interface Made {
  readonly key: string
  readonly hash: string
}

async function newKey(more: object, management = MANAGEMENT_KEY): Promise<Made> {
  const { status, json } = await api(management, 'POST', '/keys', { name: 'x', ...more })
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(json)}`)
  return { key: json.key, hash: json.data.hash }
}

async function newOrganization(credits: number | null): Promise<Made & { management: string }> {
  const { json } = await api(MANAGEMENT_KEY, 'POST', '/organizations', { name: 'x', credits })
  return { management: json.key, ...(await newKey({}, json.key)) }
}

async function statuses(calls: Promise<Asked>[]): Promise<Record<number, number>> {
  const found: Record<number, number> = {}
  for (const { status } of await Promise.all(calls)) found[status] = (found[status] ?? 0) + 1
  return found
}

test('a generation is found at once after its answer, on every worker', async (t) => {
  for (let turn = 0; turn < 12; turn++) {
    const answer = (await chat(API_KEY, PRICED, { session_id: 'é "1"' })).json()
    const { status, json } = await api(API_KEY, 'GET', `/generation?id=${answer.id}`)
    t.equal(status, 200)
    t.match(json.data, {
      id: answer.id,
      model: PRICED,
      total_cost: answer.usage.cost,
      usage: answer.usage.cost,
      tokens_prompt: answer.usage.prompt_tokens,
      tokens_completion: answer.usage.completion_tokens,
      streamed: false,
      cancelled: false,
      outcome: 'settled',
      provider_name: 'Simulated',
      session_id: 'é "1"',
      attempts: 1,
    })
  }
})

test('a generation is found when its stream has ended', async (t) => {
  const stream = await chat(API_KEY, PRICED, { stream: true })
  const { id, usage } = stream.events().at(-2)
  const { json } = await api(API_KEY, 'GET', `/generation?id=${id}`)
  t.match(json.data, { id, total_cost: usage.cost, streamed: true, outcome: 'settled' })
})

test('a generation says why it ended, how long it took and what its question held', async (t) => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  const content = [{ type: 'text', text: 'what is that?' }, image]
  for (const stream of [false, true]) {
    const answer = await chat(API_KEY, PRICED, {
      stream,
      messages: [{ role: 'user', content }],
      max_tokens: 2,
    })
    const id = answer.headers.get('x-generation-id')
    const { data } = (await api(API_KEY, 'GET', `/generation?id=${id}`)).json
    t.match(data, {
      api_type: 'completions',
      finish_reason: 'length',
      native_finish_reason: String,
      num_media_prompt: 1,
      num_input_audio_prompt: 0,
      workspace_id: String,
    })
    t.ok(data.latency >= 0 && data.latency <= data.generation_time)
    t.ok(Math.abs(Date.parse(data.created_at) - Date.now()) < 60_000)
  }
})

test('a call in the messages format is found as well', async (t) => {
  const response = await fetch(`${server.apiUrl}/messages`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: PRICED, max_tokens: 2, messages: [{ role: 'user', content: 'hi' }] }),
  })
  const answer = (await response.json()) as Json
  const { data } = (await api(API_KEY, 'GET', `/generation?id=${answer.id}`)).json
  t.match(data, {
    id: answer.id,
    api_type: 'completions',
    finish_reason: answer.stop_reason,
    tokens_completion: answer.usage.output_tokens,
  })
})

test('a limit of a key holds for speech and for transcriptions too', async (t) => {
  const { key } = await newKey({ limit: 0.0002 })
  const speak = (input: string) =>
    server.post('/audio/speech', { model: 'sim/speech', voice: 'alba', input }, { key })
  const spoken = await speak('ten chars.')
  t.equal(spoken.status, 200)
  await spoken.arrayBuffer()
  // Until the worker that has spoken gives back what it holds, less is left.
  const refusal =
    /^Insufficient credits: This request may cost \$0\.00018, and \$0\.00005 is left of the limit of this key\. See/
  await eventually(async () => {
    const refused = await speak('eleven chars')
    t.equal(refused.status, 402)
    return refusal.test(((await refused.json()) as Json).error.message)
  })
  t.equal((await api(key, 'GET', '/key')).json.data.usage, 0.00015)

  const { management } = await newOrganization(0)
  const form = new FormData()
  form.append('model', 'sim/transcribe')
  form.append('file', new Blob([new Uint8Array(48_000)]), 'a.pcm')
  const headers = { Authorization: `Bearer ${management}` }
  const heard = await fetch(`${server.apiUrl}/audio/transcriptions`, { method: 'POST', headers, body: form })
  t.equal(heard.status, 402)
})

test('a generation is nobody else’s, and what is none is not found', async (t) => {
  const { id } = (await chat(API_KEY)).json()
  const other = await newOrganization(null)
  for (const [key, name] of [
    [other.key, id],
    [other.management, id],
    [API_KEY, 'gen-00000000000000000000000000'],
    [API_KEY, 'gen-'],
    [API_KEY, 'x'.repeat(3_000)],
    [API_KEY, '%ff'],
    [API_KEY, ''],
  ] as const) {
    t.equal((await api(key, 'GET', `/generation?id=${name}`)).status, 404, `${name.slice(0, 40)}`)
  }
  t.equal((await api(MANAGEMENT_KEY, 'GET', `/generation?id=${id}`)).status, 200)
})

test('a call that failed is in the ledger and costs nothing', async (t) => {
  const answer = await chat(API_KEY, 'sim/fault-error')
  const id = answer.headers.get('x-generation-id')
  if (id === null) return void t.fail(`${answer.status} ${answer.text}`)
  t.match((await api(API_KEY, 'GET', `/generation?id=${id}`)).json.data, { outcome: 'failed', total_cost: 0 })
})

test('what a key has spent shows at once, with the key and with its organization', async (t) => {
  const { management, key, hash } = await newOrganization(null)
  for (let calls = 1; calls <= 6; calls++) {
    t.equal((await chat(key)).status, 200)
    const usage = calls / 100
    const expected = { usage, usage_daily: usage, usage_weekly: usage, usage_monthly: usage, byok_usage: 0 }
    t.match((await api(key, 'GET', '/key')).json.data, expected)
    t.match((await api(management, 'GET', `/keys/${hash}`)).json.data, expected)
    t.match((await api(management, 'GET', '/keys')).json.data[0], expected)
    t.match((await api(management, 'GET', '/credits')).json.data, { total_usage: usage, unlimited: true })
  }
  const { organization_id } = (await api(management, 'GET', '/generations')).json.data[0]
  const left = async () =>
    (await api(MANAGEMENT_KEY, 'GET', '/organizations')).json.data.find(
      ({ id }: Json) => id === organization_id,
    )
  t.match(await left(), { credits: null, credits_left: null })
  await api(MANAGEMENT_KEY, 'PATCH', `/organizations/${organization_id}`, { credits: 1 })
  t.match(await left(), { credits: 1, credits_left: 0.94 })
  await api(MANAGEMENT_KEY, 'PATCH', `/organizations/${organization_id}`, { credits: 0.05 })
  t.match(await left(), { credits: 0.05, credits_left: 0 }, 'what was spent before counts')
})

test('of many calls at once exactly as many succeed as the credits have room for', async (t) => {
  for (let round = 0; round < 3; round++) {
    const { key, management } = await newOrganization(0.2)
    t.strictSame(await statuses(Array.from({ length: 60 }, () => chat(key))), { 200: 20, 402: 40 })
    t.match((await api(management, 'GET', '/credits')).json.data, { total_credits: 0.2, total_usage: 0.2 })
  }
})

test('a refusal says what is left, what would fit and where to go; more credits count at once', async (t) => {
  const { key, management } = await newOrganization(0.0005)
  const refused = await chat(key, PRICED, { max_tokens: 100 })
  t.equal(refused.status, 402)
  const { error } = refused.json()
  t.match(error, {
    code: 402,
    metadata: { error_type: 'payment_required', available: 0.0005, affordable_tokens: 49 },
  })
  t.match(
    error.message,
    /^Insufficient credits: This request may cost \$0\.00100\d, and \$0\.0005 is left of the credits\. With max_tokens of at most 49/,
  )
  t.ok(error.message.endsWith(` See ${server.baseUrl}/credits`), error.message)
  // A worker that is slow to give back what it holds has it refused for a while.
  await eventually(async () => (await chat(key, PRICED, { max_tokens: 49 })).status === 200)
  const { json } = await api(management, 'GET', '/credits')
  t.ok(json.data.total_usage <= 0.0005)
  const [organization] = (await api(MANAGEMENT_KEY, 'GET', '/organizations')).json.data.slice(-1)
  const added = await api(MANAGEMENT_KEY, 'POST', '/credits', { amount: 1, organization_id: organization.id })
  t.match(added, { status: 201, json: { data: { total_credits: 1.0005, unlimited: false } } })
  t.strictSame(await statuses(Array.from({ length: 4 }, () => chat(key, PRICED, { max_tokens: 100 }))), {
    200: 4,
  })
})

test('a limit of a key is exact, shows what is left, and a new one counts at once', async (t) => {
  const { key, hash } = await newKey({ limit: 0.05, limit_reset: 'daily' })
  t.strictSame(await statuses(Array.from({ length: 20 }, () => chat(key))), { 200: 5, 402: 15 })
  t.match((await api(key, 'GET', '/key')).json.data, { limit: 0.05, limit_remaining: 0, usage_daily: 0.05 })
  const { message } = (await chat(key)).json().error
  t.match(message, /of the daily limit of this key, which begins anew at \d{4}-\d\d-\d\dT00:00:00\.000Z\./)
  await api(MANAGEMENT_KEY, 'PATCH', `/keys/${hash}`, { limit: 0.07 })
  t.strictSame(await statuses(Array.from({ length: 8 }, () => chat(key))), { 200: 2, 402: 6 })
  await api(MANAGEMENT_KEY, 'PATCH', `/keys/${hash}`, { limit: null })
  t.strictSame(await statuses(Array.from({ length: 4 }, () => chat(key))), { 200: 4 })
  await api(MANAGEMENT_KEY, 'PATCH', `/keys/${hash}`, { limit: 0.12 })
  t.strictSame(await statuses(Array.from({ length: 4 }, () => chat(key))), { 200: 1, 402: 3 })
  await api(MANAGEMENT_KEY, 'PATCH', `/keys/${hash}`, { limit: 0 })
  t.equal((await chat(key)).status, 402)
})

test('requests per minute are shared by the workers, and the refusal is truthful', async (t) => {
  const { key, hash } = await newKey({ rate_limit: { requests_per_minute: 10 } })
  t.strictSame(await statuses(Array.from({ length: 30 }, () => chat(key))), { 200: 10, 429: 20 })
  const refused = await chat(key)
  const retryAfter = Number(refused.headers.get('retry-after'))
  t.ok(retryAfter >= 1 && retryAfter <= 60)
  t.equal(refused.headers.get('x-ratelimit-limit'), '10')
  t.equal(refused.headers.get('x-ratelimit-remaining'), '0')
  const reset = Number(refused.headers.get('x-ratelimit-reset')) - Date.now()
  t.ok(reset > 0 && reset <= 60_000, `${reset}`)
  t.match(refused.json().error, {
    code: 429,
    metadata: { error_type: 'rate_limit_exceeded', limited: 'requests' },
  })
  t.match((await api(key, 'GET', '/key')).json.data.rate_limit, { requests: 10, interval: '1m' })
  await api(MANAGEMENT_KEY, 'PATCH', `/keys/${hash}`, { rate_limit: { requests_per_minute: null } })
  t.equal((await chat(key)).status, 200)
})

test('tokens per minute count what was used, not what was set aside', async (t) => {
  const { key } = await newKey({ rate_limit: { tokens_per_minute: 2_000 } })
  let accepted = 0
  for (let call = 0; call < 12; call++) {
    const { status, headers } = await chat(key, PRICED, { max_tokens: 200 })
    if (status === 200) accepted++
    else t.equal(headers.get('x-ratelimit-limit'), '2000')
  }
  // Each takes 200 of answer and a few of question.
  t.equal(accepted, 9)
})

test('calls at a time are counted over the workers, and a place is free again when its caller has left', async (t) => {
  const { key } = await newKey({ rate_limit: { concurrent: 3 } })
  const leaving = new AbortController()
  await takePlaces(key, 3, leaving.signal)
  const refused = await chat(key)
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('x-ratelimit-limit'), '3')
  leaving.abort()
  const following = new AbortController()
  await takePlaces(key, 3, following.signal)
  t.equal((await chat(key)).status, 429, 'all three places were free again, and are taken')
  following.abort()
})

test('a stream that its caller leaves is billed for what was generated', async (t: Test) => {
  const { key } = await newKey({})
  const leaving = new AbortController()
  const { id, response } = await openStream(key, leaving.signal)
  const reader = response.body!.getReader()
  for (let chunks = 0; chunks < 5; chunks++) await reader.read()
  leaving.abort()
  const { data } = await untilFound(key, id)
  t.match(data, { cancelled: true, streamed: true, attempts: 1 })
  t.ok(['aborted-estimated', 'aborted-confirmed'].includes(data.outcome), data.outcome)
  t.ok(data.tokens_completion > 0 && data.tokens_completion < 3_000, `${data.tokens_completion}`)
  t.equal(data.total_cost, Number((data.tokens_completion / 1000).toFixed(3)))
  t.equal((await api(key, 'GET', '/key')).json.data.usage, data.total_cost)
})

/**
 * Opens streams one after the other until so many are open at a time. Machines of a fleet call in from each other what
 * has come free, so that one may be refused while a place is on its way.
 */
async function takePlaces(key: string, places: number, signal: AbortSignal): Promise<void> {
  for (let taken = 0; taken < places; taken++)
    await eventually(async () => (await openStream(key, signal)).status === 200)
}

async function openStream(key: string, signal: AbortSignal) {
  const response = await fetch(`${server.apiUrl}/chat/completions`, {
    method: 'POST',
    signal,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: SLOW, stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  })
  return { status: response.status, id: response.headers.get('x-generation-id')!, response }
}

function untilFound(key: string, id: string): Promise<Json> {
  return eventually(async () => {
    const { status, json } = await api(key, 'GET', `/generation?id=${id}`)
    return status === 200 && json
  })
}

test('bad limits and credits are refused with the name of the field', async (t) => {
  for (const [path, body, message] of [
    [
      '/keys',
      { name: 'x', rate_limit: { requests_per_minute: 0 } },
      /^rate_limit\.requests_per_minute: must be at least 1$/,
    ],
    ['/keys', { name: 'x', rate_limit: { concurrent: 1.5 } }, /^rate_limit\.concurrent: must be an integer$/],
    ['/keys', { name: 'x', rate_limit: 7 }, /^rate_limit: /],
    ['/credits', { amount: -1 }, /^amount: must be at least 0$/],
    ['/credits', { amount: 1e9 }, /^amount: must be at most 9000000$/],
    ['/credits', {}, /^amount: is required$/],
    ['/organizations', { name: 'x', credits: -1 }, /^credits: must be at least 0$/],
  ] as const) {
    const { status, json } = await api(MANAGEMENT_KEY, 'POST', path, body)
    t.equal(status, 400, JSON.stringify(body))
    const begin = 'Invalid request parameters: '
    t.ok(json.error.message.startsWith(begin))
    t.match(json.error.message.slice(begin.length), message)
  }
  const { management } = await newOrganization(1)
  t.equal((await api(management, 'POST', '/credits', { amount: 1 })).status, 403)
  t.equal((await api(API_KEY, 'GET', '/credits')).status, 403)
})

const MESSAGES = [{ role: 'user', content: 'hi' }]
const PCM = { data: Buffer.alloc(3_200).toString('base64'), format: 'pcm' }
const ASKED = {
  '/chat/completions': { model: EXACT, messages: MESSAGES, metadata: { team: 'search' } },
  '/messages': { model: EXACT, messages: MESSAGES, max_tokens: 4 },
  '/audio/speech': { model: 'sim/speech', voice: 'alba', input: 'hi' },
  '/audio/transcriptions': { model: 'sim/transcribe', input_audio: PCM },
}

for (const [path, body] of Object.entries(ASKED)) {
  test(`for whom a call of ${path} was, and what its caller says of it, is kept with it`, async (t) => {
    const who = { user: 'somebody', session_id: 'their session', trace: { trace_id: 'nightly', build: 7 } }
    const response = await fetch(`${server.apiUrl}${path}`, {
      method: 'POST',
      headers: {
        ...{ Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
        ...{ 'User-Agent': 'tests/1', Referer: 'https://app.example.com', 'X-Service-Title': 'An app' },
      },
      body: JSON.stringify({ ...body, ...who }),
    })
    await response.arrayBuffer()
    t.equal(response.status, 200)
    const id = response.headers.get('x-generation-id')
    const { json } = await api(MANAGEMENT_KEY, 'GET', `/generation?id=${id}`)
    t.match(json.data, {
      ...{ external_user: 'somebody', session_id: 'their session', user_agent: 'tests/1' },
      ...{ http_referer: 'https://app.example.com', title: 'An app', trace: who.trace },
      metadata: 'metadata' in body ? { team: 'search' } : null,
    })
  })
}
