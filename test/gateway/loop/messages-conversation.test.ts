/** A loop in the messages format: one message out of many turns (contract/tools 1.3, 1.5). */
import fc from 'fast-check'
import { test } from 'tap'
import type { ContentBlock, MessagesMessage, MessagesRequest } from '../../../src/gateway/formats/messages.js'
import { resumeMessages } from '../../../src/gateway/loop/messages/replay.js'
import { CALLER } from '../../support/tools/tool-call.js'
import {
  ASKED,
  assembled,
  OFFERED,
  offer,
  type PlayOptions,
  play,
  type ScriptedTurn,
  SEAL,
} from './messages-script.js'

const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const call = (id: string, name: string, input: object = {}): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const thought: ContentBlock = { type: 'thinking', thinking: 'hm', signature: 'sig' }
const END: ScriptedTurn = { content: [text('done')], stop: 'end_turn' }

const typesOf = (blocks: readonly ContentBlock[]): string[] => blocks.map(({ type }) => type)

test('calls and results of ours stand as native blocks between what the turns say', async (t) => {
  const turns = [
    { content: [thought, text('I look.'), call('c1', 'web_search', { query: 'a' })], stop: 'tool_use' },
    { content: [text(''), call('c2', 'web_fetch', { url: 'u' }), call('c3', 'datetime')], stop: 'tool_use' },
    { content: [text('See https://a.example/ there.')], stop: 'end_turn' },
  ]
  const { events, answer, requests } = play(turns)
  t.strictSame(typesOf(answer.content), [
    ...['thinking', 'text', 'server_tool_use', 'web_search_tool_result'],
    ...['server_tool_use', 'server_tool_use', 'web_fetch_tool_result', 'datetime_tool_result', 'text'],
  ])
  t.strictSame(assembled(events), answer.content)
  const [, , searched, found, , , fetched, , said] = answer.content
  t.match(searched, { name: 'web_search', input: { query: 'a' }, id: /^srvtoolu_svc_/ })
  t.equal(found!.tool_use_id, searched!.id)
  t.match(found!.content, [
    { type: 'web_search_result', url: 'https://a.example/', title: 'A', page_age: 'today' },
  ])
  t.match(fetched!.content, {
    type: 'web_fetch_result',
    url: 'https://a.example/',
    content: { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'All of A' } },
  })
  t.match(said!.citations, [
    { type: 'web_search_result_location', url: 'https://a.example/', cited_text: 'Words of A' },
  ])
  t.equal(answer.stop.stop_reason, 'end_turn')
  // The empty text is left out, the thinking and its signature are handed back.
  t.strictSame(requests[1]!.messages[1]!.content, [
    thought,
    text('I look.'),
    call('c1', 'web_search', { query: 'a' }),
  ])
  t.strictSame(typesOf(requests[2]!.messages[3]!.content as ContentBlock[]), ['tool_use', 'tool_use'])
  t.strictSame(requests[2]!.tool_choice, { type: 'none' })
  t.equal(requests[2]!.tools?.length, 1 + OFFERED.length)
})

test('results stand in the order of the calls, whichever ends first', async (t) => {
  const turn = {
    content: [call('c1', 'datetime'), call('c2', 'bash'), call('c3', 'datetime')],
    stop: 'tool_use',
  }
  for (const isReversed of [false, true]) {
    const { answer } = play([turn, END], { isReversed })
    const [one, two, three, ...results] = answer.content
    t.strictSame(
      results.slice(0, 3).map(({ tool_use_id }) => tool_use_id),
      [one!.id, two!.id, three!.id],
    )
  }
})

test('a mixed turn runs ours and hands over the caller’s', async (t) => {
  const turn = { content: [call('m', 'lookup', { a: 1 }), call('c', 'datetime')], stop: 'tool_use' }
  const { answer, events } = play([turn])
  t.strictSame(typesOf(answer.content), ['tool_use', 'server_tool_use', 'datetime_tool_result'])
  t.equal(answer.stop.stop_reason, 'tool_use')
  t.strictSame(assembled(events), answer.content)
})

