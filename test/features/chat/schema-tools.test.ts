/**
 * Tools, plugins, stop conditions and routing wishes (contract/gateway 2.4, 2.5, 2.7, 2.9, 2.10; contract/decisions
 * 10).
 */
import { test } from 'tap'
import { decodedOf, refusal, refusalOf, SMALLEST, withMembers } from './chat-bodies.js'

const fn = (more: object = {}): object => ({ type: 'function', function: { name: 'f', ...more } })

test('a function tool is taken with every member and passed on', async (t) => {
  const tools = [
    fn(),
    {
      ...fn({
        name: 'x'.repeat(64),
        description: 'd',
        parameters: { type: 'object', properties: { a: {} } },
        strict: null,
      }),
      cache_control: { type: 'ephemeral' },
    },
    fn({ name: 'A_b-9', strict: true }),
  ]
  t.strictSame(decodedOf({ tools }).tools, tools)
})

const NAME = 'must be 1 to 64 letters, digits, underscores or hyphens'

test('a function tool of a wrong shape is refused with its place', async (t) => {
  for (const [tool, sentence] of [
    ['f', ': must be an object'],
    [{}, '.type: is required'],
    [{ type: 'gadget' }, '.type: is none of the documented values'],
    [{ type: 'service:gadget' }, '.type: is none of the documented values'],
    [{ type: 'function' }, '.function: is required'],
    [{ type: 'function', function: {} }, '.function.name: is required'],
    [fn({ name: '' }), `.function.name: ${NAME}`],
    [fn({ name: 'x'.repeat(65) }), `.function.name: ${NAME}`],
    [fn({ name: 'with space' }), `.function.name: ${NAME}`],
    [fn({ description: 5 }), '.function.description: must be a string'],
    [fn({ parameters: [] }), '.function.parameters: must be an object'],
    [fn({ parameters: 'none' }), '.function.parameters: must be an object'],
    [fn({ strict: 'yes' }), '.function.strict: must be a boolean'],
    [{ ...fn(), cache_control: {} }, '.cache_control.type: is required'],
  ] as const)
    t.equal(refusalOf({ tools: [tool] }), `tools.0${sentence}`, JSON.stringify(tool))
  t.equal(refusalOf({ tools: {} }), 'tools: must be an array')
})

/** Each server tool with parameters at their edges. */
const SERVER_TOOLS: Readonly<Record<string, object>> = {
  advisor: {
    model: 'a/b',
    name: 'An advisor',
    instructions: 'i',
    forward_transcript: true,
    max_completion_tokens: 1,
    temperature: 1,
    stream: false,
    reasoning: { effort: 'low', max_tokens: 1 },
  },
  bash: {
    engine: 'native',
    environment: {
      type: 'container_reference',
      container_id: 'x'.repeat(20),
      file_ids: ['f'],
      network_policy: { type: 'allowlist', allowed_domains: ['a'] },
    },
  },
  datetime: { timezone: 'Europe/Berlin' },
  files: {},
  fusion: { analysis_models: ['a/b'], max_tool_calls: 16, tools: [{ type: 'x', parameters: {} }] },
  image_generation: { model: 'a/b', anything: 1 },
  experimental__search_models: { max_results: 20 },
  subagent: { max_tool_calls: 25, tools: [{ type: 'x' }], inherited_function_names: ['f'] },
  web_fetch: { engine: 'firecrawl', allowed_domains: ['a'], max_uses: 1, max_content_tokens: 1 },
  web_search: {
    engine: 'exa',
    allowed_domains: ['a'],
    max_results: 5,
    mode: 'deep-reasoning',
    search_context_size: 'high',
    user_location: { type: 'approximate', city: 'c' },
    x_search: { allowed_x_handles: [], from_date: '2026-01-01' },
  },
}

