/** Every top-level field of contract/gateway 2.1, at its edges. */
// Runs in a process of its own: it measures memory.
import { test } from 'tap'
import { decoded, refusal, SMALLEST, withMembers } from './chat-bodies.js'

interface Row {
  readonly field: string
  readonly takes: readonly unknown[]
  /** Values that are refused, each with the sentence. */
  readonly refuses: readonly (readonly [value: unknown, sentence: string])[]
}

const text = (length: number): string => 'x'.repeat(length)
const pairs = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))

function bounded(field: string, min: number, max: number): Row {
  return {
    field,
    takes: [min, max, (min + max) / 2, null],
    refuses: [
      [min - 0.1, `${field}: must be at least ${min}`],
      [max + 0.1, `${field}: must be at most ${max}`],
      ['1', `${field}: must be a number`],
      [true, `${field}: must be a number`],
      [[], `${field}: must be a number`],
      [JSON.parse('1e400'), `${field}: must be at most ${max}`],
    ],
  }
}

function whole(field: string, min: number, taken: readonly unknown[], more: Row['refuses'] = []): Row {
  return {
    field,
    takes: [min, ...taken],
    refuses: [
      [min - 1, `${field}: must be at least ${min}`],
      [min + 0.5, `${field}: must be an integer`],
      ['5', `${field}: must be an integer`],
      [{}, `${field}: must be an integer`],
      ...more,
    ],
  }
}

function flag(field: string): Row {
  return {
    field,
    takes: [true, false, null],
    refuses: [
      [1, `${field}: must be a boolean`],
      ['true', `${field}: must be a boolean`],
    ],
  }
}

function choice(field: string, values: readonly string[], takes: readonly unknown[] = [null]): Row {
  const sentence = `${field}: must be one of ${values.join(', ')}`
  return {
    field,
    takes: [...values, ...takes],
    refuses: [
      ['nonsense', sentence],
      [7, sentence],
      ['', sentence],
    ],
  }
}

const EFFORTS = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']
const MODEL_FORM = 'must be a model id of the form vendor/name or vendor/name:variant'