test('a function that nobody has is a result for the model and nothing for the caller', async (t) => {
  const { answer, requests } = play([{ content: [call('c', 'nobody')], stop: 'tool_use' }, END])
  t.strictSame(
    answer.content,
    [{ type: 'text', text: 'done', citations: undefined }].map(({ type, text }) => ({ type, text })),
  )
  const [result] = requests[1]!.messages[2]!.content as ContentBlock[]
  t.match(result, { type: 'tool_result', tool_use_id: 'c', is_error: true })
})

test('a forced choice holds for the first turn, by any name of a tool', async (t) => {
  const turns = [{ content: [call('c', 'web_search')], stop: 'tool_use' }, END]
  const one = { disable_parallel_tool_use: true }
  for (const [tool_choice, first, second] of [
    [
      { type: 'any', ...one },
      { type: 'any', ...one },
      { type: 'auto', ...one },
    ],
    [{ type: 'tool', name: 'mcp' }, { type: 'tool', name: 'sim__echo' }, { type: 'auto' }],
    [{ type: 'tool', name: 'lookup' }, { type: 'tool', name: 'lookup' }, { type: 'auto' }],
    [{ type: 'tool', name: 'code_execution' }, { type: 'tool', name: 'bash' }, { type: 'auto' }],
    [
      { type: 'auto', ...one },
      { type: 'auto', ...one },
      { type: 'auto', ...one },
    ],
    [undefined, undefined, undefined],
  ] as const) {
    const request = { ...ASKED, ...(tool_choice !== undefined && { tool_choice }) }
    const offered = OFFERED.map((each) =>
      each.name === 'bash' ? offer('bash', { calledName: 'code_execution' }) : each,
    )
    const { requests } = play([turns[0]!, turns[0]!, END], { request, offered, isLastOff: false })
    t.strictSame(
      requests.map((asked) => asked.tool_choice),
      [first, second, second],
    )
  }
})

test('every reason to stop is told as the last turn has it', async (t) => {
  for (const stop of [
    'end_turn',
    'max_tokens',
    'stop_sequence',
    'refusal',
    'pause_turn',
    'model_context_window_exceeded',
  ])
    t.equal(play([{ content: [text('x')], stop }]).answer.stop.stop_reason, stop)
  const cut = play([{ content: [call('c', 'datetime')], stop: 'max_tokens' }])
  t.strictSame(cut.answer.content, [], 'a call that was cut is neither run nor shown')
  t.equal(cut.answer.stop.stop_reason, 'max_tokens')
  const off = play([{ content: [text('x'), call('m', 'lookup')], stop: 'tool_use' }], { isLastOff: true })
  t.strictSame([typesOf(off.answer.content), off.answer.stop.stop_reason], [['text'], 'end_turn'])
  t.equal(play([END], { end: 'paused' }).answer.stop.stop_reason, 'pause_turn')
  t.equal(play([END], { end: 'broken' }).answer.stop.stop_reason, null)
})

test('a tool that went wrong is an error block of its kind', async (t) => {
  const names = ['web_search', 'web_fetch', 'datetime', 'bash', 'sim__echo']
  const content = names.map((name, at) => call(`c${at}`, name, { how: 'fail' }))
  const { answer } = play([{ content, stop: 'tool_use' }, END])
  const results = answer.content.filter(({ tool_use_id }) => tool_use_id !== undefined)
  t.match(results, [
    {
      type: 'web_search_tool_result',
      content: { type: 'web_search_tool_result_error', error_code: 'unavailable' },
    },
    { type: 'web_fetch_tool_result', content: { type: 'web_fetch_tool_result_error' } },
    {
      type: 'datetime_tool_result',
      content: { type: 'datetime_tool_result_error', error_message: 'it failed' },
    },
    { type: 'service_bash_tool_result', content: { type: 'service_bash_tool_result_error' } },
    { type: 'mcp_tool_result', is_error: true, content: [{ type: 'text', text: 'it failed' }] },
  ])
})

test('tools are shown by the words they came in', async (t) => {
  for (const [tool, shown, result] of [
    [{ type: 'openrouter:bash' }, 'bash', 'openrouter_bash_tool_result'],
    [
      { type: 'code_execution_20250825', isNative: true },
      'bash_code_execution',
      'bash_code_execution_tool_result',
    ],
  ] as const) {
    const { answer } = play([{ content: [call('c', 'bash')], stop: 'tool_use' }, END], {
      offered: [offer('bash', tool)],
    })
    t.match(answer.content, [{ type: 'server_tool_use', name: shown }, { type: result }])
  }
  const mcp = play([{ content: [call('c', 'sim__echo', { a: 1 })], stop: 'tool_use' }, END])
  t.match(mcp.answer.content, [
    { type: 'mcp_tool_use', name: 'echo', server_name: 'sim', input: { a: 1 }, id: /^mcptoolu_svc_/ },
    { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'said' }] },
  ])
})

