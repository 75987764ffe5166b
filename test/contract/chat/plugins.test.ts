/** Plugins on a real server: each once, whole and in a stream, in both formats where it has something to do. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'tap'
import { pdfOf } from '../../support/data/pdf.js'
import { FLEET_DATABASE_URL } from '../../support/servers/fleet-database.js'
import { type GatewayServer, startGateway } from '../../support/servers/gateway-server.js'

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into as a caller does
type Json = Record<string, any>

/** An OpenAI-compatible server that says what a test has put here, and moderates by a word. */
const upstream = { says: '', finish: 'stop', asked: [] as Json[] }
const provider = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Json
    upstream.asked.push(body)
    if (request.url === '/v1/moderations') {
      const results = body.input.map((text: string) => {
        const flagged = text.includes('flagged')
        return { flagged, categories: { violence: flagged } }
      })
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ model: 'omni', results }))
    } else if (body.stream === true) {
      response.setHeader('content-type', 'text/event-stream')
      for (const content of upstream.says.match(/.{1,5}/gs) ?? [])
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`)
      const last = { choices: [{ index: 0, delta: {}, finish_reason: upstream.finish }] }
      response.end(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`)
    } else {
      const message = { role: 'assistant', content: upstream.says }
      const choices = [{ index: 0, message, finish_reason: upstream.finish }]
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ choices }))
    }
  })
})

let server: GatewayServer

test('a server with a provider, and plugins that are configured', async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const { port } = provider.address() as AddressInfo
  const endpoints = [{ provider: 'acme' }]
  server = await startGateway({
    config: {
      providers: { acme: { kind: 'openai', base_url: `http://127.0.0.1:${port}/v1` } },
      models: {
        'acme/small': {
          endpoints,
          context_length: 1000,
          quality: 0.3,
          tier: 'low',
          prices: { prompt: '0.0000001' },
        },
        'acme/large': { endpoints, quality: { overall: 0.9 }, tier: 'high', prices: { prompt: '0.00001' } },
      },
      plugins: {
        moderation: { provider: 'acme' },
        alignment: { model: 'sim/judge' },
        'switchyard-router': { model: 'sim/judge' },
      },
    },
  })
})

const TOLD_BY_HINTS =
  FLEET_DATABASE_URL !== '' && 'the next call may reach another machine before the hint does'
const METADATA = { 'X-Service-Metadata': 'enabled' }

interface Answer {
  readonly status: number
  readonly body: Json
  readonly text: string
  readonly finish: string | undefined
  readonly metadata: Json
  readonly annotations: readonly Json[]
}

async function ask(body: Json, headers = METADATA): Promise<Answer> {
  const response = await server.post('/chat/completions', { model: 'sim/fast', ...body }, { headers })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return readStream(response)
  const answer = (await response.json()) as Json
  const { message, finish_reason: finish } = answer.choices?.[0] ?? {}
  const { content: text = '', annotations = [] } = message ?? {}
  return {
    status: response.status,
    body: answer,
    text,
    finish,
    annotations,
    metadata: answer.service_metadata ?? {},
  }
}

async function readStream(response: Response): Promise<Answer> {
  const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('data: {'))
  const chunks = events.map((event) => JSON.parse(event.slice('data: '.length)) as Json)
  const deltas = chunks.flatMap(({ choices }) => choices ?? [])
  return {
    status: response.status,
    body: chunks.at(-1)!,
    text: deltas.map(({ delta }) => delta.content ?? '').join(''),
    finish: deltas.findLast(({ finish_reason }) => finish_reason)?.finish_reason,
    annotations: deltas.flatMap(({ delta }) => delta.annotations ?? []),
    metadata: chunks.findLast(({ service_metadata }) => service_metadata)?.service_metadata ?? {},
  }
}

function user(content: unknown): Json {
  return { messages: [{ role: 'user', content }] }
}

function stage({ metadata }: Answer, type: string): Json | undefined {
  return metadata.pipeline?.find((each: Json) => each.type === type)
}

function plugins(...list: readonly Json[]): Json {
  return { plugins: list }
}

