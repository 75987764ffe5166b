/** Every field of a messages request at its edges and beyond (contract/gateway 5.1 to 5.4). */
import fc from 'fast-check'
import { test } from 'tap'
import { refusal, refusalOf, SMALLEST } from './messages-bodies.js'

/** Name of the field, values that are taken, values that are not and how what is said of the field goes on. */
type Row = readonly [field: string, good: readonly unknown[], ...bad: readonly (readonly [unknown, string])[]]

const text = (length: number): string => 'x'.repeat(length)
const models = (count: number): object[] => Array.from({ length: count }, (_, i) => ({ model: `a/b${i}` }))
const deep = (levels: number): object => (levels === 0 ? {} : { inner: deep(levels - 1) })

const ROWS: readonly Row[] = [
  [
    'model',
    ['a/b', 'a/b:free'],
    [undefined, ': is required'],
    [null, ': '],
    ['non sense', ': must be the id of a model'],
  ],
  ['messages', [], [undefined, ': is required'], [[], ': must have at least 1'], [null, ': '], [{}, ': ']],
  [
    'max_tokens',
    [1, 1e6],
    [undefined, ': is required'],
    [0, ': must be at least 1'],
    [null, ': '],
    ['7', ': '],
    [1.5, ': '],
  ],
  [
    'system',
    ['be brief', '', [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }]],
    [7, ': must be'],
    [[{ type: 'image' }], '.0.type: '],
    [[{ type: 'text' }], '.0.text: is required'],
  ],
  ['temperature', [0, 1, 2], [2.1, ': must be at most 2'], [-0.1, ': '], ['1', ': ']],
  ['top_p', [0, 1], [1.1, ': '], [-1, ': ']],
  ['top_k', [0, 40, -1, 1.5], [JSON.parse('1e400'), ': is out of range'], ['1', ': ']],
  [
    'stop_sequences',
    [[], ['a', 'b', 'c', 'd', 'e']],
    ['a', ': '],
    [[1], '.0: '],
    [Array(65).fill('a'), ': must have at most 64'],
  ],
  ['stream', [true, false], ['yes', ': '], [null, ': ']],
  [
    'metadata',
    [{}, { user_id: null }, { user_id: text(256) }, { more: 1 }],
    [[], ': '],
    [{ user_id: 7 }, '.user_id: '],
    [{ user_id: text(257) }, '.user_id: must have at most 256'],
  ],
  ['user', ['', text(256)], [text(257), ': must have at most 256'], [7, ': ']],
  ['session_id', ['', text(256)], [text(257), ': must have at most 256'], [7, ': ']],
  ['trace', [{}, { trace_id: 'a', extra: { b: 1 } }], [{ trace_id: 7 }, '.trace_id: '], ['a', ': ']],
  ['models', [[], ['a/b']], [['x '], '.0: '], ['a/b', ': ']],
  [
    'fallbacks',
    [null, [], models(3)],
    [models(4), ': must have at most 3'],
    [[{}], '.0.model: is required'],
    [[{ model: 'a/b', max_tokens: 1 }], '.0: has a member that is not allowed'],
    [['a/b'], '.0: '],
    [[{ model: 'x ' }], '.0.model: '],
  ],
  ['provider', [null, { only: ['x'], extra: 1 }], [{ sort: 'speed' }, '.sort: '], [7, ': ']],
  ['route', [null, 'fallback', 'sort'], ['x', ': ']],
  [
    'plugins',
    [[], [{ id: 'web', enabled: false }], [{ id: 'web' }]],
    [[{ id: 'nope' }], '.0.id: '],
    [{}, ': '],
  ],
  [
    'stop_server_tools_when',
    [[{ type: 'step_count_is', step_count: 3 }]],
    [[], ': '],
    [[{ type: 'x' }], '.0.type: '],
  ],
  ['service_tier', ['auto', 'standard_only', null], [7, ': '], ['', ': '], [text(65), ': ']],
  ['speed', ['fast', 'standard', null], ['slow', ': ']],
  [
    'cache_control',
    [null, { type: 'ephemeral' }, { type: 'ephemeral', ttl: '5m' }],
    [{ type: 'x' }, '.type: '],
    [{ type: 'ephemeral', ttl: '2h' }, '.ttl: '],
  ],
  [
    'thinking',
    [
      { type: 'enabled', budget_tokens: 1024 },
      {
        type: 'enabled',
        budget_tokens: 1024,
        display: 'omitted',
        block_binding: { mismatch_behavior: 'error' },
      },
      { type: 'disabled' },
      { type: 'adaptive', display: null },
      { type: 'between_tools' },
    ],
    [{ type: 'enabled' }, '.budget_tokens: is required'],
    [{ type: 'enabled', budget_tokens: 0 }, '.budget_tokens: '],
    [{ type: 'sometimes' }, '.type: must be one of'],
    [{}, '.type: is required'],
    [{ type: 'adaptive', display: 'x' }, '.display: '],
    [{ type: 'between_tools', display: 'omitted' }, ': has a member'],
    [null, ': '],
  ],
  [
    'output_config',
    [
      {},
      { effort: 'xhigh' },
      { effort: null, format: null, task_budget: null },
      { format: { type: 'json_schema', schema: { type: 'object' } } },
      { task_budget: { type: 'tokens', total: 20000, remaining: 0 } },
      { later: 1 },
    ],
    [{ effort: 'none' }, '.effort: '],
    [{ format: { type: 'json_schema' } }, '.format.schema: is required'],
    [{ format: { type: 'text', schema: {} } }, '.format.type: '],
    [{ task_budget: { type: 'tokens', total: 19999 } }, '.task_budget.total: must be at least 20000'],
    [{ task_budget: { type: 'tokens', total: 20000, remaining: -1 } }, '.task_budget.remaining: '],
    [{ format: { type: 'json_schema', schema: deep(120) } }, ': must not be nested'],
  ],
  [
    'context_management',
    [
      null,
      {},
      { edits: [] },
      {
        edits: [
          {
            type: 'clear_tool_uses_20250919',
            trigger: { type: 'input_tokens', value: 1 },
            keep: { type: 'tool_uses', value: 3 },
            clear_at_least: null,
            clear_tool_inputs: ['a'],
            exclude_tools: null,
          },
        ],
      },
      {
        edits: [
          { type: 'clear_tool_uses_20250919', clear_tool_inputs: true },
          { type: 'clear_thinking_20251015', keep: 'all' },
        ],
      },
      {
        edits: [
          { type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 1 } },
          { type: 'clear_thinking_20251015', keep: { type: 'all' } },
        ],
      },
      {
        edits: [
          { type: 'compact_20260112', trigger: null, pause_after_compaction: true, instructions: null },
        ],
      },
    ],
    [{ edits: [{ type: 'forget' }] }, '.edits.0.type: '],
    [{ edits: [{ type: 'clear_thinking_20251015', keep: 'some' }] }, '.edits.0.keep: '],
    [
      { edits: [{ type: 'clear_tool_uses_20250919', keep: { type: 'input_tokens', value: 1 } }] },
      '.edits.0.keep.type: ',
    ],
    [
      { edits: [{ type: 'compact_20260112', pause_after_compaction: 'no' }] },
      '.edits.0.pause_after_compaction: ',
    ],
    [[], ': '],
  ],
]