// ── What comes back ─────────────────────────────────────────────────────────

const resumed = (
  messages: readonly MessagesMessage[],
): { messages: readonly MessagesMessage[]; dropped: string[] } => {
  const dropped: string[] = []
  const { messages: told } = resumeMessages({ ...ASKED, messages }, CALLER, SEAL, dropped)
  return { messages: told, dropped }
}

const followUp = (
  content: readonly ContentBlock[],
  next: MessagesMessage['content'] = 'more',
): MessagesMessage[] => [...ASKED.messages, { role: 'assistant', content }, { role: 'user', content: next }]

/** Ids are told apart, not compared: those of the model are its own. */
function withPlainIds(messages: readonly MessagesMessage[]): unknown {
  const seen: string[] = []
  return JSON.parse(JSON.stringify(messages), (key, value: unknown) => {
    if ((key !== 'id' && key !== 'tool_use_id') || typeof value !== 'string') return value
    if (!seen.includes(value)) seen.push(value)
    return seen.indexOf(value)
  })
}

const TOLD: Readonly<Record<string, unknown>> = {
  web_search: {
    results: [{ title: 'A', url: 'https://a.example/', content: 'Words of A', page_age: 'today' }],
  },
  web_fetch: {
    url: 'https://a.example/',
    title: 'A',
    content: 'All of A',
    retrieved_at: '2026-01-01T00:00:00Z',
  },
  sim__echo: { origin: 'MCP server sim', text: 'said' },
}

/** The conversation of a loop as its last turn was asked, with results in the words in which they come back. */
function recalled(requests: readonly MessagesRequest[]): readonly MessagesMessage[] {
  const names = new Map<unknown, string>()
  return requests.at(-1)!.messages.map((message) => {
    if (typeof message.content === 'string') return message
    const content = message.content.map((block) => {
      if (block.type === 'tool_use') names.set(block.id, String(block.name))
      const told = block.is_error === true ? undefined : TOLD[names.get(block.tool_use_id) ?? '']
      return block.type === 'tool_result' && told !== undefined
        ? { ...block, content: JSON.stringify(told) }
        : block
    })
    return { ...message, content }
  })
}

