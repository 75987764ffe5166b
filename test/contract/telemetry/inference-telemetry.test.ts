/** What can be seen of inferences from outside: metrics, Server-Timing, OpenTelemetry traces. */
import { createServer } from 'node:http'
import tap, { test } from 'tap'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { mockCompletion } from '../../support/servers/chat-bench.js'
import { askChat, CANARY_PROMPT, type Json, startGateway } from '../../support/servers/gateway-server.js'
import { listen } from '../../support/servers/listen.js'
import { eventually } from '../../support/timing/eventually.js'

/** A collector that keeps what it is sent, as JSON. */
const exported: { path: string; body: Json }[] = []
const collector = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => void pieces.push(piece))
  request.on('end', () => {
    exported.push({ path: request.url ?? '', body: JSON.parse(Buffer.concat(pieces).toString()) })
    response.setHeader('Content-Type', 'application/json').end('{}')
  })
})
const port = await listen(tap, collector)

const upstream = await mockUpstream(tap)
const server = await startGateway({
  env: { SLUICE_WORKERS: '1', SLUICE_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
  config: {
    routing: { retries: 0 },
    providers: {
      one: { kind: 'openai', name: 'One "quoted"', base_url: `${upstream.origin}/v1`, breaker: false },
      two: { kind: 'openai', base_url: `${upstream.origin}/v1`, breaker: false },
    },
    models: {
      'acme/one': { endpoints: [{ provider: 'one', prices: { prompt: '0.001', completion: '0.002' } }] },
      'acme/any-*': { endpoints: [{ provider: 'one' }] },
      'acme/both': {
        endpoints: [
          { provider: 'one', upstream_model: 'dead' },
          { provider: 'two', upstream_model: 'well' },
        ],
      },
    },
  },
})
let stopped: Promise<unknown> | null = null
const stop = () => (stopped ??= server.stop())
tap.teardown(stop)

const BODY = {
  model: 'acme/one',
  messages: [{ role: 'user', content: CANARY_PROMPT }],
  user: 'somebody',
  session_id: 'a-session',
}
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

test('metrics count inferences by model, provider and outcome, and never by who asked', async (t) => {
  upstream.script = (peer) => peer.json(mockCompletion('served'))
  await askChat(server, BODY)
  upstream.script = (peer) => peer.json({ error: { message: 'no' } }, 500)
  await askChat(server, BODY)
  const text = await (await fetch(`${server.baseUrl}/metrics`)).text()
  const labels = 'worker="0",model="acme/one",provider="one"'
  for (const line of [
    `sluice_inferences_total{${labels},outcome="completed"} 1`,
    `sluice_inferences_total{${labels},outcome="failed"} 1`,
    `sluice_inferences_total{${labels},outcome="aborted"} 0`,
    `sluice_inference_attempts_total{${labels}} 2`,
    `sluice_inference_tokens_total{${labels},kind="prompt"} 10`,
    `sluice_inference_tokens_total{${labels},kind="completion"} 5`,
    `sluice_inference_cost_dollars_total{${labels}} 0.02`,
    `sluice_inference_duration_seconds_count{${labels}} 2`,
  ]) {
    t.ok(text.includes(`${line}\n`), line)
  }
  t.notMatch(text, /somebody|a-session/)
})

test('attempts count for the provider that was called, not for the one that served', async (t) => {
  upstream.script = (peer, { body }) => {
    if (JSON.parse(body).model === 'dead') peer.json({ error: { message: 'no' } }, 500)
    else peer.json(mockCompletion('served'))
  }
  const asked = await askChat(server, { ...BODY, model: 'acme/both', provider: { order: ['one', 'two'] } })
  t.equal(asked.status, 200)
  const text = await (await fetch(`${server.baseUrl}/metrics`)).text()
  for (const [provider, completed] of [
    ['one', 0],
    ['two', 1],
  ] as const) {
    const labels = `worker="0",model="acme/both",provider="${provider}"`
    t.ok(text.includes(`sluice_inference_attempts_total{${labels}} 1\n`), provider)
    t.ok(text.includes(`sluice_inferences_total{${labels},outcome="completed"} ${completed}\n`), provider)
  }
})

for (const stream of [false, true]) {
  test(`Server-Timing tells where the time went, only to who asks, stream: ${stream}`, async (t) => {
    upstream.script = (peer) =>
      stream
        ? peer.stream([{ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] }, '[DONE]'])
        : peer.json(mockCompletion('served'))
    const silent = await askChat(server, { ...BODY, stream })
    t.equal(silent.headers.get('server-timing'), null)
    const { headers } = await askChat(server, { ...BODY, stream }, { 'X-Service-Timing': 'enabled' })
    const phases = Object.fromEntries(
      (headers.get('server-timing') ?? '').split(', ').map((phase) => {
        const [name = '', duration = ''] = phase.split(';dur=')
        return [name, Number(duration)]
      }),
    )
    const names = 'auth plan admit queue connect first failed pause overhead total'
    t.equal(Object.keys(phases).join(' '), names)
    for (const [name, ms] of Object.entries(phases)) t.ok(ms >= 0 && ms < 5000, `${name} ${ms}`)
    const { queue = 0, connect = 0, first = 0, failed = 0, pause = 0, total = 0, overhead = 0 } = phases
    const sum = queue + connect + first + failed + pause + overhead
    t.ok(Math.abs(sum - total) < 0.01, 'the phases add up')
  })
}

