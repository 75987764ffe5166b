/** Content blocks, what they must have and where they may stand (contract/gateway 5.5; contract/decisions 34). */
import { test } from 'tap'
import { GIF, JPEG, PDF, PNG, refusal, WEBP, withBlock, withMessages, withSaid } from './messages-bodies.js'

const image = (media_type: string, data: string): object => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})
const document = (source: object, more: object = {}): object => ({ type: 'document', source, ...more })
const TEXT = { type: 'text', text: 'a' }

const TAKEN: readonly (readonly [what: string, block: object])[] = [
  ['text', { ...TEXT, citations: null, cache_control: { type: 'ephemeral' } }],
  ['text with citations', { ...TEXT, citations: [{ type: 'char_location', cited_text: 'x' }] }],
  ['a PNG', image('image/png', PNG)],
  ['a JPEG', image('image/jpeg', JPEG)],
  ['a GIF', image('image/gif', GIF)],
  ['a WebP', image('image/webp', WEBP)],
  ['a picture by its address', { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } }],
  ['a picture by its file', { type: 'image', source: { type: 'file', file_id: 'file_1' } }],
  [
    'a PDF',
    document(
      { type: 'base64', media_type: 'application/pdf', data: PDF },
      { title: null, context: 'c', citations: { enabled: true } },
    ),
  ],
  ['a text document', document({ type: 'text', media_type: 'text/plain', data: 'abc' })],
  ['a document of blocks', document({ type: 'content', content: [TEXT, image('image/png', PNG)] })],
  ['a document of one text', document({ type: 'content', content: 'abc' })],
  ['a document by its address', document({ type: 'url', url: 'http://a.example/b.pdf' })],
  ['a document by its file', document({ type: 'file', file_id: 'f' })],
  [
    'a search result',
    { type: 'search_result', title: 't', source: 's', content: [TEXT], citations: { enabled: false } },
  ],
  ['an upload to a container', { type: 'container_upload', file_id: 'f' }],
  ['members of later versions', { ...TEXT, later: { a: 1 } }],
]

for (const [what, block] of TAKEN) {
  test(`a user may send ${what}`, async (t) => {
    t.equal(refusal(withBlock(block)), null)
  })
}

const SAID: readonly object[] = [
  { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 }, caller: { type: 'direct' } },
  { type: 'tool_use', id: 't1', name: 'f' },
  { type: 'thinking', thinking: '', signature: '' },
  { type: 'redacted_thinking', data: 'x' },
  { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
  { type: 'web_search_tool_result', tool_use_id: 's1', content: [{ type: 'web_search_result', url: 'u' }] },
  {
    type: 'web_search_tool_result',
    tool_use_id: 's1',
    content: { type: 'web_search_tool_result_error', error_code: 'x' },
  },
  { type: 'web_fetch_tool_result', tool_use_id: 's1', content: {} },
  { type: 'code_execution_tool_result', tool_use_id: 's1', content: {} },
  { type: 'bash_code_execution_tool_result', tool_use_id: 's1', content: {} },
  { type: 'text_editor_code_execution_tool_result', tool_use_id: 's1', content: {} },
  { type: 'tool_search_tool_result', tool_use_id: 's1', content: {} },
  { type: 'advisor_tool_result', tool_use_id: 's1', content: {} },
  { type: 'openrouter_shell_tool_result', tool_use_id: 's1', content: {} },
  { type: 'service_bash_tool_result', tool_use_id: 's1', content: {} },
  { type: 'compaction', content: null, encrypted_content: 'x' },
  { type: 'compaction', content: 'c' },
  { type: 'mcp_tool_use', id: 'm1', name: 'n', server_name: 's', input: {} },
  { type: 'mcp_tool_result', tool_use_id: 'm1', is_error: true, content: [{ type: 'text', text: 'x' }] },
  { type: 'a_kind_of_next_year', whatever: { it: ['holds'] } },
]

test('everything an answer may hold may be sent back', async (t) => {
  for (const block of SAID) t.equal(refusal(withSaid(block)), null, JSON.stringify(block))
})

const PLACE = 'messages.0.content.0'

const base64 = (media_type: string, data: string): object => document({ type: 'base64', media_type, data })