/** Whole and streamed. */
const WAYS = [{}, { stream: true }] as const

// ── file-parser ─────────────────────────────────────────────────────────────

const FILE = {
  type: 'file',
  file: {
    filename: 'rain.pdf',
    file_data: `data:application/pdf;base64,${pdfOf('Rain in spring').toString('base64')}`,
  },
}

test('a PDF reaches the model as text, and its annotation spares the next reading', async (t) => {
  for (const way of WAYS) {
    upstream.says = 'It rains.'
    const asked = {
      ...user([{ type: 'text', text: 'What is it?' }, FILE]),
      ...plugins({ id: 'file-parser' }),
    }
    const answer = await ask({ ...asked, ...way, model: 'acme/large' })
    t.equal(answer.text, 'It rains.')
    t.match(upstream.asked.at(-1)!.messages[0].content[1], { type: 'text', text: /Rain in spring/ })
    t.match(answer.annotations, [
      { type: 'file', file: { name: 'rain.pdf', content: [{ text: /Rain in spring/ }] } },
    ])
    t.match(stage(answer, 'plugin'), { name: 'file-parser', data: { files: [{ reused: false }] } })

    const { annotations } = answer
    const echoed = { role: 'assistant', content: answer.text, annotations }
    const again = await ask({
      ...{ model: 'acme/large', ...plugins({ id: 'file-parser' }), ...way },
      messages: [asked.messages[0], echoed, { role: 'user', content: 'And then?' }],
    })
    t.match(stage(again, 'plugin'), { data: { files: [{ reused: true }] } })
    t.notMatch(JSON.stringify(upstream.asked.at(-1)), /annotations/, 'no provider sees them')
  }
})

test('a PDF that is none is a 400, with what was read before it', async (t) => {
  const none = {
    type: 'file',
    file: { filename: 'none.pdf', file_data: 'data:application/pdf;base64,aGVsbG8=' },
  }
  for (const way of WAYS) {
    const { status, body } = await ask({ ...user([FILE, none]), ...plugins({ id: 'file-parser' }), ...way })
    t.equal(status, 400)
    t.match(body.error.message, /messages\.0\.content\.1: is no PDF/)
    t.match(body.error.metadata.file_annotations, [{ file: { name: 'rain.pdf' } }])
  }
  const ocr = await ask({
    ...user([FILE]),
    ...plugins({ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }),
  })
  t.equal(ocr.status, 400)
  t.match(ocr.body.error.message, /plugins\.file-parser\.ocr/)
})

test('a provider that fails keeps what was read', async (t) => {
  const asked = { ...user([FILE]), ...plugins({ id: 'file-parser' }), model: 'sim/fault-error' }
  const { status, body } = await ask(asked)
  t.ok(status >= 500)
  t.match(body.error.metadata?.file_annotations, [{ file: { name: 'rain.pdf' } }])
})

test('documents of the messages format are read', async (t) => {
  upstream.says = 'It rains.'
  const source = {
    type: 'base64',
    media_type: 'application/pdf',
    data: pdfOf('Rain in spring').toString('base64'),
  }
  const response = await server.post('/messages', {
    model: 'acme/large',
    max_tokens: 50,
    messages: [{ role: 'user', content: [{ type: 'document', source }] }],
    ...plugins({ id: 'file-parser' }),
  })
  t.equal(response.status, 200)
  t.match(JSON.stringify(upstream.asked.at(-1)!.messages), /Rain in spring/)
})

// ── response-healing ────────────────────────────────────────────────────────

const HEALING = {
  ...plugins({ id: 'response-healing' }),
  response_format: { type: 'json_object' },
  model: 'acme/large',
}