const turnOf = fc
  .record({
    thinks: fc.boolean(),
    says: fc.constantFrom('', 'a', 'look at https://a.example/'),
    calls: fc.array(
      fc.record({
        name: fc.constantFrom('web_search', 'web_fetch', 'datetime', 'bash', 'sim__echo'),
        fails: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  })
  .map(({ thinks, says, calls }) => ({ thinks, says, calls }))

test('random turns: whole and streamed are equal, and what comes back is what the model was told', async (t) => {
  fc.assert(
    fc.property(fc.array(turnOf, { maxLength: 5 }), fc.boolean(), (scripted, isReversed) => {
      let id = 0
      const turns: ScriptedTurn[] = scripted.map(({ thinks, says, calls }) => ({
        stop: 'tool_use',
        content: [
          ...(thinks ? [thought] : []),
          text(says),
          ...calls.map(({ name, fails }) => call(`c${id++}`, name, fails ? { how: 'fail' } : {})),
        ],
      }))
      const options: PlayOptions = { isReversed }
      const { events, answer, requests, text: said } = play([...turns, END], options)
      t.strictSame(assembled(events), answer.content)
      t.equal(said, [...scripted.map(({ says }) => says), 'done'].join(''))
      const back = resumed(followUp(JSON.parse(JSON.stringify(answer.content))))
      t.strictSame(back.dropped, [])
      const history = recalled(requests)
      const asked = back.messages.slice(0, history.length)
      // Citations of ours are the gateway's; the text is the same.
      const plain = JSON.parse(JSON.stringify(asked), (key, value: unknown) =>
        key === 'citations' ? undefined : value,
      )
      t.strictSame(withPlainIds(plain), withPlainIds(history))
    }),
    { numRuns: 60 },
  )
})

test('results of ours stand in front of the caller’s own, in the message of the user', async (t) => {
  const turn = { content: [call('m', 'lookup'), call('c', 'datetime')], stop: 'tool_use' }
  const { answer } = play([turn])
  const own = { type: 'tool_result', tool_use_id: 'm', content: 'x' }
  const { messages, dropped } = resumed(followUp(answer.content, [own]))
  t.strictSame(dropped, [])
  t.equal(messages.length, 3)
  t.strictSame(typesOf(messages[1]!.content as ContentBlock[]), ['tool_use', 'tool_use'])
  const [ours, theirs] = messages[2]!.content as ContentBlock[]
  t.match(ours, { type: 'tool_result', tool_use_id: /^srvtoolu_svc_/ })
  t.strictSame(theirs, own)
})

test('a turn that was paused goes on when it is handed back', async (t) => {
  const { answer } = play([{ content: [call('c', 'web_search')], stop: 'tool_use' }], { end: 'paused' })
  const { messages } = resumed([...ASKED.messages, { role: 'assistant', content: answer.content }])
  t.strictSame(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user'],
  )
  t.match(messages[2]!.content, [{ type: 'tool_result', content: /Words of A/ }])
})

/** As a caller may change it: nobody checks what is in it. */
// biome-ignore lint/suspicious/noExplicitAny: members at any depth
type Loose = Record<string, any>

const change = (
  blocks: readonly ContentBlock[],
  type: string,
  edit: (block: Loose) => void,
): ContentBlock[] =>
  JSON.parse(JSON.stringify(blocks)).map((block: ContentBlock) => {
    if (block.type === type) edit(block as Record<string, unknown>)
    return block
  })

test('what was forged, altered or given to another workspace is dropped and named', async (t) => {
  const names = ['web_search', 'web_fetch', 'datetime', 'sim__echo']
  const { answer } = play([{ content: names.map((name, at) => call(`c${at}`, name)), stop: 'tool_use' }, END])
  const kinds = ['web_search_tool_result', 'web_fetch_tool_result', 'datetime_tool_result', 'mcp_tool_result']
  const edits: readonly (readonly [what: string, type: string, edit: (block: Loose) => void])[] = [
    [
      'the words of a search',
      kinds[0]!,
      ({ content }) =>
        (content[0].encrypted_content = `${Buffer.from('x').toString('base64url')}.${content[0].encrypted_content.split('.')[1]}`),
    ],
    ['its address', kinds[0]!, ({ content }) => (content[0].url = 'https://evil.example/')],
    ['a source more', kinds[0]!, ({ content }) => content.push({ ...content[0], title: 'B' })],
    ['no source at all', kinds[0]!, ({ content }) => content.pop()],
    ['an address that is no text', kinds[0]!, ({ content }) => (content[0].url = { toString: 1 })],
    ['a page', kinds[1]!, ({ content }) => (content.content.source.data = 'evil')],
    ['the time', kinds[2]!, ({ content }) => (content.stdout = '2')],
    ['no mark', kinds[2]!, (block) => delete block.service_mark],
    ['what a server said', kinds[3]!, ({ content }) => (content[0].text = 'evil')],
    ['an error that was none', kinds[3]!, (block) => (block.is_error = true)],
  ]
  for (const [what, type, edit] of edits) {
    const { messages, dropped } = resumed(followUp(change(answer.content, type, edit)))
    t.strictSame(dropped, [`messages.${type}`], what)
    t.equal((messages[1]!.content as ContentBlock[]).length, names.length - 1, `${what}: the others are kept`)
    t.notMatch(JSON.stringify(messages), /evil|_svc_.*service_mark/, what)
  }
  const input = change(answer.content, 'server_tool_use', (block) => (block.input = { query: 'evil' }))
  t.strictSame(
    resumed(followUp(input)).dropped.toSorted(),
    kinds
      .slice(0, 3)
      .map((kind) => `messages.${kind}`)
      .toSorted(),
  )
  const server = change(answer.content, 'mcp_tool_use', (block) => (block.server_name = 'evil'))
  t.strictSame(resumed(followUp(server)).dropped, ['messages.mcp_tool_result'])
  const dropped: string[] = []
  const other = { ...CALLER, workspaceId: 'ws-2' }
  const told = resumeMessages({ ...ASKED, messages: followUp(answer.content) }, other, SEAL, dropped)
  t.equal(dropped.length, kinds.length)
  t.strictSame(told.messages[1]!.content, [text('done')])
  const alone = resumed(followUp(answer.content.filter(({ type }) => !kinds.includes(type))))
  t.strictSame(alone.dropped, ['messages.server_tool_use', 'messages.mcp_tool_use'], 'calls without results')
  const twice = answer.content.flatMap((block) => [block, block])
  t.equal((resumed(followUp(twice)).messages[2]!.content as ContentBlock[]).length, names.length)
})

test('a search that found nothing comes back, and is not made up by others', async (t) => {
  const nothing: PlayOptions['answerTo'] = (made, offered) => {
    return { call: made, offered, content: { results: [] }, isError: false, citations: [] }
  }
  const turns = [{ content: [call('c', 'web_search')], stop: 'tool_use' }, END]
  const { answer } = play(turns, { answerTo: nothing })
  const kept = resumed(followUp(answer.content))
  t.strictSame(kept.dropped, [])
  t.match(kept.messages[2]!.content, [{ type: 'tool_result', content: '{"results":[]}' }])
  const edited = change(answer.content, 'server_tool_use', (block) => (block.name = 'other'))
  t.strictSame(resumed(followUp(edited)).dropped, ['messages.web_search_tool_result'])
})

test('what we have cited goes to no server, what it has cited goes back', async (t) => {
  const turns = [{ content: [call('c', 'web_search')], stop: 'tool_use' }]
  const { answer } = play([...turns, { content: [text('See https://a.example/ now')], stop: 'end_turn' }])
  const said = answer.content.at(-1)!
  t.match(said.citations, [{ url: 'https://a.example/' }])
  const theirs = { type: 'web_search_result_location', url: 'u', encrypted_index: 'x' }
  const both = { ...said, citations: [...(said.citations as object[]), theirs] }
  for (const content of [answer.content.with(-1, both), [both]])
    t.strictSame(resumed(followUp(content)).messages.at(-2)!.content, [{ ...said, citations: [theirs] }])
  t.strictSame(resumed(followUp([said])).messages[1]!.content, [text('See https://a.example/ now')])
})

test('what is dropped is named in a list that does not grow with what somebody makes up', async (t) => {
  const blocks = Array.from({ length: 100 }, (_, at) => ({
    type: `x${at}_tool_result`,
    tool_use_id: 'srvtoolu_svc_abcdefghij-_1234',
  }))
  t.equal(resumed(followUp(blocks)).dropped.length, 32)
})

test('blocks of a provider’s own tools are left as they are, and requests without ours are not copied', async (t) => {
  const native = [
    { type: 'server_tool_use', id: 'srvtoolu_01', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_01', content: [] },
  ]
  const request = { ...ASKED, messages: followUp(native) }
  t.equal(resumeMessages(request, CALLER, SEAL, []), request)
})

test('nothing that a caller makes of blocks ends in an exception, or gets past the mark', async (t) => {
  const id = fc.constantFrom('srvtoolu_svc_abcdefghij-_1234', 'mcptoolu_svc_abcdefghij-_1234', 'srvtoolu_01')
  const block = fc.record(
    {
      type: fc.constantFrom(
        'server_tool_use',
        'mcp_tool_use',
        'web_search_tool_result',
        'x_tool_result',
        'text',
      ),
      id: fc.oneof(id, fc.jsonValue(), fc.constant({ toString: 1 })),
      tool_use_id: fc.oneof(id, fc.jsonValue()),
      name: fc.oneof(fc.constant('web_search'), fc.jsonValue()),
      input: fc.jsonValue(),
      content: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record({ encrypted_content: fc.constant('a.b'), url: fc.constantFrom('u', { toString: 1 }) }),
        ),
      ),
      service_mark: fc.jsonValue(),
      text: fc.constant('x'),
    },
    { requiredKeys: ['type'] },
  )
  fc.assert(
    fc.property(fc.array(block, { maxLength: 6 }), (blocks) => {
      const { messages } = resumed(followUp(blocks as unknown as ContentBlock[]))
      t.notMatch(JSON.stringify(messages), /"type":"tool_result".*_svc_/)
    }),
    { numRuns: 300 },
  )
})
