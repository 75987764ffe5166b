/** What becomes of a messages body on its way to the gateway (contract/gateway 1.3, 5.1). */
import { test } from 'tap'
import {
  counted,
  decoded,
  decodedOf,
  refusal,
  refusalOf,
  SMALLEST,
  withMembers,
  withSaid,
} from './messages-bodies.js'

test('the smallest request passes as it is', async (t) => {
  t.strictSame(decoded(SMALLEST), SMALLEST)
})

test('fallbacks become models', async (t) => {
  const named = withMembers({ fallbacks: [{ model: 'a/b' }, { model: 'c/d' }] })
  t.strictSame(decoded(named).models, ['a/b', 'c/d'])
  for (const none of [
    { fallbacks: null },
    { fallbacks: [] },
    { models: [] },
    { fallbacks: null, models: [] },
  ])
    t.strictSame(decodedOf(none), SMALLEST, JSON.stringify(none))
  t.strictSame(decodedOf({ fallbacks: null, models: ['a/b'] }).models, ['a/b'])
})

test('the user of the metadata counts where no other is named, and metadata go no further', async (t) => {
  t.strictSame(decodedOf({ metadata: { user_id: 'm' } }), { ...SMALLEST, user: 'm' })
  t.equal(decodedOf({ metadata: { user_id: 'm' }, user: 'u' }).user, 'u')
  t.strictSame(decodedOf({ metadata: { user_id: null } }), SMALLEST)
})

test('the session of the header counts where the body names none', async (t) => {
  t.equal(decoded(SMALLEST, 'from-header').session_id, 'from-header')
  t.equal(decoded(withMembers({ session_id: 'from-body' }), 'from-header').session_id, 'from-body')
  t.equal(decoded(SMALLEST).session_id, undefined)
  t.equal(refusal(SMALLEST, 'x'.repeat(256)), null)
  t.equal(refusal(SMALLEST, 'x'.repeat(257)), 'x-session-id: must have at most 256 characters')
})

test('what has been judged and says nothing to a provider is gone', async (t) => {
  const spent = {
    plugins: [],
    store: false,
    mcp_servers: [],
    background: false,
  }
  t.strictSame(decodedOf(spent), SMALLEST)
  for (const nothing of [false, [], null])
    for (const name of ['store', 'conversation', 'mcp_servers', 'thread', 'cached_content'])
      t.strictSame(decodedOf({ [name]: nothing }), SMALLEST)
})

const NO_TOOLING = { tools: [], plugins: [], disabled: [], stopWhen: null, maxToolCalls: 30 }
const LOOKUP = { name: 'lookup', input_schema: { type: 'object' } }

/** The tools that a request asks of the gateway, with their parameters. */
const askedOf = (
  members: object,
): readonly (readonly [name: string, parameters: object, isNative: boolean])[] =>
  (decodedOf(members).tooling?.tools ?? []).map(({ name, parameters, isNative }) => [
    name,
    parameters,
    isNative,
  ])

test('tools and plugins of the gateway are told apart from the rest of the request', async (t) => {
  const asked = decodedOf({
    tools: [
      LOOKUP,
      { type: 'openrouter:datetime', parameters: { timezone: 'UTC' } },
      { type: 'service:memory' },
    ],
    plugins: [
      { id: 'web', max_results: 2 },
      { id: 'fusion', enabled: false },
    ],
    stop_server_tools_when: [{ type: 'step_count_is', step_count: 2 }],
    max_tool_calls: 7,
  })
  t.strictSame(asked.tools, [LOOKUP])
  t.strictSame(asked.tooling, {
    tools: [
      {
        name: 'datetime',
        parameters: { timezone: 'UTC' },
        type: 'openrouter:datetime',
        place: ['tools', 1],
        isNative: false,
      },
      { name: 'memory', parameters: {}, type: 'service:memory', place: ['tools', 2], isNative: false },
    ],
    plugins: [{ id: 'web', options: { max_results: 2 }, place: ['plugins', 0] }],
    disabled: ['fusion'],
    stopWhen: [{ type: 'step_count_is', step_count: 2 }],
    maxToolCalls: 7,
    limits: ['stop_server_tools_when', 'max_tool_calls'],
  })
  t.strictSame(decodedOf({ plugins: [{ id: 'web', enabled: false }] }).tooling, {
    ...NO_TOOLING,
    disabled: ['web'],
  })
  t.strictSame(decodedOf({ max_tool_calls: 3 }), { ...SMALLEST, idle: ['max_tool_calls'] })
  t.equal(decodedOf({ tools: [{ type: 'service:datetime' }], tool_choice: { type: 'any' } }).tools, undefined)
  t.equal(decodedOf({ tools: [LOOKUP] }).tooling, undefined)
})