test('broken JSON is healed: whole answers altogether, streams at their end', async (t) => {
  upstream.says = "```json\n{'a': 1,}\n```"
  const whole = await ask({ ...user('json'), ...HEALING })
  t.strictSame(JSON.parse(whole.text), { a: 1 })
  t.match(stage(whole, 'response_healing'), { data: { healed: true } })
  const streamed = await ask({ ...user('json'), ...HEALING, stream: true })
  t.equal(streamed.text, upstream.says)
  t.match(stage(streamed, 'response_healing'), { data: { healed: false } })

  Object.assign(upstream, { says: '{"a": [1, {"b": "cut off', finish: 'length' })
  for (const way of WAYS) {
    const answer = await ask({ ...user('json'), ...HEALING, ...way })
    t.strictSame(JSON.parse(answer.text), { a: [1, { b: 'cut off' }] })
    t.equal(answer.finish, 'length', 'the end that the model made stays told')
    t.match(stage(answer, 'response_healing'), { data: { healed: true } })
  }
  Object.assign(upstream, { says: '{"a": 1}', finish: 'stop' })
  for (const way of WAYS) {
    const answer = await ask({ ...user('json'), ...HEALING, ...way })
    t.equal(answer.text, '{"a": 1}')
    t.equal(stage(answer, 'response_healing'), undefined)
  }
})

test('JSON that cannot be healed is told, and is no failure', async (t) => {
  upstream.says = 'I would rather not.'
  for (const way of WAYS) {
    const answer = await ask({ ...user('json'), ...HEALING, ...way })
    t.equal(answer.status, 200)
    t.equal(answer.text, upstream.says)
    t.match(stage(answer, 'response_healing'), { data: { healed: false } })
  }
})

// ── context-compression ─────────────────────────────────────────────────────

const LONG = {
  model: 'acme/small',
  messages: [
    { role: 'system', content: 'rules' },
    ...Array.from({ length: 9 }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: `${at} ${'word '.repeat(200)}`,
    })),
  ],
}

test('a prompt that is too long for a small model is compressed unasked, unless that is switched off', async (t) => {
  upstream.says = 'fine'
  for (const way of WAYS) {
    for (const more of [{}, plugins({ id: 'context-compression' }), { transforms: ['middle-out'] }]) {
      const answer = await ask({ ...LONG, ...way, ...more })
      const { messages } = upstream.asked.at(-1) as { messages: readonly Json[] }
      t.ok(messages.length < LONG.messages.length, JSON.stringify(more))
      t.equal(messages[0]!.content, 'rules')
      t.match(messages.at(-1)!.content, /^8 /)
      t.match(stage(answer, 'context_compression'), { name: 'middle-out', data: { dropped: Number } })
    }
    for (const more of [plugins({ id: 'context-compression', enabled: false }), { transforms: [] }]) {
      const answer = await ask({ ...LONG, ...way, ...more })
      t.equal(upstream.asked.at(-1)!.messages.length, LONG.messages.length, JSON.stringify(more))
      t.equal(stage(answer, 'context_compression'), undefined)
    }
  }
})

test('a prompt is cut when it is complete, whatever the order of the plugins', async (t) => {
  upstream.says = 'fine'
  const lines = Array.from(
    { length: 60 },
    (_, at) => `line ${at} of a report that goes on and on about the rain in spring`,
  )
  const file_data = `data:application/pdf;base64,${pdfOf(lines.join('\n')).toString('base64')}`
  const content = [
    { type: 'text', text: 'What is it?' },
    { type: 'file', file: { filename: 'long.pdf', file_data } },
  ]
  const list = plugins({ id: 'context-compression' }, { id: 'file-parser' })
  const answer = await ask({ ...user(content), ...list, model: 'acme/small' })
  t.match(answer.metadata.pipeline, [{ name: 'file-parser' }, { name: 'middle-out', data: { shortened: 1 } }])
  t.match(upstream.asked.at(-1)!.messages[0].content[1].text, /line 0 .*\[…\].*<\/file>$/s)
})

test('what fits goes the ordinary way', async (t) => {
  const answer = await ask({ ...user('short'), model: 'acme/small' })
  t.equal(answer.metadata.pipeline, undefined)
})

// ── Routers ─────────────────────────────────────────────────────────────────