const ROWS: readonly Row[] = [
  {
    field: 'messages',
    takes: [SMALLEST.messages],
    refuses: [
      [undefined, 'messages: is required'],
      [[], 'messages: must have at least 1 entry'],
      [null, 'messages: must be an array'],
      ['hi', 'messages: must be an array'],
      [{}, 'messages: must be an array'],
    ],
  },
  {
    field: 'model',
    takes: ['sim/fast', 'meta-llama/llama-3.3-70b:free', 'vendor/name:nitro', 'a/b', 'x-ai/grok_4.1'],
    refuses: [
      [undefined, 'model: is required'],
      [null, 'model: must be a string'],
      [5, 'model: must be a string'],
      ...['', 'fast', '/fast', 'sim/', 'sim/a/b', 'sim/fast:', 'sim/fa st', 'sim:fast', `a/${text(256)}`].map(
        (id) => [id, `model: ${MODEL_FORM}`] as const,
      ),
    ],
  },
  {
    field: 'models',
    takes: [[], ['sim/fast', 'sim/standard:free']],
    refuses: [
      ['sim/fast', 'models: must be an array'],
      [['sim/fast', 'fast'], `models.1: ${MODEL_FORM}`],
      [[1], 'models.0: must be a string'],
    ],
  },
  whole('max_tokens', 1, [null, 100_000]),
  whole('max_completion_tokens', 1, [null, 100_000]),
  whole('top_k', 0, [null, 40]),
  whole('max_tool_calls', 1, [30], [[31, 'max_tool_calls: must be at most 30']]),
  bounded('temperature', 0, 2),
  bounded('top_p', 0, 1),
  bounded('top_a', 0, 1),
  bounded('min_p', 0, 1),
  bounded('frequency_penalty', -2, 2),
  bounded('presence_penalty', -2, 2),
  bounded('repetition_penalty', 0, 2),
  {
    field: 'logit_bias',
    takes: [null, {}, { 50256: -100, 1: 100 }],
    refuses: [
      [[], 'logit_bias: must be an object'],
      [{ 5: -100.5 }, 'logit_bias: a value in it is less than -100'],
      [{ 5: 101 }, 'logit_bias: a value in it is more than 100'],
      [{ 5: '1' }, 'logit_bias: a value in it is not a number'],
      [{ hello: 1 }, 'logit_bias: a name in it is not a token id'],
    ],
  },
  flag('logprobs'),
  {
    field: 'seed',
    takes: [null, 0, -1, 2 ** 53 - 1],
    refuses: [
      [0.5, 'seed: must be an integer'],
      ['1', 'seed: must be an integer'],
      [2 ** 53, `seed: must be at most ${2 ** 53 - 1}`],
    ],
  },
  {
    field: 'stop',
    takes: [null, 'END', [], ['1', '2', '3', '4']],
    refuses: [
      [['1', '2', '3', '4', '5'], 'stop: must have at most 4 entries'],
      [[1], 'stop.0: must be a string'],
      [5, 'stop: must be a string or an array'],
      [{}, 'stop: must be a string or an array'],
    ],
  },
  { field: 'stream', takes: [true, false], refuses: [['yes', 'stream: must be a boolean']] },
  {
    field: 'stream_options',
    takes: [null, {}, { include_usage: true }],
    refuses: [
      [true, 'stream_options: must be an object'],
      [{ include_usage: 1 }, 'stream_options.include_usage: must be a boolean'],
    ],
  },
  {
    field: 'modalities',
    takes: [[], ['text', 'image', 'audio']],
    refuses: [
      ['text', 'modalities: must be an array'],
      [['video'], 'modalities.0: must be one of text, image, audio'],
    ],
  },
  {
    field: 'image_config',
    takes: [{}, { aspect_ratio: '16:9', steps: 4.5, list: [1, 'a'] }],
    refuses: [
      [[], 'image_config: must be an object'],
      [{ a: true }, 'image_config: a value in it must be a string or a number or an array'],
    ],
  },
  {
    field: 'prediction',
    takes: [
      null,
      { type: 'content', content: 'a' },
      { type: 'content', content: [{ type: 'text', text: 'a' }] },
    ],
    refuses: [
      ['a', 'prediction: must be an object'],
      [{ type: 'other', content: 'a' }, 'prediction.type: must be content'],
      [{ type: 'content' }, 'prediction.content: is required'],
      [{ type: 'content', content: [{ type: 'text' }] }, 'prediction.content.0.text: is required'],
    ],
  },
  {
    field: 'response_format',
    takes: [
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
    refuses: [
      ['json', 'response_format: must be an object'],
      [{}, 'response_format.type: is required'],
      [
        { type: 'xml' },
        'response_format.type: must be one of text, json_object, json_schema, grammar, python',
      ],
      [{ type: 'json_schema' }, 'response_format.json_schema: is required'],
      [{ type: 'json_schema', json_schema: {} }, 'response_format.json_schema.name: is required'],
      [
        { type: 'json_schema', json_schema: { name: '' } },
        'response_format.json_schema.name: must have at least 1 character',
      ],
      [
        { type: 'json_schema', json_schema: { name: text(65) } },
        'response_format.json_schema.name: must have at most 64 characters',
      ],
      [
        { type: 'json_schema', json_schema: { name: 'a', schema: [] } },
        'response_format.json_schema.schema: must be an object',
      ],
      [
        { type: 'json_schema', json_schema: { name: 'a', strict: 'yes' } },
        'response_format.json_schema.strict: must be a boolean',
      ],
      [{ type: 'grammar' }, 'response_format.grammar: is required'],
    ],
  },
  flag('structured_outputs'),
  flag('include_reasoning'),
  choice('verbosity', ['low', 'medium', 'high', 'xhigh', 'max']),
  choice('reasoning_effort', EFFORTS),
  {
    field: 'reasoning',
    takes: [
      {},
      { effort: null, summary: null },
      { effort: 'xhigh', summary: 'detailed', exclude: true },
      { max_tokens: 1, enabled: true },
    ],
    refuses: [
      ['high', 'reasoning: must be an object'],
      [{ effort: 'huge' }, `reasoning.effort: must be one of ${EFFORTS.join(', ')}`],
      [{ summary: 'long' }, 'reasoning.summary: must be one of auto, concise, detailed'],
      [{ max_tokens: 0 }, 'reasoning.max_tokens: must be at least 1'],
      [{ max_tokens: 1.5 }, 'reasoning.max_tokens: must be an integer'],
      [{ exclude: 'no' }, 'reasoning.exclude: must be a boolean'],
      [{ enabled: 1 }, 'reasoning.enabled: must be a boolean'],
    ],
  },
  flag('parallel_tool_calls'),
  choice('route', ['fallback', 'sort']),
  choice('service_tier', ['auto', 'default', 'fast', 'flex', 'priority', 'scale', 'ultrafast']),
  {
    field: 'cache_control',
    takes: [{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }],
    refuses: [
      [{}, 'cache_control.type: is required'],
      [{ type: 'forever' }, 'cache_control.type: must be ephemeral'],
      [{ type: 'ephemeral', ttl: '2h' }, 'cache_control.ttl: must be one of 5m, 1h'],
    ],
  },
  {
    field: 'prompt_cache_options',
    takes: [null, { mode: 'explicit' }, { mode: 'explicit', ttl: null }, { mode: 'explicit', ttl: '5m' }],
    refuses: [
      [{}, 'prompt_cache_options.mode: is required'],
      [{ mode: 'auto' }, 'prompt_cache_options.mode: must be explicit'],
      [{ mode: 'explicit', ttl: 5 }, 'prompt_cache_options.ttl: must be a string'],
    ],
  },
  {
    field: 'prompt_cache_key',
    takes: [null, 'k'],
    refuses: [[1, 'prompt_cache_key: must be a string']],
  },
  ...['session_id', 'user'].map((field) => ({
    field,
    takes: ['', text(256), '😀'.repeat(256)],
    refuses: [
      [text(257), `${field}: must have at most 256 characters`],
      ['😀'.repeat(257), `${field}: must have at most 256 characters`],
      [1, `${field}: must be a string`],
      [null, `${field}: must be a string`],
    ] as const,
  })),
  {
    field: 'metadata',
    takes: [{}, pairs(16), { [text(64)]: text(512) }],
    refuses: [
      [pairs(17), 'metadata: must have at most 16 entries'],
      [{ [text(65)]: 'v' }, 'metadata: a name in it has more than 64 characters'],
      [{ k: text(513) }, 'metadata: a value in it has more than 512 characters'],
      [{ k: 1 }, 'metadata: a value in it is not a string'],
      [[], 'metadata: must be an object'],
      ['k=v', 'metadata: must be an object'],
    ],
  },
  {
    field: 'trace',
    takes: [{}, { trace_id: 't', span_name: 's', anything: { deep: [1] } }],
    refuses: [
      ['t', 'trace: must be an object'],
      ...['trace_id', 'trace_name', 'span_name', 'generation_name', 'parent_span_id'].map(
        (name) => [{ [name]: 1 }, `trace.${name}: must be a string`] as const,
      ),
    ],
  },
  {
    field: 'debug',
    takes: [{}, { echo_upstream_body: false }],
    refuses: [
      [true, 'debug: must be an object'],
      [{ echo_upstream_body: 'yes' }, 'debug.echo_upstream_body: must be a boolean'],
    ],
  },
]

for (const { field, takes, refuses } of ROWS) {
  test(`${field} is taken at its edges and refused beyond, with a sentence that names it`, async (t) => {
    for (const value of takes) t.equal(refusal(withMembers({ [field]: value })), null, JSON.stringify(value))
    for (const [value, sentence] of refuses)
      t.equal(refusal(withMembers({ [field]: value })), sentence, JSON.stringify(value)?.slice(0, 80))
  })
}

test('a body that is no object is refused', async (t) => {
  for (const input of [null, 1, 'text', true, []]) t.equal(refusal(input), 'body: must be an object')
})

test('members nobody knows are dropped at the top, and the rest comes out as it went in', async (t) => {
  const input = withMembers({ temperature: 1, store: true, safety_identifier: 'x', deferred_tools: {} })
  t.strictSame(decoded(input), { ...SMALLEST, temperature: 1 })
  const hostile = JSON.parse(
    '{"model":"sim/fast","messages":[{"role":"user","content":"hi"}],"__proto__":{"model":"a/b"}}',
  )
  const request = decoded(hostile)
  t.strictSame(request, SMALLEST)
  t.notOk(Object.hasOwn(request, '__proto__'))
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
    { model: secret },
    { metadata: { [`${secret}${text(64)}`]: 'v' } },
    { metadata: { [secret]: 1 } },
    { logit_bias: { [secret]: 1 } },
    { image_config: { [secret]: true } },
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
    const sentence = refusal(withMembers(members))
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
    t.equal(refusal(withMembers(members)), `${field}: must not be nested deeper than 100 levels`)
  }
})

test('ten million wrong messages cost no more than the first of them', async (t) => {
  const messages = new Array(10_000_000).fill(1)
  const before = process.memoryUsage().heapUsed
  t.equal(refusal({ model: 'sim/fast', messages }), 'messages.0: must be an object')
  t.ok(process.memoryUsage().heapUsed - before < 50_000_000, 'nothing was made per message')
})
