/** Every top-level field of contract/gateway 2.1, at its edges. */
// Runs in a process of its own: it measures memory.
import { test } from 'tap'
import { decoded, decodedOf, refusal, refusalOf, SMALLEST, withMembers } from './chat-bodies.js'

/** A field, values that are taken, and values that are refused, each with the rest of the sentence about the field. */
type Refused = readonly [value: unknown, sentence: string]
type Row = readonly [field: string, takes: readonly unknown[], ...refuses: readonly Refused[]]

const text = (length: number): string => 'x'.repeat(length)
const pairs = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))

function bounded(field: string, min: number, max: number): Row {
  const takes = [min, max, (min + max) / 2, null]
  const number = ': must be a number'
  const [least, most] = [`: must be at least ${min}`, `: must be at most ${max}`]
  const infinite: Refused = [JSON.parse('1e400'), most]
  const noNumber = ['1', true, []].map((value): Refused => [value, number])
  return [field, takes, [min - 0.1, least], [max + 0.1, most], infinite, ...noNumber]
}

/** Passed on within what JSON can write (contract/decisions 48). */
function anyNumber(field: string): Row {
  const number = ': must be a number'
  const takes = [0, -1, 0.5, 1e300, null]
  return [
    field,
    takes,
    [JSON.parse('1e400'), ': is out of range'],
    ['1', number],
    [true, number],
    [{}, number],
  ]
}

function whole(field: string, min: number, taken: readonly unknown[], ...more: readonly Refused[]): Row {
  const integer = ': must be an integer'
  const below: Refused = [min - 1, `: must be at least ${min}`]
  return [field, [min, ...taken], below, [min + 0.5, integer], ['5', integer], [{}, integer], ...more]
}

function flag(field: string): Row {
  return [field, [true, false, null], [1, ': must be a boolean'], ['true', ': must be a boolean']]
}

function choice(field: string, values: readonly string[]): Row {
  const sentence = `: must be one of ${values.join(', ')}`
  return [field, [...values, null], ['nonsense', sentence], [7, sentence], ['', sentence]]
}

const EFFORTS = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']
const MODEL_FORM = 'must be the id of a model: letters, digits and . _ : / @ + ~ -'