test('routers choose, and say what and why', async (t) => {
  upstream.says = 'fine'
  const cases: readonly (readonly [Json, string, string])[] = [
    [{ model: 'service/auto' }, 'acme/small', 'auto'],
    [{ model: 'openrouter/auto', ...plugins({ id: 'auto-router', cost_tier: 'max' }) }, 'acme/large', 'auto'],
    [
      { model: 'acme/small', ...plugins({ id: 'auto-beta-router', cost_quality_tradeoff: 0 }) },
      'acme/large',
      'auto',
    ],
    [
      { model: undefined, ...plugins({ id: 'jev-router', excluded_models: ['*small'] }) },
      'acme/large',
      'jev',
    ],
    [
      {
        models: ['acme/large', 'acme/small'],
        ...plugins({ id: 'switchyard-router', algorithm: 'capability' }),
      },
      'acme/small',
      'switchyard',
    ],
  ]
  for (const way of WAYS)
    for (const [more, model, strategy] of cases) {
      const answer = await ask({ ...user('hello'), ...way, ...more })
      t.equal(answer.body.model, model, JSON.stringify(more))
      t.equal(answer.metadata.strategy, strategy)
      if (typeof more.model === 'string') t.equal(answer.metadata.requested, more.model)
      t.match(stage(answer, 'plugin')?.summary, model)
    }
  const hard = {
    models: ['acme/large', 'acme/small'],
    ...plugins({ id: 'switchyard-router', algorithm: 'capability' }),
  }
  t.equal((await ask({ ...user('judge:hard'), ...hard })).body.model, 'acme/large')
})

test('a router without figures names the column, and one without models is a 404', async (t) => {
  const pareto = await ask({
    ...user('x'),
    model: 'service/pareto-code',
    ...plugins({ id: 'pareto-router' }),
  })
  t.equal(pareto.status, 400)
  t.match(pareto.body.error.message, /quality\.coding/)
  const none = await ask({ ...user('x'), ...plugins({ id: 'auto-router', allowed_models: ['nobody/*'] }) })
  t.equal(none.status, 404)
})

test('a pinned model stays with its session', { skip: TOLD_BY_HINTS }, async (t) => {
  const pin = (more: Json) => ({
    ...user('x'),
    model: 'service/auto',
    session_id: 's-1',
    ...plugins({ id: 'auto-router', pin_model: true, ...more }),
  })
  t.equal((await ask(pin({ cost_quality_tradeoff: 0 }))).body.model, 'acme/large')
  t.equal((await ask(pin({ cost_quality_tradeoff: 10 }))).body.model, 'acme/large')
  t.equal((await ask({ ...pin({ cost_quality_tradeoff: 10 }), session_id: 's-2' })).body.model, 'acme/small')
})

// ── moderation and alignment ────────────────────────────────────────────────

test('flagged words are a 403 with reasons, and others pass', async (t) => {
  upstream.says = 'fine'
  for (const way of WAYS) {
    const asked = { ...way, ...plugins({ id: 'moderation' }), model: 'acme/large' }
    const { status, body } = await ask({ ...user('these are flagged words'), ...asked })
    t.equal(status, 403)
    t.match(body.error.metadata, {
      reasons: ['violence'],
      flagged_input: 'these are flagged words',
      provider_name: 'acme',
      model_slug: 'acme/large',
    })
    t.equal((await ask({ ...user('kind words'), ...asked })).text, 'fine')
  }
})

test('an answer that breaks a rule is not shown, and an audit only tells', async (t) => {
  const rules = ['never say "banana"']
  for (const way of WAYS) {
    upstream.says = 'One banana.'
    const enforced = { ...user('x'), ...way, model: 'acme/large', ...plugins({ id: 'alignment', rules }) }
    const before = upstream.asked.length
    const { status, body } = await ask(enforced)
    if (status === 200) t.match(body.error, { code: 403 })
    else t.equal(status, 403)
    t.match(body.error.metadata, { reasons: rules, retries: 1 })
    t.notMatch(JSON.stringify(body), /One banana/)
    t.equal(upstream.asked.length - before, 2)
    t.match(upstream.asked.at(-1)!.messages, [{ role: 'system', content: /never say/ }])
    const audited = await ask({ ...enforced, ...plugins({ id: 'alignment', rules, mode: 'audit' }) })
    t.equal(audited.text, 'One banana.')
    t.match(stage(audited, 'plugin'), { name: 'alignment', data: { broken: rules } })
    upstream.says = 'One apple.'
    t.equal((await ask(enforced)).text, 'One apple.')
  }
})