test('a tool with a date stays for the provider, and is told as the tool that runs it where the provider does not', async (t) => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2, blocked_domains: ['a.b'] }
  const asked = decodedOf({ tools: [search] })
  t.strictSame(asked.tools, [search])
  t.strictSame(askedOf({ tools: [search] }), [
    ['web_search', { max_uses: 2, excluded_domains: ['a.b'] }, true],
  ])
  const fetch = {
    type: 'web_fetch_20250910',
    name: 'web_fetch',
    blocked_domains: ['a.b'],
    max_content_tokens: 9,
  }
  const fetched = ['web_fetch', { blocked_domains: ['a.b'], max_content_tokens: 9 }, true] as const
  t.strictSame(askedOf({ tools: [fetch] }), [fetched])
  for (const [tool, name, parameters] of [
    [{ type: 'code_execution_20250825', name: 'code_execution' }, 'bash', {}],
    [{ type: 'advisor_20260301', name: 'advisor', model: 'a/b' }, 'advisor', { model: 'a/b' }],
    [{ type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' }, 'tool_search', { variant: 'bm25' }],
    [
      { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
      'tool_search',
      { variant: 'regex' },
    ],
  ] as const)
    t.strictSame(askedOf({ tools: [tool] }), [[name, parameters, true]])
})

test('an engine of ours takes a tool from the provider, and native leaves one of ours to it', async (t) => {
  const ours = { type: 'web_search_20250305', name: 'web_search', engine: 'searxng' }
  t.equal(decodedOf({ tools: [ours] }).tools, undefined)
  t.strictSame(askedOf({ tools: [ours] }), [['web_search', { engine: 'searxng' }, true]])
  const native = { type: 'service:web_search', parameters: { engine: 'native', excluded_domains: ['a.b'] } }
  const left = { type: 'web_search_20250305', name: 'web_search', blocked_domains: ['a.b'] }
  t.strictSame(decodedOf({ tools: [native] }).tools, [left])
  t.strictSame(askedOf({ tools: [native] }), [['web_search', native.parameters, false]])
  const { engine: _, ...plain } = ours
  t.strictSame(decodedOf({ tools: [{ ...plain, engine: 'auto' }] }).tools, [plain])
})

test('tools that the caller runs stay its own unless it asks that we run them', async (t) => {
  for (const [tool, name] of [
    [{ type: 'bash_20250124', name: 'bash' }, 'bash'],
    [{ type: 'memory_20250818', name: 'memory' }, 'memory'],
    [{ type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' }, 'text_editor'],
  ] as const) {
    t.strictSame(decodedOf({ tools: [tool] }).tools, [tool])
    t.equal(decodedOf({ tools: [tool] }).tooling, undefined)
    const ours = { tools: [{ ...tool, engine: 'service' }] }
    t.equal(decodedOf(ours).tools, undefined)
    t.strictSame(askedOf(ours), [[name, {}, true]])
  }
})

test('servers of tools are tools, as their toolsets or they themselves say', async (t) => {
  const server = { type: 'url', name: 'sim', url: 'https://mcp.example/' }
  const toolset = { type: 'mcp_toolset', mcp_server_name: 'sim' }
  const named = { server_label: 'sim', server_url: 'https://mcp.example/' }
  const disabled = { configs: { a: { enabled: false }, b: {} } }
  for (const [what, more, tools, parameters] of [
    ['no toolset', {}, [], named],
    [
      'its own tools',
      { tool_configuration: { allowed_tools: ['a'] } },
      [],
      { ...named, allowed_tools: ['a'] },
    ],
    ['a toolset', {}, [toolset], named],
    ['a tool that is off', {}, [{ ...toolset, ...disabled }], { ...named, excluded_tools: ['a'] }],
    [
      'tools that are on',
      {},
      [{ ...toolset, default_config: { enabled: false }, configs: { a: { enabled: true } } }],
      { ...named, allowed_tools: ['a'] },
    ],
    [
      'tools to be found',
      {},
      [{ ...toolset, default_config: { defer_loading: true }, configs: { a: { defer_loading: false } } }],
      { ...named, defer_loading: true, defer_exceptions: ['a'] },
    ],
  ] as const)
    t.strictSame(askedOf({ mcp_servers: [{ ...server, ...more }], tools }), [['mcp', parameters, true]], what)
  t.strictSame(askedOf({ mcp_servers: [{ ...server, tool_configuration: { enabled: false } }] }), [])
})

test('tools that there are none of, or that contradict each other, are refused by name', async (t) => {
  const search = { type: 'tool_search_tool_regex', name: 'tool_search_tool_regex' }
  const server = { type: 'url', name: 'sim' }
  for (const [members, sentence] of [
    [{ tools: [{ type: 'service:nonsense' }] }, 'tools.0.type: is no tool of this gateway'],
    [
      { tools: [{ type: 'service:datetime' }, { type: 'openrouter:datetime' }] },
      'tools.1.type: names the tool openrouter:datetime a second time',
    ],
    [
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }, { type: 'service:web_search' }] },
      'tools.1.type: names the tool service:web_search a second time',
    ],
    [
      { tools: [search, LOOKUP], tool_choice: { type: 'any' } },
      'tool_choice: cannot be forced beside a search for tools',
    ],
    [
      { tools: [search, LOOKUP], tool_choice: { type: 'tool', name: 'lookup' } },
      'tool_choice: cannot be forced beside a search for tools',
    ],
    [
      { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }], mcp_servers: [server] },
      'tools.0.mcp_server_name: is the name of none of mcp_servers',
    ],
    [{ mcp_servers: [server, server] }, 'mcp_servers.1.type: names the tool mcp_toolset a second time'],
    [
      { mcp_servers: [{ ...server, authorization_token: 's' }] },
      'mcp_servers.0.authorization_token: is not forwarded: the operator configures credentials',
    ],
    [{ mcp_servers: true }, 'mcp_servers: must be a list'],
    [
      { tools: [{ type: 'service:datetime' }], tool_choice: { type: 'tool', name: 'x' } },
      'tool_choice.name: is the name of none of the tools',
    ],
    [{ max_tool_calls: 0 }, 'max_tool_calls: must be at least 1'],
    [{ max_tool_calls: 31 }, 'max_tool_calls: must be at most 30'],
    [{ stop_server_tools_when: [] }, 'stop_server_tools_when: must have at least 1 entry'],
    [
      { tools: [{ type: 'web_search_20250305', name: 'web_search', engine: 'bing' }] },
      'tools.0.engine: must be one of',
    ],
  ] as const)
    t.match(refusalOf(members), sentence, JSON.stringify(members))
  for (const tools of [
    [{ type: 'service:advisor' }, { type: 'service:advisor', parameters: { name: 'b' } }],
    [
      { type: 'service:mcp', parameters: { server_label: 'a' } },
      { type: 'service:mcp', parameters: { server_label: 'b' } },
    ],
  ])
    t.equal(refusalOf({ tools }), null)
})