test('a server tool is the gateway’s own to run, by its neutral name, under either spelling', async (t) => {
  for (const [name, parameters] of Object.entries(SERVER_TOOLS)) {
    for (const prefix of ['service:', 'openrouter:']) {
      const type = prefix + name
      const { tools, tooling } = decodedOf({ tools: [fn(), { type, parameters }] })
      t.strictSame(tools, [fn()], 'functions of the caller alone')
      t.strictSame(tooling!.tools, [{ name, parameters, type, place: ['tools', 1], isNative: false }])
      const bare = decodedOf({ tools: [{ type }] })
      t.notOk('tools' in bare)
      t.strictSame(bare.tooling!.tools[0]!.parameters, {})
    }
  }
  for (const type of [
    'web_search',
    'web_search_preview',
    'web_search_preview_2025_03_11',
    'web_search_2025_08_26',
  ]) {
    const asked = { name: 'web_search', parameters: { max_results: 3 } }
    t.match(decodedOf({ tools: [{ type, max_results: 3 }] }).tooling!.tools, [asked])
    t.match(decodedOf({ tools: [{ type, parameters: { max_results: 3 } }] }).tooling!.tools, [asked])
  }
})

test('a tool that is named twice is refused, in whatever spelling; agents of other names are others', async (t) => {
  const twice = (one: object, other: object) => refusalOf({ tools: [one, fn(), other] })
  const sentence = 'tools.2.type: names the tool openrouter:datetime a second time'
  t.equal(twice({ type: 'service:datetime' }, { type: 'openrouter:datetime' }), sentence)
  t.match(twice({ type: 'web_search' }, { type: 'service:web_search' }), /^tools\.2\.type: names the tool/)
  const advisor = (name: string) => ({ type: 'service:advisor', parameters: { name } })
  t.equal(twice(advisor('a'), advisor('b')), null)
  for (const name of ['a b', ' a  b', 'a_b']) t.match(twice(advisor('a_b'), advisor(name)), /a second time/)
})

test('other words for plugins are plugins', async (t) => {
  const plugins = (members: object) => decodedOf(members).tooling?.plugins ?? []
  t.strictSame(plugins({ web_search_options: { search_context_size: 'low' } }), [
    { id: 'web', options: { search_context_size: 'low' }, place: ['web_search_options'] },
  ])
  t.match(plugins({ model: 'sim/fast:online' }), [{ id: 'web', place: ['model'] }])
  t.match(plugins({ model: 'service/auto' }), [{ id: 'auto-router', place: ['model'] }])
  const web = { id: 'web', max_results: 2 }
  t.match(plugins({ model: 'sim/fast:online', plugins: [web] }), [{ id: 'web', options: { max_results: 2 } }])
  t.equal(plugins({ model: 'sim/fast:online', plugins: [web] }).length, 1)
  t.strictSame(plugins({}), [])
})