const REFUSED: readonly (readonly [what: string, block: object, said: string])[] = [
  ['no kind', { text: 'a' }, '.type: is required'],
  [
    'a call of a tool server',
    { type: 'mcp_tool_use', id: 'a', name: 'b' },
    '.type: can only stand in a message',
  ],
  ['a kind without a name', { type: '' }, '.type: '],
  ['text without text', { type: 'text' }, '.text: is required'],
  ['a picture without a source', { type: 'image' }, '.source: is required'],
  ['a picture of another type', image('image/bmp', PNG), '.source.media_type: must be one of'],
  ['a picture that is no base64', image('image/png', 'not base64!'), '.source.data: must be base64'],
  ['an empty picture', image('image/png', ''), '.source.data: must be base64 and not empty'],
  ['a picture whose type lies', image('image/jpeg', PNG), '.source: has a media_type that contradicts'],
  [
    'a picture that is none',
    image('image/png', Buffer.from('no picture at all').toString('base64')),
    '.source: has a media_type',
  ],
  [
    'a picture from a file system',
    { type: 'image', source: { type: 'url', url: 'file:///etc/passwd' } },
    '.source.url: must be an http',
  ],
  ['a PDF that is a picture', base64('application/pdf', PNG), '.source: has a media_type'],
  ['a PDF of another type', base64('application/msword', PDF), '.source.media_type: '],
  ['a PDF that is no base64', base64('application/pdf', '***'), '.source.data: '],
  [
    'a text document of another type',
    document({ type: 'text', media_type: 'text/html', data: 'a' }),
    '.source.media_type: ',
  ],
  ['a document of an unknown source', document({ type: 'ftp' }), '.source.type: '],
  [
    'a document in a document',
    document({ type: 'content', content: [document({ type: 'file', file_id: 'f' })] }),
    '.source.content.0.type: ',
  ],
  [
    'a search result without its text',
    { type: 'search_result', title: 't', source: 's' },
    '.content: is required',
  ],
  [
    'a cache mark of an unknown kind',
    { ...TEXT, cache_control: { type: 'forever' } },
    '.cache_control.type: ',
  ],
  [
    'a call of a tool',
    { type: 'tool_use', id: 'a', name: 'b', input: {} },
    '.type: can only stand in a message of the assistant',
  ],
  ['thinking', { type: 'thinking', thinking: 'a', signature: 'b' }, '.type: can only stand'],
  [
    'a result without its call',
    { type: 'tool_result', tool_use_id: 'nobody' },
    '.tool_use_id: answers no tool_use',
  ],
  ['no object', 'text' as unknown as object, ': must be an object'],
]

for (const [what, block, said] of REFUSED) {
  test(`a user may not send ${what}`, async (t) => {
    const sentence = refusal(withBlock(block))
    t.ok(sentence?.startsWith(PLACE + said), String(sentence))
  })
}

const CALL = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] }
const result = (more: object): object => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 't1', ...more }],
})
const HI = { role: 'user', content: 'hi' }

test('a result stands behind its call, with texts, pictures, documents and errors in it', async (t) => {
  for (const more of [
    {},
    { content: 'x', is_error: true },
    {
      content: [
        TEXT,
        image('image/png', PNG),
        document({ type: 'text', media_type: 'text/plain', data: 'a' }),
      ],
    },
    {
      content: [
        { type: 'tool_reference', tool_name: 'f' },
        { type: 'search_result', title: 't', source: 's', content: [TEXT] },
      ],
    },
  ]) {
    t.equal(refusal(withMessages(HI, CALL, result(more))), null, JSON.stringify(more))
  }
  t.match(
    refusal(withMessages(HI, result({}), CALL)),
    /^messages\.1\.content\.0\.tool_use_id: answers no tool_use/,
  )
  t.match(
    refusal(withMessages(HI, CALL, result({ content: [{ type: 'thinking' }] }))),
    /^messages\.2\.content\.0\.content\.0\.type: /,
  )
  t.match(refusal(withMessages(HI, CALL, result({ is_error: 'no' }))), /is_error: /)
  t.match(
    refusal(
      withMessages(HI, CALL, { role: 'assistant', content: [{ type: 'tool_result', tool_use_id: 't1' }] }),
    ),
    /^messages\.2\.content\.0\.type: cannot stand in a message of the assistant/,
  )
})

test('the result of a call that a server ran answers no call of the caller', async (t) => {
  const said = {
    role: 'assistant',
    content: [{ type: 'server_tool_use', id: 't1', name: 'web_search', input: {} }],
  }
  t.match(refusal(withMessages(HI, said, result({}))), /tool_use_id: answers no tool_use/)
})

test('a system message may stand in the middle, with text and changes of tools', async (t) => {
  const system = (content: unknown): object => withMessages(HI, { role: 'system', content }, HI)
  for (const content of [
    'from here on be brief',
    [TEXT],
    [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'f' } }],
    [{ type: 'tool_removal', tool: { type: 'mcp_tool_reference', name: 'f', server_name: 's' } }],
    [{ type: 'tool_removal', tool: { type: 'mcp_toolset_reference', server_name: 's' } }],
  ]) {
    t.equal(refusal(system(content)), null, JSON.stringify(content))
  }
  t.match(refusal(system([image('image/png', PNG)])), /^messages\.1\.content\.0\.type: /)
  t.match(refusal(system([{ type: 'tool_addition', tool: { type: 'x' } }])), /tool\.type: /)
})

test('messages have a role, a content, and little else that is checked', async (t) => {
  const one = (message: unknown): string | null => refusal(withMessages(message as object))
  t.match(one({ role: 'robot', content: 'x' }), /^messages\.0\.role: must be one of user, assistant, system/)
  t.match(one({ content: 'x' }), /^messages\.0\.role: is required/)
  t.match(one({ role: 'user' }), /^messages\.0\.content: is required/)
  t.match(one({ role: 'user', content: null }), /^messages\.0\.content: /)
  t.match(one({ role: 'user', content: 7 }), /^messages\.0\.content: must be a string or an array/)
  t.match(one('x'), /^messages\.0: must be an object/)
  t.equal(one({ role: 'user', content: [], clear_at: 'never', output_config: { effort: 'low' } }), null)
  t.match(one({ role: 'user', content: 'x', clear_at: 'now' }), /clear_at: /)
  t.match(one({ role: 'user', content: 'x', output_config: { effort: 'none' } }), /output_config\.effort: /)
})

test('a block that is nested without end is refused, not the stack exhausted', async (t) => {
  let inner: object = {}
  for (let level = 0; level < 20_000; level++) inner = { inner }
  t.match(
    refusal(withSaid({ type: 'tool_use', id: 'a', name: 'b', input: inner })),
    /^messages: must not be nested/,
  )
})