const ROWS: readonly Row[] = [
  [
    'messages',
    [SMALLEST.messages],
    [undefined, ': is required'],
    [[], ': must have at least 1 entry'],
    [null, ': must be an array'],
    ['hi', ': must be an array'],
    [{}, ': must be an array'],
  ],
  [
    'model',
    ['sim/fast', 'meta-llama/llama-3.3-70b:free', 'vendor/name:nitro', 'gpt-4o', 'x/y/z', 'ft:a:b::c'],
    [undefined, ': is required'],
    [null, ': must be a string'],
    [5, ': must be a string'],
    ...['', '/fast', ':fast', 'sim/fa st', 'sim/*', 'a\nb', 'schön', `a/${text(256)}`].map(
      (id) => [id, `: ${MODEL_FORM}`] as const,
    ),
  ],
  [
    'models',
    [[], ['sim/fast', 'sim/standard:free']],
    ['sim/fast', ': must be an array'],
    [['sim/fast', 'fa st'], `.1: ${MODEL_FORM}`],
    [[1], '.0: must be a string'],
  ],
  whole('max_tokens', 1, [null, 100_000]),
  whole('max_completion_tokens', 1, [null, 100_000]),
  anyNumber('top_k'),
  ['max_tool_calls', [], [31, ': must be at most 30'], [0, ': must be at least 1']],
  bounded('temperature', 0, 2),
  bounded('top_p', 0, 1),
  anyNumber('top_a'),
  anyNumber('min_p'),
  bounded('frequency_penalty', -2, 2),
  bounded('presence_penalty', -2, 2),
  anyNumber('repetition_penalty'),
  [
    'logit_bias',
    [null, {}, { 50256: -100, 1: 1000.5 }],
    [[], ': must be an object'],
    [{ 5: '1' }, ': a value in it is not a number'],
    [{ hello: 1 }, ': a name in it is not a token id'],
  ],
  flag('logprobs'),
  [
    'seed',
    [null, 0, -1, 2 ** 53 - 1],
    [0.5, ': must be an integer'],
    ['1', ': must be an integer'],
    [2 ** 53, `: must be at most ${2 ** 53 - 1}`],
  ],
  [
    'stop',
    [null, 'END', [], ['1', '2', '3', '4']],
    [['1', '2', '3', '4', '5'], ': must have at most 4 entries'],
    [[1], '.0: must be a string'],
    [5, ': must be a string or an array'],
    [{}, ': must be a string or an array'],
  ],
  ['stream', [null, true, false], ['yes', ': must be a boolean']],
  [
    'stream_options',
    [null, {}, { include_usage: true }],
    [true, ': must be an object'],
    [{ include_usage: 1 }, '.include_usage: must be a boolean'],
  ],
  [
    'modalities',
    [[], ['text', 'image', 'audio'], null],
    ['text', ': must be an array'],
    [['video'], '.0: must be one of text, image, audio'],
  ],
  [
    'image_config',
    [{}, { aspect_ratio: '16:9', steps: 4.5, list: [1, 'a'], hd: true, inner: { a: null } }],
    [[], ': must be an object'],
    [true, ': must be an object'],
  ],
  [
    'prediction',
    [null, { type: 'content', content: 'a' }, { type: 'content', content: [{ type: 'text', text: 'a' }] }],
    ['a', ': must be an object'],
    [{ type: 'other', content: 'a' }, '.type: must be content'],
    [{ type: 'content' }, '.content: is required'],
    [{ type: 'content', content: [{ type: 'text' }] }, '.content.0.text: is required'],
  ],
  [
    'response_format',
    [
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'a' } },
      {
        type: 'json_schema',
        json_schema: { name: text(64), description: 'd', schema: { type: 'object' }, strict: null },
      },
      { type: 'grammar', grammar: 'root ::= "a"' },
      { type: 'python' },
    ],
    ['json', ': must be an object'],
    [{}, '.type: is required'],
    [{ type: 'xml' }, '.type: must be one of text, json_object, json_schema, grammar, python'],
    [{ type: 'json_schema' }, '.json_schema: is required'],
    [{ type: 'json_schema', json_schema: {} }, '.json_schema.name: is required'],
    [{ type: 'json_schema', json_schema: { name: '' } }, '.json_schema.name: must have at least 1 character'],
    [
      { type: 'json_schema', json_schema: { name: text(65) } },
      '.json_schema.name: must have at most 64 characters',
    ],
    [
      { type: 'json_schema', json_schema: { name: 'a', schema: [] } },
      '.json_schema.schema: must be an object',
    ],
    [
      { type: 'json_schema', json_schema: { name: 'a', strict: 'yes' } },
      '.json_schema.strict: must be a boolean',
    ],
    [{ type: 'grammar' }, '.grammar: is required'],
  ],
  [
    'structured_outputs',
    [true, false, null],
    [1, ': must be a boolean or an object'],
    ['true', ': must be a boolean or an object'],
  ],
  flag('include_reasoning'),
  choice('verbosity', ['low', 'medium', 'high', 'xhigh', 'max']),
  choice('reasoning_effort', EFFORTS),
  [
    'reasoning',
    [
      {},
      { effort: null, summary: null },
      { effort: 'xhigh', summary: 'detailed', exclude: true },
      { max_tokens: 1, enabled: true },
    ],
    ['high', ': must be an object'],
    [{ effort: 'huge' }, `.effort: must be one of ${EFFORTS.join(', ')}`],
    [{ summary: 'long' }, '.summary: must be one of auto, concise, detailed'],
    [{ max_tokens: 0 }, '.max_tokens: must be at least 1'],
    [{ max_tokens: 1.5 }, '.max_tokens: must be an integer'],
    [{ exclude: 'no' }, '.exclude: must be a boolean'],
    [{ enabled: 1 }, '.enabled: must be a boolean'],
  ],
  flag('parallel_tool_calls'),
  choice('route', ['fallback', 'sort']),
  choice('service_tier', ['auto', 'default', 'fast', 'flex', 'priority', 'scale', 'ultrafast']),
  [
    'cache_control',
    [{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }],
    [{}, '.type: is required'],
    [{ type: 'forever' }, '.type: must be ephemeral'],
    [{ type: 'ephemeral', ttl: '2h' }, '.ttl: must be one of 5m, 1h'],
  ],
  [
    'prompt_cache_options',
    [null, {}, { mode: 'implicit' }, { mode: 'explicit', ttl: null }, { mode: 'explicit', ttl: '5m' }],
    [{ mode: 'auto' }, '.mode: must be one of implicit, explicit'],
    [{ mode: 'explicit', ttl: 5 }, '.ttl: must be a string'],
  ],
  ['prompt_cache_key', [null, 'k'], [1, ': must be a string']],
  ...['session_id', 'user'].map(
    (field): Row => [
      field,
      ['', text(256), '😀'.repeat(256)],
      [text(257), ': must have at most 256 characters'],
      ['😀'.repeat(257), ': must have at most 256 characters'],
      [1, ': must be a string'],
      [null, ': must be a string'],
    ],
  ),
  [
    'metadata',
    [null, {}, pairs(16), { [text(64)]: text(512) }],
    [pairs(17), ': must have at most 16 entries'],
    [{ [text(65)]: 'v' }, ': a name in it has more than 64 characters'],
    [{ k: text(513) }, ': a value in it has more than 512 characters'],
    [{ k: 1 }, ': a value in it is not a string'],
    [[], ': must be an object'],
    ['k=v', ': must be an object'],
  ],
  [
    'trace',
    [{}, { trace_id: 't', span_name: 's', anything: { deep: [1] } }],
    ['t', ': must be an object'],
    ...['trace_id', 'trace_name', 'span_name', 'generation_name', 'parent_span_id'].map(
      (name) => [{ [name]: 1 }, `.${name}: must be a string`] as const,
    ),
  ],
  [
    'debug',
    [{}, { echo_upstream_body: false }],
    [true, ': must be an object'],
    [{ echo_upstream_body: 'yes' }, '.echo_upstream_body: must be a boolean'],
  ],
]