test('the parameters of a server tool are checked', async (t) => {
  for (const [name, parameters, sentence] of [
    [
      'advisor',
      { name: 'x'.repeat(65) },
      '.name: must be 1 to 64 letters, digits, spaces, underscores or hyphens',
    ],
    [
      'advisor',
      { reasoning: { effort: 'huge' } },
      '.reasoning.effort: must be one of max, xhigh, high, medium, low, minimal, none',
    ],
    ['bash', { engine: 'zsh' }, '.engine: must be one of auto, native, service'],
    [
      'bash',
      { environment: { type: 'vm' } },
      '.environment.type: must be one of container_auto, container_reference',
    ],
    [
      'bash',
      { environment: { type: 'container_reference', container_id: 'x'.repeat(21) } },
      '.environment.container_id: must have at most 20 characters',
    ],
    [
      'bash',
      { environment: { type: 'container_auto', network_policy: { type: 'allowlist' } } },
      '.environment.network_policy.allowed_domains: is required',
    ],
    ['datetime', { timezone: 1 }, '.timezone: must be a string'],
    ['files', [], ': must be an object'],
    ['fusion', { analysis_models: [] }, '.analysis_models: must have at least 1 entry'],
    [
      'fusion',
      { analysis_models: new Array(9).fill('a/b') },
      '.analysis_models: must have at most 8 entries',
    ],
    ['fusion', { max_tool_calls: 17 }, '.max_tool_calls: must be at most 16'],
    ['fusion', { tools: new Array(9).fill({ type: 'x' }) }, '.tools: must have at most 8 entries'],
    ['image_generation', { model: 1 }, '.model: must be a string'],
    ['experimental__search_models', { max_results: 21 }, '.max_results: must be at most 20'],
    ['subagent', { max_tool_calls: 26 }, '.max_tool_calls: must be at most 25'],
    ['web_fetch', { max_uses: 0 }, '.max_uses: must be at least 1'],
    [
      'web_search',
      { engine: 'bing' },
      '.engine: must be one of auto, native, searxng, brave, tavily, exa, parallel, firecrawl, perplexity',
    ],
    [
      'web_search',
      { allowed_domains: [], excluded_domains: [] },
      ': takes allowed_domains or excluded_domains, not both',
    ],
    [
      'web_search',
      { mode: 'slow' },
      '.mode: must be one of instant, fast, auto, deep-lite, deep, deep-reasoning, turbo, basic, advanced',
    ],
    ['web_search', { search_context_size: 'huge' }, '.search_context_size: must be one of low, medium, high'],
    ['web_search', { user_location: { type: 'exact' } }, '.user_location.type: must be approximate'],
    [
      'web_search',
      { x_search: { excluded_x_handles: new Array(21).fill('a') } },
      '.x_search.excluded_x_handles: must have at most 20 entries',
    ],
    ['web_search', { x_search: { to_date: 'soon' } }, '.x_search.to_date: must be a date'],
  ] as const) {
    const input = withMembers({ tools: [{ type: `openrouter:${name}`, parameters }] })
    t.equal(refusal(input), `tools.0.parameters${sentence}`, name)
  }
  t.equal(
    refusalOf({ tools: [{ type: 'web_search', allowed_domains: [], excluded_domains: [] }] }),
    'tools.0: takes allowed_domains or excluded_domains, not both',
  )
})

test('a choice of tool is taken where it can be kept', async (t) => {
  const tools = [fn()]
  for (const tool_choice of ['none', 'auto', 'required', { type: 'function', function: { name: 'f' } }])
    t.strictSame(decodedOf({ tools, tool_choice }).tool_choice, tool_choice)
  for (const tool_choice of ['none', 'auto'])
    for (const more of [{}, { tools: [] }, { parallel_tool_calls: true }])
      t.strictSame(decodedOf({ tool_choice, ...more }), SMALLEST, 'says nothing without tools')
  for (const [tool_choice, sentence] of [
    ['any', ': must be one of none, auto, required'],
    [null, ': must be a string or an object'],
    [{}, '.type: is required'],
    [{ type: 'function' }, ': must name the function to call'],
    [{ type: 'function', function: {} }, '.function.name: is required'],
    [{ type: 'function', function: { name: 'g' } }, '.function.name: is none of the functions in tools'],
    [{ type: 'openrouter:web_search' }, '.type: is none of the tools in tools'],
    [{ type: 'allowed_tools' }, '.type: is none of the tools in tools'],
  ] as const)
    t.equal(refusalOf({ tools, tool_choice }), `tool_choice${sentence}`)
  t.equal(refusalOf({ tool_choice: 'required' }), 'tool_choice: needs tools')
  const search = [{ type: 'web_search_preview' }]
  for (const type of ['service:web_search', 'openrouter:web_search', 'web_search'])
    t.strictSame(decodedOf({ tools: search, tool_choice: { type } }).tool_choice, {
      type: 'service:web_search',
    })
  t.equal(decodedOf({ tools: search, tool_choice: 'required' }).tool_choice, 'required')
  t.equal(decodedOf({ tools: search, parallel_tool_calls: false }).parallel_tool_calls, false)
})