test('a choice where there are no tools is no choice', async (t) => {
  t.strictSame(decodedOf({ tools: [], tool_choice: { type: 'auto' } }), SMALLEST)
  t.strictSame(decodedOf({ tool_choice: { type: 'none' } }), SMALLEST)
})

test('blocks, tools and settings keep the members nobody here knows', async (t) => {
  const block = { type: 'tool_use', id: 'a', name: 'b', input: { c: [1] }, later: { d: 1 } }
  const body = withSaid(block) as { messages: object[] }
  t.strictSame(decoded(body).messages, body.messages)
  const tools = [{ type: 'later_20300101', name: 'x', more: { a: 1 } }]
  const thinking = { type: 'adaptive', later: 1 }
  const asked = decodedOf({ tools, thinking, output_config: { later: 2 } })
  t.strictSame([asked.tools, asked.thinking, asked.output_config], [tools, thinking, { later: 2 }])
})

test('a conversation is handed on itself and not copied', async (t) => {
  const body = withSaid({ type: 'thinking', thinking: 'a', signature: 'b' }) as { messages: object[] }
  t.equal(decoded(body).messages as unknown, body.messages)
})

test('counting needs no max_tokens, and keeps the other rules', async (t) => {
  const { max_tokens: _, ...rest } = SMALLEST
  t.same(counted.decoded(rest).messages, SMALLEST.messages)
  for (const more of [{ tool_choice: { type: 'any' } }, { messages: [] }, { max_tokens: 0 }])
    t.type(counted.refusal({ ...rest, ...more }), 'string', JSON.stringify(more))
})