for (const [field, takes, ...refuses] of ROWS) {
  test(`${field} is taken at its edges and refused beyond, with a sentence that names it`, async (t) => {
    for (const value of takes) t.equal(refusalOf({ [field]: value }), null, JSON.stringify(value))
    for (const [value, sentence] of refuses)
      t.equal(refusalOf({ [field]: value }), field + sentence, JSON.stringify(value)?.slice(0, 80))
  })
}

test('a body that is no object is refused', async (t) => {
  for (const input of [null, 1, 'text', true, []]) t.equal(refusal(input), 'body: must be an object')
})

test('members nobody knows are kept apart, names of persons are folded, and the rest comes out as it went in', async (t) => {
  t.equal(decoded(SMALLEST), SMALLEST, 'the body itself')
  const input = withMembers({ temperature: 1, store: false, deferred_tools: {}, later: null })
  t.same(decoded(input), { ...SMALLEST, temperature: 1, extra: { deferred_tools: {} } })
  const hostile = JSON.parse(
    '{"model":"sim/fast","messages":[{"role":"user","content":"hi"}],"__proto__":{"model":"a/b"}}',
  )
  const request = decoded(hostile)
  t.strictSame(Object.keys(request), ['model', 'messages', 'extra'])
  t.equal(request.model, 'sim/fast')
  t.notOk(Object.hasOwn(request, '__proto__'))
  t.notOk('model' in request.extra!, 'no prototype of the caller’s')
})

test('whoever a call is for is told by one name, and by the others beside it', async (t) => {
  t.strictSame(decodedOf({ safety_identifier: 'x' }), { ...SMALLEST, user: 'x' })
  t.strictSame(decodedOf({ user: 'u', safety_identifier: 'x' }), {
    ...SMALLEST,
    user: 'u',
    account: '[["safety_identifier","x"]]',
  })
  const { account, extra } = decodedOf({ workspace_id: 'w', customer_id: 7, email: 'a@b.example' })
  t.equal(account, '[["customer_id","7"],["email","a@b.example"],["workspace_id","w"]]')
  t.equal(extra, undefined)
  t.equal(decodedOf({ userId: 'u', firstName: 'f' }).account, '[["firstName","f"],["userId","u"]]')
  t.same(decodedOf({ profile: { a: 1 } }).extra, { profile: { a: 1 } }, 'told, and never passed')
  t.match(refusalOf({ safety_identifier: text(257) }), /^safety_identifier: must have at most 256/)
})