test('what ends a loop of server tools is read with the tools, and says nothing without them', async (t) => {
  const stop_server_tools_when = [
    { type: 'step_count_is', step_count: 5 },
    { type: 'has_tool_call', tool_name: 'a' },
    { type: 'max_tokens_used', max_tokens: 100 },
    { type: 'max_cost', max_cost_in_dollars: 0.5 },
    { type: 'finish_reason_is', reason: 'stop' },
  ]
  const tools = [{ type: 'service:datetime' }]
  t.match(decodedOf({ tools, stop_server_tools_when }).tooling, {
    stopWhen: stop_server_tools_when,
    maxToolCalls: 30,
  })
  t.match(decodedOf({ tools, max_tool_calls: 3 }).tooling, { stopWhen: null, maxToolCalls: 3 })
  const idle = ['stop_server_tools_when', 'max_tool_calls']
  t.strictSame(
    decodedOf({ stop_server_tools_when, max_tool_calls: 3 }),
    withMembers({ idle }),
    'told as idle',
  )
  t.equal(refusalOf({ max_tool_calls: 0 }), 'max_tool_calls: must be at least 1')
  t.equal(refusalOf({ max_tool_calls: 31 }), 'max_tool_calls: must be at most 30')
  t.equal(refusalOf({ stop_server_tools_when: [] }), 'stop_server_tools_when: must have at least 1 entry')
  for (const [condition, sentence] of [
    [{}, 'type: is required'],
    [
      { type: 'bored' },
      'type: must be one of step_count_is, has_tool_call, max_tokens_used, max_cost, finish_reason_is',
    ],
    [{ type: 'step_count_is' }, 'step_count: is required'],
    [{ type: 'step_count_is', step_count: 1.5 }, 'step_count: must be an integer'],
    [{ type: 'has_tool_call', tool_name: '' }, 'tool_name: must have at least 1 character'],
    [{ type: 'max_tokens_used', max_tokens: '5' }, 'max_tokens: must be an integer'],
    [{ type: 'max_cost', max_cost_in_dollars: '1' }, 'max_cost_in_dollars: must be a number'],
    [{ type: 'finish_reason_is', reason: '' }, 'reason: must have at least 1 character'],
  ] as const)
    t.equal(refusalOf({ stop_server_tools_when: [condition] }), `stop_server_tools_when.0.${sentence}`)
})

/** Every plugin with members at their edges. */
const PLUGINS: Readonly<Record<string, object>> = {
  'auto-router': {
    allowed_models: ['a/*'],
    excluded_models: new Array(64).fill('x'.repeat(1024)),
    cost_tier: 'xhigh',
    cost_quality_tradeoff: 10,
    pin_model: true,
  },
  'auto-beta-router': { cost_tier: 'low', cost_quality_tradeoff: 0 },
  moderation: {},
  web: { engine: 'exa', mode: 'fast', max_results: 1, search_prompt: 's', include_domains: ['a'] },
  'web-fetch': { allowed_domains: ['a'], max_uses: 1, max_content_tokens: 1 },
  'file-parser': { pdf: { engine: 'pdf-text' } },
  'response-healing': {},
  'context-compression': { engine: 'middle-out' },
  'pareto-router': { max_price: 0, min_coding_score: 1, price_source: 'weighted_avg' },
  fusion: { model: 'a/b', analysis_models: ['a/b'], max_tool_calls: 1, preset: 'general-fast', tools: [] },
  'switchyard-router': { algorithm: 'composite' },
  'jev-router': { models: ['a'], allowed_models: ['b'], excluded_models: ['c'] },
}

test('a plugin is the gateway’s own to run, unless it is off', async (t) => {
  for (const [id, options] of Object.entries(PLUGINS)) {
    const place = ['plugins', 0]
    t.strictSame(decodedOf({ plugins: [{ id, ...options }] }).tooling!.plugins, [{ id, options, place }])
    t.match(decodedOf({ plugins: [{ id, ...options, enabled: true }] }).tooling!.plugins, [{ id, options }])
    t.match(decodedOf({ plugins: [{ id, ...options, enabled: false }] }).tooling, {
      plugins: [],
      disabled: [id],
    })
  }
  const alignment = { id: 'alignment', rules: ['x'.repeat(200)], threshold: 1, max_retries: 3, mode: 'audit' }
  t.match(decodedOf({ plugins: [alignment] }).tooling!.plugins, [{ id: 'alignment' }])
  t.strictSame(decodedOf({ plugins: [] }), SMALLEST)
})

