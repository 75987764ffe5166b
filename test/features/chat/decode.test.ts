/** Rules between fields, headers, and what is left out (contract/decisions 7 to 10; contract/gateway 1.3). */
import fc from 'fast-check'
import { test } from 'tap'
import { INFERENCE_HEADERS, wantsMetadata } from '../../../src/inference-http/call-headers.js'
import { decoded, decodedOf, refusal, refusalOf, SMALLEST, withMembers } from './chat-bodies.js'

const { messages } = SMALLEST

test('a model is required unless fallback models are named', async (t) => {
  t.equal(refusal({ messages }), 'model: is required')
  t.equal(refusal({ messages, models: [] }), 'model: is required')
  t.strictSame(decoded({ messages, models: ['a/b'] }), { messages, models: ['a/b'] })
  t.strictSame(decoded({ messages, model: 'a/b', models: [] }), { messages, model: 'a/b' })
})

const CONFLICTS: readonly (readonly [name: string, members: object, sentence: string | null])[] = [
  [
    'two efforts that differ',
    { reasoning_effort: 'low', reasoning: { effort: 'high' } },
    'reasoning_effort: must not differ from reasoning.effort',
  ],
  ['two efforts that agree', { reasoning_effort: 'low', reasoning: { effort: 'low' } }, null],
  ['one effort and a null', { reasoning_effort: 'low', reasoning: { effort: null } }, null],
  [
    'a budget and an effort',
    { reasoning: { effort: 'low', max_tokens: 5 } },
    'reasoning.max_tokens: cannot be combined with an effort',
  ],
  [
    'a budget and the short effort',
    { reasoning_effort: 'low', reasoning: { max_tokens: 5 } },
    'reasoning.max_tokens: cannot be combined with an effort',
  ],
  ['a budget and no effort', { reasoning: { effort: null, max_tokens: 5 } }, null],
  ['alternatives without log probabilities', { top_logprobs: 5 }, 'top_logprobs: needs logprobs: true'],
  [
    'alternatives with log probabilities off',
    { top_logprobs: 0, logprobs: false },
    'top_logprobs: needs logprobs: true',
  ],
  ['alternatives with log probabilities', { top_logprobs: 20, logprobs: true }, null],
  ['no alternatives', { top_logprobs: null }, null],
  ['too many alternatives', { top_logprobs: 21, logprobs: true }, 'top_logprobs: must be at most 20'],
  ['an echo in a stream', { debug: { echo_upstream_body: true }, stream: true }, null],
  [
    'an echo without a stream',
    { debug: { echo_upstream_body: true } },
    'debug.echo_upstream_body: needs stream: true',
  ],
]

for (const [name, members, sentence] of CONFLICTS) {
  test(`fields are judged together: ${name}`, async (t) => {
    t.equal(refusalOf(members), sentence)
    if (sentence === null) t.strictSame(decodedOf(members), withMembers(members))
  })
}

test('a field that no provider carries out is refused unless it changes nothing, and then left out', async (t) => {
  for (const [members, sentence] of [
    [{ transforms: ['other'] }, 'transforms.0: must be middle-out'],
    [{ preset: 'a' }, 'preset: is not supported'],
    [{ prompt: 'a' }, 'prompt: is not supported: use messages'],
    [{ n: 2 }, 'n: must be 1: only one choice is supported'],
    [{ n: '1' }, 'n: must be 1: only one choice is supported'],
    [{ functions: [{}] }, 'functions: is not supported: use tools'],
    [{ function_call: { name: 'f' } }, 'function_call: is not supported: use tool_choice'],
  ] as const)
    t.equal(refusalOf(members), sentence)
  const harmless = { web_search_options: null, transforms: null, preset: null, prompt: null, n: 1 }
  t.strictSame(decodedOf({ ...harmless, functions: [], function_call: 'none', tools: [] }), SMALLEST)
})

test('an older word for compression, models that a router chooses, and routers without a model', async (t) => {
  const tooling = (members: object) => decodedOf(members).tooling
  t.match(tooling({ transforms: ['middle-out'] })?.plugins, [
    { id: 'context-compression', place: ['transforms'] },
  ])
  t.match(tooling({ transforms: [] }), { plugins: [], disabled: ['context-compression'] })
  for (const [model, id] of [
    ['service/auto', 'auto-router'],
    ['openrouter/auto', 'auto-router'],
    ['service/auto-beta', 'auto-beta-router'],
    ['openrouter/pareto-code', 'pareto-router'],
  ])
    t.match(tooling({ model })?.plugins, [{ id, place: ['model'] }])
  const router = { id: 'auto-router', cost_tier: 'low' }
  const own = tooling({ model: 'service/auto', plugins: [router] })?.plugins
  t.strictSame(own, [{ id: 'auto-router', options: { cost_tier: 'low' }, place: ['plugins', 0] }])
  t.equal(refusalOf({ model: undefined, plugins: [router] }), null)
  t.match(refusalOf({ model: undefined, plugins: [{ ...router, enabled: false }] }), /^model: /)
  t.match(refusalOf({ model: undefined, plugins: [{ id: 'web' }] }), /^model: /)
})