test('members nobody knows are bounded in number, name and size', async (t) => {
  const many = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`x${at}`, 1]))
  t.equal(Object.keys(decodedOf(many(64)).extra!).length, 64)
  const spellings = Object.fromEntries(
    Array.from({ length: 65 }, (_, at) => [`u${'_'.repeat(at)}ser_id`, at]),
  )
  for (const members of [many(65), { [text(65)]: 1 }, spellings])
    t.match(refusalOf(members), /has members that are not documented, and must not have more than 64 of them/)
  t.match(refusalOf({ later: Array(20_001).fill(0) }), /must not hold more than 20000 values/)
  t.match(refusalOf({ later: JSON.parse(`${'['.repeat(150)}${']'.repeat(150)}`) }), /nested deeper than 100/)
})

test('a request without anything to drop is handed on without a copy', async (t) => {
  const input = withMembers({ temperature: 1, tools: [{ type: 'function', function: { name: 'f' } }] })
  t.equal(decoded(input), input)
})

test('trace and provider keep members nobody knows', async (t) => {
  const input = withMembers({ trace: { x: { y: 1 } }, provider: { order: ['sim'], weather: 'fine' } })
  t.strictSame(decoded(input), input)
})

test('what is refused is never quoted, neither values nor names the caller made up', async (t) => {
  const secret = 'my-s3cr3t'
  for (const members of [
    { model: `${secret} ` },
    { metadata: { [`${secret}${text(64)}`]: 'v' } },
    { metadata: { [secret]: 1 } },
    { logit_bias: { [secret]: 1 } },
    { ['x'.repeat(64) + secret]: true },
    { service_tier: secret },
    { tools: [{ type: secret }] },
    { plugins: [{ id: secret }] },
    { plugins: [{ id: 'alignment', rules: ['a'], [secret]: 1 }] },
    { tool_choice: { type: secret } },
    { messages: [{ role: secret, content: '' }] },
    { messages: [{ role: 'user', content: [{ type: secret }] }] },
    { messages: [{ role: 'tool', content: secret, tool_call_id: secret }] },
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: secret } }] }] },
  ]) {
    const sentence = refusalOf(members)
    t.type(sentence, 'string', JSON.stringify(members))
    t.notMatch(sentence, secret)
  }
})

test('values nested deeper than can be written again are refused where they would be passed on', async (t) => {
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`)
  for (const [members, field] of [
    [
      { tools: [{ type: 'function', function: { name: 'f', parameters: deep } }] },
      'tools.0.function.parameters',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: deep } } },
      'response_format.json_schema.schema',
    ],
    [{ image_config: { a: [deep] } }, 'image_config'],
    [{ trace: { a: deep } }, 'trace'],
    [{ provider: { a: deep } }, 'provider'],
    [
      { messages: [{ role: 'assistant', content: 'a', reasoning_details: [{ type: 'x', a: deep }] }] },
      'messages.0.reasoning_details.0',
    ],
    [
      {
        messages: [
          { role: 'assistant', content: 'a', images: [{ image_url: { url: 'https://a', a: deep } }] },
        ],
      },
      'messages.0.images.0',
    ],
  ] as const) {
    t.equal(refusalOf(members), `${field}: must not be nested deeper than 100 levels`)
  }
})

test('open objects hold so many values and no more, and the refusal names them', async (t) => {
  const many = { a: Array(20_000).fill(0) }
  for (const name of ['trace', 'provider', 'image_config'])
    t.equal(refusalOf({ [name]: many }), `${name}: must not hold more than 20000 values`)
})

test('ten million wrong messages cost no more than the first of them', async (t) => {
  const messages = new Array(10_000_000).fill(1)
  const before = process.memoryUsage().heapUsed
  t.equal(refusal({ model: 'sim/fast', messages }), 'messages.0: must be an object')
  t.ok(process.memoryUsage().heapUsed - before < 50_000_000, 'nothing was made per message')
})