test('a plugin of a wrong shape is refused with its place, also when it is off', async (t) => {
  const rules = ['be kind']
  for (const [plugin, sentence] of [
    ['web', ': must be an object'],
    [{}, '.id: is required'],
    [
      { id: 'teleport', enabled: false },
      '.id: must be one of auto-router, auto-beta-router, moderation, web, web-fetch, file-parser, response-healing, context-compression, pareto-router, fusion, switchyard-router, jev-router, alignment',
    ],
    [{ id: 'web', enabled: 'no' }, '.enabled: must be a boolean'],
    [
      { id: 'web', enabled: false, engine: 'bing' },
      '.engine: must be one of native, exa, firecrawl, parallel, perplexity',
    ],
    [{ id: 'web', enabled: false, max_results: 1.5 }, '.max_results: must be an integer'],
    [{ id: 'auto-router', cost_quality_tradeoff: 11 }, '.cost_quality_tradeoff: must be at most 10'],
    [{ id: 'auto-router', cost_tier: 'free' }, '.cost_tier: must be one of low, medium, high, xhigh, max'],
    [
      { id: 'auto-router', allowed_models: ['x'.repeat(1025)] },
      '.allowed_models.0: must have at most 1024 characters',
    ],
    [
      { id: 'auto-router', allowed_models: new Array(1025).fill('') },
      '.allowed_models: must have at most 1024 entries',
    ],
    [
      { id: 'jev-router', models: new Array(65).fill('x'.repeat(1024)) },
      '.models: must have at most 65536 characters in all',
    ],
    [
      { id: 'file-parser', pdf: { engine: 'eyes' } },
      '.pdf.engine: must be one of mistral-ocr, native, cloudflare-ai, pdf-text',
    ],
    [{ id: 'context-compression', engine: 'zip' }, '.engine: must be middle-out'],
    [{ id: 'pareto-router', max_price: -1 }, '.max_price: must be at least 0'],
    [{ id: 'pareto-router', min_coding_score: 1.1 }, '.min_coding_score: must be at most 1'],
    [
      { id: 'fusion', preset: 'general-odd' },
      '.preset: must be one of general-high, general-budget, general-fast',
    ],
    [{ id: 'fusion', max_tool_calls: 0 }, '.max_tool_calls: must be at least 1'],
    [
      { id: 'switchyard-router', algorithm: 'x' },
      '.algorithm: must be one of capability, stage, auto, random, composite, passthrough',
    ],
    [{ id: 'alignment' }, '.rules: is required'],
    [{ id: 'alignment', rules: [] }, '.rules: must have at least 1 entry'],
    [{ id: 'alignment', rules: new Array(129).fill('a') }, '.rules: must have at most 128 entries'],
    [{ id: 'alignment', rules: [''] }, '.rules.0: must have 1 to 200 characters'],
    [{ id: 'alignment', rules: ['x'.repeat(201)] }, '.rules.0: must have 1 to 200 characters'],
    [{ id: 'alignment', rules: ['a\nb'] }, '.rules.0: must be a single line'],
    [{ id: 'alignment', rules, threshold: 0 }, '.threshold: must be more than 0'],
    [{ id: 'alignment', rules, threshold: 1.1 }, '.threshold: must be at most 1'],
    [{ id: 'alignment', rules, max_retries: 4 }, '.max_retries: must be at most 3'],
    [{ id: 'alignment', rules, mode: 'x' }, '.mode: must be one of enforce, audit'],
    [{ id: 'alignment', rules, enabled: false }, ': has a member that is not allowed'],
  ] as const)
    t.equal(refusalOf({ plugins: [plugin] }), `plugins.0${sentence}`, JSON.stringify(plugin).slice(0, 80))
})