/** The spans that have come so far. */
function spans(): Json[] {
  return exported
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ body }) => body.resourceSpans)
    .flatMap(({ scopeSpans }: Json) => scopeSpans)
    .flatMap(({ spans: some }: Json) => some)
}

const attributesOf = (span: Json): Record<string, unknown> =>
  Object.fromEntries(span.attributes.map(({ key, value }: Json) => [key, Object.values(value)[0]]))

/** Of OTLP. */
const SERVER = 2
const CLIENT = 3
const ERROR = 2

test('an inference is a span of the caller’s trace, with its attempts within', async (t) => {
  upstream.script = (peer) => peer.json(mockCompletion('served'))
  const { headers } = await askChat(server, BODY, { traceparent: `00-${TRACE}-${PARENT}-01` })
  const id = headers.get('x-generation-id')
  const body = { ...BODY, trace: { trace_id: TRACE, parent_span_id: PARENT, generation_name: 'my step' } }
  await askChat(server, body)
  await eventually(() => spans().some(({ name }) => name === 'my step'), 15_000)
  const ours = spans().filter(({ traceId }) => traceId === TRACE)
  const span = ours.find((one) => attributesOf(one)['gen_ai.response.id'] === id)
  t.equal(span.parentSpanId, PARENT)
  t.equal(span.name, 'chat acme/one')
  t.match(attributesOf(span), {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'one',
    'gen_ai.request.model': 'acme/one',
    'gen_ai.response.model': 'acme/one',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.conversation.id': 'a-session',
  })
  const within = ours.filter(({ parentSpanId }) => parentSpanId === span.spanId)
  t.equal(within.length, 1)
  t.match(within[0], { name: 'chat acme/one', kind: CLIENT })
  t.equal(span.kind, SERVER)
  t.equal(ours.find(({ name }) => name === 'my step')?.parentSpanId, PARENT)
})

test('turns of a loop and calls of its tools are spans of the caller’s trace', async (t) => {
  const trace = 'c'.repeat(32)
  const asked = {
    model: 'sim/agent',
    tools: [{ type: 'service:datetime' }],
    messages: [{ role: 'user', content: 'call service:datetime\nanswer late' }],
  }
  const { headers } = await askChat(server, asked, { traceparent: `00-${trace}-${PARENT}-01` })
  const id = headers.get('x-generation-id')
  const ours = () => spans().filter(({ traceId }) => traceId === trace)
  await eventually(() => ours().length >= 5, 15_000)
  const beneath = ours().filter(({ parentSpanId }) => parentSpanId === PARENT)
  const names = beneath.map(({ name }) => name).sort()
  t.strictSame(names, ['chat sim/agent', 'chat sim/agent', 'execute_tool datetime'])
  const tool = beneath.find(({ name }) => name.startsWith('execute_tool'))
  t.match(attributesOf(tool), {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'datetime',
    'gen_ai.tool.call.id': `${id}.2`,
    'gen_ai.response.id': id,
  })
})