test('an answer that keeps the rules at the second try is the only one that is shown', async (t) => {
  const rules = ['never say "banana"']
  for (const way of WAYS) {
    upstream.says = 'One banana.'
    const answering = ask({
      ...user('x'),
      ...way,
      model: 'acme/large',
      ...plugins({ id: 'alignment', rules }),
    })
    const first = upstream.asked.length
    while (upstream.asked.length === first) await new Promise((resolve) => setImmediate(resolve))
    upstream.says = 'One apple.'
    const answer = await answering
    t.equal(answer.text, 'One apple.')
    t.match(stage(answer, 'plugin'), { name: 'alignment', data: { retries: 1 } })
  }
})

test('two alignments, and rules that are none, are a 400', async (t) => {
  const one = { id: 'alignment', rules: ['a'] }
  t.equal((await ask({ ...user('x'), ...plugins(one, one) })).status, 400)
  t.equal((await ask({ ...user('x'), ...plugins({ id: 'alignment', rules: [] }) })).status, 400)
})

// ── Without configuration, and with defaults ────────────────────────────────

test('simulated models have a simulated judge, others need one', async (t) => {
  await server.stop()
  server = await startGateway()
  const rules = ['never say "secret"']
  const alignment = plugins({ id: 'alignment', rules, instruct: false, max_retries: 0 })
  t.equal((await ask({ ...user('echo: the secret'), ...alignment })).status, 403)
  t.equal((await ask({ ...user('echo: the rest'), ...alignment })).text, 'the rest')
  t.equal((await ask({ ...user('judge:violence'), ...plugins({ id: 'moderation' }) })).status, 403)
  t.equal((await ask({ ...user('hello'), model: 'service/auto' })).status, 200)
  const pareto = { ...user('x'), ...plugins({ id: 'pareto-router', min_coding_score: 0.8 }) }
  t.equal((await ask(pareto)).body.model, 'sim/reasoner')
})

test('what is not configured is a 400 for models that are not simulated', async (t) => {
  await server.stop()
  const { port } = provider.address() as AddressInfo
  server = await startGateway({
    config: {
      providers: { acme: { kind: 'openai', base_url: `http://127.0.0.1:${port}/v1` } },
      models: { 'acme/large': { endpoints: [{ provider: 'acme' }] } },
      plugins: {
        defaults: [
          { plugin: { id: 'response-healing' }, overridable: false },
          { plugin: { id: 'file-parser' } },
        ],
      },
    },
  })
  for (const plugin of [{ id: 'moderation' }, { id: 'alignment', rules: ['a'] }]) {
    const { status, body } = await ask({ ...user('x'), model: 'acme/large', ...plugins(plugin) })
    t.equal(status, 400)
    t.match(body.error.message, new RegExp(`plugins\\.${plugin.id}`))
  }
})

test('defaults run unasked; one that may not be overridden runs whatever the request says', async (t) => {
  Object.assign(upstream, { says: '{"a": 1', finish: 'stop' })
  const format = { response_format: { type: 'json_object' }, model: 'acme/large' }
  for (const more of [{}, plugins({ id: 'response-healing', enabled: false })])
    t.equal((await ask({ ...user('x'), ...format, ...more })).text, '{"a": 1}')
  await ask({ ...user([FILE]), model: 'acme/large' })
  t.match(JSON.stringify(upstream.asked.at(-1)), /Rain in spring/)
  await ask({ ...user([FILE]), model: 'acme/large', ...plugins({ id: 'file-parser', enabled: false }) })
  t.notMatch(JSON.stringify(upstream.asked.at(-1)), /Rain in spring/)
})

test('the servers end', async () => {
  await server.stop()
  await new Promise((resolve) => provider.close(resolve))
})