test('wishes about providers are taken in every form', async (t) => {
  for (const provider of [
    null,
    {},
    { order: ['a', 'b/c'], only: null, ignore: [], allow_fallbacks: false, require_parameters: null },
    {
      data_collection: 'deny',
      zdr: true,
      enforce_distillable_text: null,
      quantizations: ['int4', 'unknown'],
    },
    { sort: null },
    { sort: { by: null, partition: 'none' } },
    { sort: { by: 'latency', partition: null } },
    { max_price: { prompt: '0.5', completion: 2, request: '.1', image: '0', audio: '1.' } },
    { preferred_min_throughput: 50, preferred_max_latency: null },
    { preferred_min_throughput: { p50: 10, p99: null }, preferred_max_latency: { p75: 0.5, p90: 1 } },
  ])
    t.strictSame(decodedOf({ provider }).provider, provider)
})

test('providers is another word for provider, and never stands beside it', async (t) => {
  t.strictSame(decodedOf({ providers: { sort: 'price' } }), { ...SMALLEST, provider: { sort: 'price' } })
  t.strictSame(decodedOf({ providers: null }), SMALLEST)
  t.equal(
    refusalOf({ providers: { sort: { partition: 'x' } } }),
    'providers.sort.partition: must be one of model, none',
  )
  t.match(refusalOf({ providers: {}, provider: {} }), /^providers: is another word for provider/)
  t.match(refusalOf({ providers: { only: ['a'], ignore: ['a'] } }), /must not name a provider/)
})

test('sorting by quality is refused by name: nothing is known of it', async (t) => {
  const sentence = 'cannot be exacto: nothing is known here of the quality of answers'
  t.equal(refusalOf({ provider: { sort: 'exacto' } }), `provider.sort: ${sentence}`)
  t.equal(refusalOf({ providers: { sort: { by: 'exacto' } } }), `provider.sort.by: ${sentence}`)
})

test('wishes about providers of a wrong shape are refused with their place', async (t) => {
  const keys = 'must be one of price, throughput, latency, exacto'
  for (const [provider, sentence] of [
    ['a', ': must be an object'],
    [{ order: 'a' }, '.order: must be an array'],
    [{ only: [1] }, '.only.0: must be a string'],
    [{ ignore: [''] }, '.ignore.0: must have at least 1 character'],
    [{ allow_fallbacks: 'yes' }, '.allow_fallbacks: must be a boolean'],
    [{ require_parameters: 1 }, '.require_parameters: must be a boolean'],
    [{ zdr: 'x' }, '.zdr: must be a boolean'],
    [{ enforce_distillable_text: 'x' }, '.enforce_distillable_text: must be a boolean'],
    [{ data_collection: 'maybe' }, '.data_collection: must be one of allow, deny'],
    [
      { quantizations: ['fp64'] },
      '.quantizations.0: must be one of int4, int8, fp4, mxfp4, nvfp4, fp6, fp8, mxfp8, fp16, bf16, fp32, unknown',
    ],
    [{ sort: 'random' }, `.sort: ${keys}`],
    [{ sort: 5 }, '.sort: must be a string or an object'],
    [{ sort: { by: 'random' } }, `.sort.by: ${keys}`],
    [{ sort: { partition: 'x' } }, '.sort.partition: must be one of model, none'],
    [{ max_price: 5 }, '.max_price: must be an object'],
    [{ max_price: { prompt: 'cheap' } }, '.max_price.prompt: must be a decimal number'],
    [{ max_price: { audio: -1 } }, '.max_price.audio: must be at least 0'],
    [{ max_price: { image: true } }, '.max_price.image: must be a number or a string'],
    [{ preferred_min_throughput: 'fast' }, '.preferred_min_throughput: must be a number or an object'],
    [{ preferred_max_latency: { p90: '1' } }, '.preferred_max_latency.p90: must be a number'],
  ] as const)
    t.equal(refusalOf({ provider }), `provider${sentence}`, JSON.stringify(provider))
})