test('a span names the model in full where the metrics name its entry', async (t) => {
  upstream.script = (peer) => peer.json(mockCompletion('served'))
  const { headers } = await askChat(server, { ...BODY, model: 'acme/any-7' })
  const id = headers.get('x-generation-id')
  const ofCall = () => spans().find((span) => attributesOf(span)['gen_ai.response.id'] === id)
  await eventually(() => ofCall() !== undefined, 15_000)
  t.match(attributesOf(ofCall()), {
    'gen_ai.request.model': 'acme/any-7',
    'gen_ai.response.model': 'acme/any-7',
  })
  const text = await (await fetch(`${server.baseUrl}/metrics`)).text()
  t.match(text, 'model="acme/any-*"')
  t.notMatch(text, 'acme/any-7')
})

test('attempts that failed say so, in a trace that the caller names without a span', async (t) => {
  upstream.script = (peer, { body }) => {
    const { model, stream } = JSON.parse(body)
    if (model === 'dead') peer.json({ error: { message: 'no' } }, 429, { 'retry-after': '9' })
    else if (stream) peer.stream([{ choices: [{ index: 0, delta: { content: 'half' } }] }], false)
    else peer.json(mockCompletion('served'))
  }
  const traceId = '1'.repeat(32)
  const trace = { trace_id: traceId, generation_name: 'x'.repeat(256), span_name: 'step', build: { no: 7 } }
  const labels = { user: 'somebody', metadata: { team: 'search' } }
  const provider = { order: ['one', 'two'] }
  await askChat(server, { ...BODY, ...labels, model: 'acme/both', provider, trace, stream: true })
  await eventually(() => spans().some((span) => span.traceId === traceId), 15_000)
  const ours = spans().filter((span) => span.traceId === traceId)
  const top = ours.find(({ kind }) => kind === SERVER)
  t.notOk(top.parentSpanId)
  t.equal(top.name, 'step')
  t.equal(top.status.code, ERROR)
  t.match(attributesOf(top), {
    'error.type': 'provider-failed',
    'enduser.id': 'somebody',
    'sluice.metadata.team': 'search',
    'sluice.metadata.build': '{"no":7}',
    'sluice.trace_id': traceId,
  })
  const attempts = ours.filter(({ parentSpanId }) => parentSpanId === top.spanId)
  t.same(
    attempts.map((one) => [one.name, one.status.code, attributesOf(one)['error.type']]),
    [
      ['x'.repeat(256), ERROR, 'rate-limited'],
      ['x'.repeat(256), ERROR, 'provider-failed'],
    ],
    'the second broke off in the middle of its answer',
  )
})

test('a trace of a name that is no id is one trace, and what is too long to be kept is refused', async (t) => {
  upstream.script = (peer) => peer.json(mockCompletion('served'))
  for (const name of ['first', 'second'])
    await askChat(server, { ...BODY, trace: { trace_id: 'nightly run', span_name: name } })
  const named = (wanted: string) => spans().find(({ name }) => name === wanted)
  await eventually(() => named('first') !== undefined && named('second') !== undefined, 15_000)
  t.match(named('first').traceId, /^[0-9a-f]{32}$/)
  t.equal(named('first').traceId, named('second').traceId)
  for (const trace of [{ trace_name: 'x'.repeat(257) }, { label: 'x'.repeat(4096) }]) {
    const asked = await askChat(server, { ...BODY, trace })
    t.equal(asked.status, 400)
    t.match(asked.text, /trace/)
  }
})

test('nothing that was said, and no credential, is exported; metrics are sent at the end', async (t) => {
  await stop()
  const text = JSON.stringify(exported)
  t.notMatch(text, new RegExp(CANARY_PROMPT))
  t.notMatch(text, /sk-test/)
  t.ok(exported.some(({ path }) => path === '/v1/metrics'))
  t.match(text, /gen_ai\.client\.token\.usage/)
  const histograms: Json[] = exported
    .filter(({ path }) => path === '/v1/metrics')
    .flatMap(({ body }) => body.resourceMetrics)
    .flatMap(({ scopeMetrics }: Json) => scopeMetrics)
    .flatMap(({ metrics }: Json) => metrics)
  const duration = histograms.find(({ name }) => name === 'gen_ai.server.request.duration')
  t.equal(duration.unit, 's')
  t.equal(duration.histogram.dataPoints[0].explicitBounds[0], 0.01, 'the bounds of the conventions')
  const models = new Set(
    histograms
      .flatMap(({ histogram }) => histogram?.dataPoints ?? [])
      .map((point: Json) => attributesOf(point)['gen_ai.request.model']),
  )
  t.same(
    [...models].sort(),
    ['acme/any-*', 'acme/both', 'acme/one', 'sim/agent'],
    'models of the configuration only',
  )
})