test('annotations of an earlier answer reach no provider, and those of files spare their reading', async (t) => {
  const file = {
    hash: 'text-1',
    name: 'a.pdf',
    content: [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ],
  }
  const annotations = [
    { type: 'file', file },
    { type: 'url_citation' },
    { type: 'file', file: { hash: 7 } },
    null,
  ]
  const messages = [
    { role: 'assistant', content: 'x', annotations },
    { role: 'assistant', content: 'x', annotations: 'none' },
    { role: 'user', content: 'y' },
  ]
  const read = decodedOf({ messages, plugins: [{ id: 'file-parser' }] })
  t.strictSame(read.tooling?.parsedFiles, [{ hash: 'text-1', name: 'a.pdf', text: 'one\ntwo' }])
  t.notMatch(JSON.stringify(read.messages), /annotations/)
  t.notMatch(JSON.stringify(decodedOf({ messages }).messages), /annotations/)
})

test('the session of the header counts where the body names none', async (t) => {
  t.equal(decoded(SMALLEST, 'from-header').session_id, 'from-header')
  t.equal(decoded(withMembers({ session_id: 'from-body' }), 'from-header').session_id, 'from-body')
  t.equal(decoded(SMALLEST, '').session_id, undefined)
  t.equal(refusal(SMALLEST, 'x'.repeat(256)), null)
  t.equal(refusal(SMALLEST, 'x'.repeat(257)), 'x-session-id: must have at most 256 characters')
})

test('routing metadata is asked for by enabled in any case, and names in use win over former ones', async (t) => {
  const asked = (headers: Readonly<Record<string, string>>): boolean =>
    wantsMetadata({ header: (name) => headers[name] ?? '' })
  t.equal(asked({}), false)
  const names = INFERENCE_HEADERS.filter((name) => name.endsWith('metadata'))
  t.equal(names.length, 4)
  for (const name of names) {
    for (const value of ['enabled', 'Enabled', 'ENABLED']) t.equal(asked({ [name]: value }), true, name)
    for (const value of ['disabled', 'true', '1', 'yes', 'enabled!'])
      t.equal(asked({ [name]: value }), false, `${name}: ${value}`)
  }
  for (const now of ['x-service-metadata', 'x-openrouter-metadata']) {
    for (const former of ['x-service-experimental-metadata', 'x-openrouter-experimental-metadata']) {
      t.equal(asked({ [now]: 'disabled', [former]: 'enabled' }), false)
      t.equal(asked({ [now]: 'enabled', [former]: 'disabled' }), true)
    }
  }
})

test('only declared headers are read', async (t) => {
  const header = (name: string): string => {
    t.ok(INFERENCE_HEADERS.includes(name), name)
    return ''
  }
  wantsMetadata({ header })
  t.ok(INFERENCE_HEADERS.includes('x-session-id'))
})

// ── Properties ──────────────────────────────────────────────────────────────

const FIELDS = [
  ...['messages', 'model', 'models', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k'],
  ...['top_a', 'min_p', 'frequency_penalty', 'presence_penalty', 'repetition_penalty', 'logit_bias'],
  ...['logprobs', 'top_logprobs', 'seed', 'stop', 'stream', 'stream_options', 'modalities', 'image_config'],
  ...['prediction', 'response_format', 'tools', 'tool_choice', 'parallel_tool_calls', 'max_tool_calls'],
  ...['stop_server_tools_when', 'reasoning', 'reasoning_effort', 'provider', 'route', 'plugins'],
  ...['service_tier', 'cache_control', 'prompt_cache_options', 'prompt_cache_key', 'session_id', 'user'],
  ...['metadata', 'trace', 'debug', 'verbosity', 'include_reasoning', 'structured_outputs'],
  ...['web_search_options', 'transforms', 'preset', 'prompt', 'n', 'functions', 'function_call'],
]

/** JSON that now and then uses the words of the contract, so that it gets past the first check. */
const words = fc.constantFrom(
  ...['type', 'role', 'id', 'content', 'text', 'url', 'function', 'user', 'name', 'web'],
)
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 0, 1.5, -1, 1e300, '', '\ud800'),
    words,
    fc.string({ unit: 'binary' }),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(words, fc.string()), tie('json'), { maxKeys: 4 }),
  ),
}))