for (const [field, good, ...bad] of ROWS) {
  test(`${field} is taken at its edges and refused beyond, with a sentence that names it`, async (t) => {
    for (const value of good) t.equal(refusalOf({ [field]: value }), null, JSON.stringify(value))
    for (const [value, said] of bad) {
      const sentence = refusalOf({ [field]: value }) ?? 'taken'
      t.ok(sentence.startsWith(field + said), `${JSON.stringify(value)?.slice(0, 80)}: ${sentence}`)
    }
  })
}

test('a body that is no object is refused', async (t) => {
  for (const body of [null, [], 'a', 7]) t.match(refusal(body), /^body: must be an object/)
})

test('fields of other versions are ignored', async (t) => {
  const unknown = { diagnostics: {}, inference_geo: 'eu', mcp_servers: [], safeguards: null, nonsense: 1 }
  t.equal(refusalOf(unknown), null)
})

const LOOKUP = { name: 'lookup', input_schema: { type: 'object', properties: {} } }

const TOOLS: readonly (readonly [what: string, tool: object, said: string | null])[] = [
  ['a tool without a type', LOOKUP, null],
  [
    'a custom tool',
    { type: 'custom', ...LOOKUP, description: 'x', strict: true, defer_loading: false, cache_control: null },
    null,
  ],
  ['a null type', { type: null, ...LOOKUP }, null],
  [
    'members of later versions',
    {
      ...LOOKUP,
      allowed_callers: ['direct'],
      input_examples: [{ a: 1 }],
      eager_input_streaming: true,
      later: {},
    },
    null,
  ],
  [
    'a schema with null lists',
    { name: 'a', input_schema: { properties: null, required: null, more: 1 } },
    null,
  ],
  ['no name', { input_schema: {} }, 'tools.0.name: is required'],
  ['a name with a space', { name: 'a b', input_schema: {} }, 'tools.0.name: must be 1 to 128'],
  ['no schema', { name: 'a' }, 'tools.0.input_schema: is required'],
  ['a schema of a text', { name: 'a', input_schema: { type: 'string' } }, 'tools.0.input_schema.type: '],
  ['bash', { type: 'bash_20250124', name: 'bash' }, null],
  ['bash of another name', { type: 'bash_20250124', name: 'sh' }, 'tools.0.name: must be bash'],
  ['the text editor', { type: 'text_editor_20250124', name: 'str_replace_editor' }, null],
  [
    'web search',
    {
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 3,
      allowed_domains: ['a.b'],
      blocked_domains: null,
      user_location: { type: 'approximate', city: 'X' },
    },
    null,
  ],
  [
    'web search by code',
    { type: 'web_search_20260209', name: 'web_search', allowed_callers: ['direct'] },
    null,
  ],
  [
    'web search with no uses',
    { type: 'web_search_20250305', name: 'web_search', max_uses: 0 },
    'tools.0.max_uses: ',
  ],
  [
    'web search of another name',
    { type: 'web_search_20250305', name: 'search' },
    'tools.0.name: must be web_search',
  ],
  ['an advisor', { type: 'advisor_20260301', name: 'advisor', model: 'm' }, null],
  ['an advisor without a model', { type: 'advisor_20260301', name: 'advisor' }, 'tools.0.model: is required'],
  ['tool search', { type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' }, null],
  [
    'tool search by pattern',
    { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
    null,
  ],
  ['any other kind', { type: 'computer_20250124', name: 'computer', display_width_px: 1 }, null],
  ['a kind without a name', { type: 'brand_new_toolset', server_name: 'x' }, null],
  [
    'tools of a server nobody may name',
    { type: 'mcp_toolset', mcp_server_name: 'x' },
    'tools.0.mcp_server_name: is the name of none of mcp_servers',
  ],
  ['a kind that is nested without end', { type: 'later', parameters: deep(120) }, 'tools'],
  ['a tool of a gateway', { type: 'service:bash', parameters: { engine: 'auto' } }, null],
  ['the same by its other name', { type: 'openrouter:web_search' }, null],
  [
    'a tool of a gateway with a parameter of another kind',
    { type: 'service:datetime', parameters: { timezone: 7 } },
    'tools.0.parameters.timezone: must be a string',
  ],
  ['a tool no gateway has', { type: 'service:nonsense' }, 'tools.0.type: is no tool of this gateway'],
  ['a type that is no text', { type: 7 }, 'tools.0.type: '],
  ['no object', 'lookup' as unknown as object, 'tools.0: must be an object'],
]

for (const [what, tool, said] of TOOLS) {
  test(`tools: ${what} is ${said === null ? 'taken' : 'refused'}`, async (t) => {
    const sentence = refusalOf({ tools: [tool] })
    if (said === null) t.equal(sentence, null)
    else t.ok(sentence?.startsWith(said), String(sentence))
  })
}

const CHOICES: readonly (readonly [choice: unknown, said: string | null])[] = [
  [{ type: 'auto' }, null],
  [{ type: 'any', disable_parallel_tool_use: true }, null],
  [{ type: 'none' }, null],
  [{ type: 'tool', name: 'lookup', disable_parallel_tool_use: false }, null],
  [{ type: 'tool', name: 'other' }, 'tool_choice.name: is the name of none of the tools'],
  [{ type: 'tool' }, 'tool_choice.name: is required'],
  [{ type: 'required' }, 'tool_choice.type: must be one of auto, any, tool, none'],
  [{ type: 'auto', disable_parallel_tool_use: 1 }, 'tool_choice.disable_parallel_tool_use: '],
  ['auto', 'tool_choice: must be an object'],
]

test('the choice of a tool is one of four, and names one that there is', async (t) => {
  for (const [choice, said] of CHOICES) {
    const sentence = refusalOf({ tools: [LOOKUP], tool_choice: choice })
    if (said === null) t.equal(sentence, null)
    else t.ok(sentence?.startsWith(said), `${JSON.stringify(choice)}: ${sentence}`)
  }
  t.equal(refusalOf({ tool_choice: { type: 'any' } }), 'tool_choice: needs tools')
  t.equal(refusalOf({ tools: [], tool_choice: { type: 'tool', name: 'a' } }), 'tool_choice: needs tools')
  t.equal(refusalOf({ tool_choice: { type: 'auto' } }), null)
})

test('fallbacks exclude models', async (t) => {
  const sentence = refusalOf({ fallbacks: [{ model: 'a/b' }], models: ['c/d'] })
  t.equal(sentence, 'fallbacks: cannot be combined with models')
  t.equal(refusalOf({ fallbacks: null, models: ['c/d'] }), null)
})

test('wishes about routing that contradict each other are refused, as on chat', async (t) => {
  const only = { provider: { only: ['a'], ignore: ['a'] } }
  t.match(refusalOf(only), /^provider\.only: /)
  t.match(refusalOf({ route: 'sort', provider: { sort: { partition: 'model' } } }), /^route: /)
})

test('the smallest request is taken', async (t) => {
  t.equal(refusal(SMALLEST), null)
})

test('whatever stands in whichever field, it is taken or refused with a sentence that names a field', async (t) => {
  const fields = ROWS.map(([field]) => field)
  const nested = fc.constantFrom('messages', 'system', 'tools', 'thinking', 'context_management', 'provider')
  const value = fc.oneof(fc.jsonValue(), fc.array(fc.record({ type: fc.string(), content: fc.jsonValue() })))
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.constantFrom(...fields, 'tool_choice'), nested),
      value,
      async (field, said) => {
        const sentence = refusalOf({ [field]: said })
        return sentence === null || /^(?:body|[a-z_]+(?:\.[a-z_0-9]+)*): ./.test(sentence)
      },
    ),
    { numRuns: 3000 },
  )
  t.pass('3000 of them')
})
