/** Blocks that chat has no kind for: what they say crosses in words, and what is lost on the way is named. */
import type { ContentPart } from '../../../../src/gateway/formats/canonical.js'
import type { ContentBlock } from '../../../../src/gateway/formats/messages.js'
import { type Conversation, call, HI, LINK, PDF, text } from './conversation.js'

const asked = (...content: ContentBlock[]) => ({ messages: [{ role: 'user', content }] }) as const
const heard = (...content: ContentPart[]) => ({ messages: [{ role: 'user', content }] }) as const
/** An answer of before. */
const replayed = (...content: ContentBlock[]) =>
  ({ messages: [...HI, { role: 'assistant', content }, ...HI] }) as const
const said = (...words: string[]) =>
  ({
    messages: [...HI, { role: 'assistant', content: words.map((one) => text(one)) }, ...HI],
  }) as const

interface Crossing {
  readonly name: string
  readonly messages: NonNullable<Conversation['messages']>
  readonly chat: Conversation['chat']
  /** What `chat` becomes in messages. */
  readonly forth: NonNullable<Conversation['messages']>
  readonly lost?: readonly string[]
}

const PDF_SOURCE = { type: 'base64', media_type: 'application/pdf', data: PDF }
const FILE: ContentPart = { type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}` } }

const ONE_WAY: readonly Crossing[] = [
  {
    name: 'a search result',
    messages: asked(
      {
        type: 'search_result',
        title: 'Bern',
        source: 'https://example.com/bern',
        content: [text('The capital.'), text('On the Aare.')],
        citations: { enabled: true },
      },
      text('where?'),
    ),
    chat: heard(text('Bern\nhttps://example.com/bern\n\nThe capital.\nOn the Aare.'), text('where?')),
    forth: asked(text('Bern\nhttps://example.com/bern\n\nThe capital.\nOn the Aare.'), text('where?')),
    lost: ['messages.search_result.citations'],
  },
  {
    name: 'a document to be cited, with what is told about it',
    messages: asked({
      type: 'document',
      source: PDF_SOURCE,
      context: 'from the archive',
      citations: { enabled: true },
    }),
    chat: heard(text('from the archive'), FILE),
    forth: asked(text('from the archive'), { type: 'document', source: PDF_SOURCE }),
    lost: ['messages.document.citations'],
  },
  {
    name: 'a document of blocks, kept',
    messages: asked({
      type: 'document',
      title: 'Notes',
      source: {
        type: 'content',
        content: [text('one'), { type: 'image', source: { type: 'url', url: LINK } }],
      },
      cache_control: { type: 'ephemeral' },
    }),
    chat: heard(text('Notes'), text('one'), {
      type: 'image_url',
      image_url: { url: LINK },
      cache_control: { type: 'ephemeral' },
    }),
    forth: asked(text('Notes'), text('one'), {
      type: 'image',
      source: { type: 'url', url: LINK },
      cache_control: { type: 'ephemeral' },
    }),
  },
  {
    name: 'a document of one text',
    messages: asked({ type: 'document', source: { type: 'content', content: 'x' } }),
    chat: heard(text('x')),
    forth: asked(text('x')),
  },
  {
    name: 'a tool that a search for tools has found',
    messages: {
      messages: [
        ...HI,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'find', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c1',
              content: [{ type: 'tool_reference', tool_name: 'weather' }],
            },
          ],
        },
      ],
    },
    chat: {
      messages: [
        ...HI,
        { role: 'assistant', content: null, tool_calls: [call('c1', 'find', {})] },
        { role: 'tool', tool_call_id: 'c1', content: [text('weather')] },
      ],
    },
    forth: {
      messages: [
        ...HI,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'find', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c1', content: [text('weather')] }],
        },
      ],
    },
  },
  {
    name: 'a search that the server made',
    messages: replayed(
      { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'Bern' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 's1',
        content: [
          { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'eA==' },
          { type: 'web_search_result', url: 'https://b.example', title: 'B', encrypted_content: 'eB==' },
        ],
      },
      { ...text('It is.'), citations: [{ type: 'web_search_result_location', url: 'https://a.example' }] },
    ),
    chat: said('[web_search] {"query":"Bern"}', 'A\nhttps://a.example\nB\nhttps://b.example', 'It is.'),
    forth: said('[web_search] {"query":"Bern"}', 'A\nhttps://a.example\nB\nhttps://b.example', 'It is.'),
    lost: ['messages.server_tool_use', 'messages.web_search_tool_result', 'messages.citations'],
  },
  {
    name: 'code that the server ran, and a page that it read',
    messages: replayed(
      {
        type: 'code_execution_tool_result',
        tool_use_id: 's1',
        content: { type: 'code_execution_result', stdout: '42\n', stderr: '', return_code: 0, content: [] },
      },
      {
        type: 'web_fetch_tool_result',
        tool_use_id: 's2',
        content: {
          type: 'web_fetch_result',
          url: 'https://a.example',
          content: { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'page' } },
        },
      },
    ),
    chat: said('42\n', 'https://a.example\npage'),
    forth: said('42\n', 'https://a.example\npage'),
    lost: ['messages.code_execution_tool_result', 'messages.web_fetch_tool_result'],
  },
  {
    name: 'a call of a tool server, and its result',
    messages: replayed(
      { type: 'mcp_tool_use', id: 'm1', name: 'echo', server_name: 'lab', input: { a: 1 } },
      { type: 'mcp_tool_result', tool_use_id: 'm1', is_error: false, content: [text('1')] },
    ),
    chat: said('[echo] {"a":1}', '1'),
    forth: said('[echo] {"a":1}', '1'),
    lost: ['messages.mcp_tool_use', 'messages.mcp_tool_result'],
  },
  {
    name: 'an answer of kinds that nobody knows',
    messages: replayed({ type: 'hologram', shape: 'x' }, { type: 'rhyme', text: 'a b a b' }),
    chat: said('a b a b'),
    forth: said('a b a b'),
    lost: ['messages.hologram', 'messages.rhyme'],
  },
  {
    name: 'an answer of nothing but a kind that nobody knows',
    messages: replayed({ type: 'hologram' }),
    chat: { messages: [...HI, { role: 'assistant', content: null }, ...HI] },
    forth: { messages: [...HI, ...HI] },
    lost: ['messages.hologram'],
  },
  {
    name: 'a history that was summarised: what stands before is not sent',
    messages: {
      messages: [
        ...HI,
        {
          role: 'assistant',
          content: [text('a'), { type: 'compaction', content: 'They said hi.', encrypted_content: 'eA==' }],
        },
        { role: 'assistant', content: [{ type: 'compaction', content: null }, text('Yes?')] },
        ...HI,
      ],
    },
    chat: {
      messages: [
        { role: 'assistant', content: [text('They said hi.')] },
        { role: 'assistant', content: [text('Yes?')] },
        ...HI,
      ],
    },
    forth: {
      messages: [
        { role: 'assistant', content: [text('They said hi.')] },
        { role: 'assistant', content: [text('Yes?')] },
        ...HI,
      ],
    },
    lost: ['messages.compaction.encrypted_content'],
  },
]

export const BLOCKS: readonly Conversation[] = [
  ...ONE_WAY.map(({ lost, ...one }) => (lost === undefined ? one : { ...one, lost: { toChat: lost } })),
  {
    name: 'some JSON',
    chat: { response_format: { type: 'json_object' } },
    messages: {
      system: 'Answer with one JSON object and nothing else: no words around it and no code fence.',
    },
    back: {
      messages: [
        {
          role: 'system',
          content: 'Answer with one JSON object and nothing else: no words around it and no code fence.',
        },
        ...HI,
      ],
    },
    lost: { toMessages: ['response_format.type'] },
    answer: 'json',
  },
  {
    name: 'some JSON, behind instructions that are kept',
    chat: {
      response_format: { type: 'json_object' },
      messages: [{ role: 'system', content: [text('Be brief.', { type: 'ephemeral' })] }, ...HI],
    },
    messages: {
      system: [
        text('Be brief.', { type: 'ephemeral' }),
        text('Answer with one JSON object and nothing else: no words around it and no code fence.'),
      ],
    },
    back: {
      messages: [
        {
          role: 'system',
          content: [
            text('Be brief.', { type: 'ephemeral' }),
            text('Answer with one JSON object and nothing else: no words around it and no code fence.'),
          ],
        },
        ...HI,
      ],
    },
    lost: { toMessages: ['response_format.type'] },
    answer: 'cited',
  },
]