test('whatever stands in a field, the body is taken or refused with a sentence about a field', async (t) => {
  fc.assert(
    fc.property(fc.constantFrom(...FIELDS), json, (field, value) => {
      // Anything but a fault of invalid input is thrown on and fails the property.
      const sentence = refusalOf({ [field]: value })
      if (sentence !== null) t.match(sentence, /^[a-z_]+(\.[a-z_0-9]+)*: \S/)
      return true
    }),
    { numRuns: 5_000 },
  )
})

const text = fc.string({ maxLength: 30 })
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value)
const between = (min: number, max: number): fc.Arbitrary<number | null> =>
  maybe(fc.double({ min, max, noNaN: true }))
const effort = fc.constantFrom('max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none')
const textPart = fc.record({ type: fc.constant('text'), text })
const imagePart = fc.record({
  type: fc.constant('image_url'),
  image_url: fc.record(
    {
      url: fc.webUrl({ validSchemes: ['http', 'https'] }),
      detail: fc.constantFrom('auto', 'low', 'high', 'original'),
    },
    { requiredKeys: ['url'] },
  ),
})
const content = fc.oneof(text, fc.array(fc.oneof(textPart, imagePart), { maxLength: 3 }))
const toolName = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)

/** An exchange of messages in which every result answers a call. */
const exchange = fc.oneof(
  fc.tuple(fc.record({ role: fc.constantFrom('system', 'developer'), content: text })),
  fc.tuple(
    fc.record({ role: fc.constant('user'), content, name: text }, { requiredKeys: ['role', 'content'] }),
  ),
  fc.tuple(
    fc.record({ role: fc.constant('assistant'), content: fc.option(content), reasoning: maybe(text) }),
  ),
  fc
    .record({ id: fc.uuid(), name: toolName, args: fc.json(), result: content })
    .map(({ id, name, args, result }) => [
      { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name, arguments: args } }] },
      { role: 'tool', tool_call_id: id, content: result },
    ]),
)

const validBody = fc.record(
  {
    messages: fc.array(exchange, { minLength: 1, maxLength: 5 }).map((parts) => parts.flat()),
    model: fc.constantFrom('sim/fast', 'a/b:free', 'meta-llama/llama-3.3-70b'),
    models: fc.array(fc.constantFrom('a/b', 'c/d:x'), { minLength: 1, maxLength: 3 }),
    max_tokens: maybe(fc.integer({ min: 1 })),
    temperature: between(0, 2),
    top_p: between(0, 1),
    top_k: maybe(fc.nat()),
    frequency_penalty: between(-2, 2),
    repetition_penalty: between(0, 2),
    logit_bias: fc.dictionary(fc.nat().map(String), fc.integer({ min: -100, max: 100 })),
    seed: maybe(fc.maxSafeInteger()),
    stop: maybe(fc.oneof(text, fc.array(text, { maxLength: 4 }))),
    stream: fc.boolean(),
    tools: fc.array(
      fc.record({
        type: fc.constant('function'),
        function: fc.record({ name: toolName, parameters: fc.constant({ type: 'object' }) }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    reasoning: fc.record(
      { effort: maybe(effort), summary: maybe(fc.constantFrom('auto', 'concise', 'detailed')) },
      { requiredKeys: [] },
    ),
    response_format: fc.constantFrom({ type: 'text' }, { type: 'json_object' }, { type: 'python' }),
    metadata: fc.dictionary(fc.stringMatching(/^[a-z]{1,64}$/), text, { maxKeys: 16 }),
    user: text,
    session_id: text,
    service_tier: maybe(fc.constantFrom('auto', 'flex', 'ultrafast')),
    provider: maybe(fc.record({ order: fc.array(toolName), zdr: maybe(fc.boolean()) })),
    trace: fc.dictionary(fc.stringMatching(/^x[a-z]{1,8}$/), fc.jsonValue({ maxDepth: 3 })),
  },
  { requiredKeys: ['messages', 'model'] },
)

test('every valid request is taken and comes out equal', async (t) => {
  fc.assert(
    fc.property(validBody, (body) => {
      const sent = JSON.parse(JSON.stringify(body))
      t.strictSame(decoded(sent), JSON.parse(JSON.stringify(body)))
    }),
    { numRuns: 1_000 },
  )
})
