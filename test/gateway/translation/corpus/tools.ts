/** Tools: what is offered, what was called, and what came of it. */
import type { ChatMessage, ToolCall } from '../../../../src/gateway/formats/canonical.js'
import type { ContentBlock, MessagesMessage } from '../../../../src/gateway/formats/messages.js'
import {
  CHAT_TOOL,
  type Conversation,
  call,
  HI,
  LINK,
  MESSAGES_TOOL,
  OTHER_CHAT_TOOL,
  OTHER_MESSAGES_TOOL,
  PNG,
  text,
} from './conversation.js'

const EPHEMERAL = { type: 'ephemeral' } as const
const CHAT = { tools: [CHAT_TOOL] } as const
const MESSAGES = { tools: [MESSAGES_TOOL] } as const

const use = (id: string, name: string, input: object): ContentBlock => ({ type: 'tool_use', id, name, input })
const asked = (content: string | null, ...calls: ToolCall[]): ChatMessage => ({
  role: 'assistant',
  content,
  tool_calls: calls,
})
const used = (...content: ContentBlock[]): MessagesMessage => ({ role: 'assistant', content })
const told = (id: string, content: Extract<ChatMessage, { role: 'tool' }>['content']): ChatMessage => ({
  role: 'tool',
  content,
  tool_call_id: id,
})
const result = (id: string, content: string | ContentBlock[], more: object = {}): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const user = (...content: ContentBlock[]): MessagesMessage => ({ role: 'user', content })

const SO = { role: 'user', content: 'so?' } as const
const BERN = { city: 'Bern', days: 2 }

/** A conversation that goes on so after its first words, with a tool. */
const inChat = (...messages: ChatMessage[]) => ({ ...CHAT, messages: [...HI, ...messages] })
const inMessages = (...messages: MessagesMessage[]) => ({ ...MESSAGES, messages: [...HI, ...messages] })

const CALLED = asked(null, call('c1', 'weather', BERN))
const USED = used(use('c1', 'weather', BERN))
/** A finished round of one call. */
const ROUND: readonly ChatMessage[] = [CALLED, told('c1', 'rain')]
const ROUND_MESSAGES: readonly MessagesMessage[] = [USED, user(result('c1', 'rain'))]

export const TOOLS: readonly Conversation[] = [
  { name: 'a tool', chat: CHAT, messages: MESSAGES, answer: 'call' },
  { name: 'a tool that is not used', chat: CHAT, messages: MESSAGES },
  { name: 'a tool, with words before the call', chat: CHAT, messages: MESSAGES, answer: 'text and call' },
  {
    name: 'several tools, one of them strict and kept',
    chat: {
      tools: [
        { ...CHAT_TOOL, function: { ...CHAT_TOOL.function, strict: true }, cache_control: EPHEMERAL },
        OTHER_CHAT_TOOL,
      ],
    },
    messages: { tools: [{ ...MESSAGES_TOOL, strict: true, cache_control: EPHEMERAL }, OTHER_MESSAGES_TOOL] },
    answer: 'parallel calls',
  },
  {
    name: 'a tool without parameters',
    chat: { tools: [{ type: 'function', function: { name: 'now' } }] },
    messages: { tools: [{ name: 'now', input_schema: { type: 'object' } }] },
    back: { tools: [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }] },
    answer: 'call without arguments',
  },
  {
    name: 'a tool whose schema leaves its type to be understood',
    chat: {
      tools: [{ type: 'function', function: { name: 'now', parameters: { properties: {} }, strict: null } }],
    },
    messages: { tools: [OTHER_MESSAGES_TOOL] },
    back: { tools: [OTHER_CHAT_TOOL] },
    answer: 'call without arguments',
  },
  {
    name: 'an empty list of tools',
    chat: {},
    messages: { tools: [], tool_choice: { type: 'auto' } },
    forth: {},
  },
  {
    name: 'a tool with members that only messages have',
    chat: CHAT,
    messages: {
      tools: [
        {
          ...MESSAGES_TOOL,
          type: 'custom',
          defer_loading: true,
          input_examples: [{ city: 'Bern' }],
          eager_input_streaming: true,
          allowed_callers: ['direct'],
        },
      ],
    },
    forth: MESSAGES,
    lost: { toChat: ['tools.defer_loading', 'tools.input_examples', 'tools.eager_input_streaming'] },
    answer: 'call',
  },
  {
    name: 'a choice left to the model',
    chat: { ...CHAT, tool_choice: 'auto' },
    messages: { ...MESSAGES, tool_choice: { type: 'auto' } },
    answer: 'text and call',
  },
  {
    name: 'no tool may be used',
    chat: { ...CHAT, tool_choice: 'none' },
    messages: { ...MESSAGES, tool_choice: { type: 'none' } },
  },
  {
    name: 'some tool must be used',
    chat: { ...CHAT, tool_choice: 'required' },
    messages: { ...MESSAGES, tool_choice: { type: 'any' } },
    answer: 'a call told as a stop',
  },
  {
    name: 'this tool must be used, and only once',
    chat: {
      ...CHAT,
      tool_choice: { type: 'function', function: { name: 'weather' } },
      parallel_tool_calls: false,
    },
    messages: {
      ...MESSAGES,
      tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true },
    },
    answer: 'call',
  },
  {
    name: 'one tool at a time',
    chat: { ...CHAT, parallel_tool_calls: false },
    messages: { ...MESSAGES, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    back: { ...CHAT, tool_choice: 'auto', parallel_tool_calls: false },
    answer: 'call',
  },
  {
    name: 'several tools at a time, which is the default',
    chat: { ...CHAT, parallel_tool_calls: true },
    messages: MESSAGES,
    back: CHAT,
    answer: 'parallel calls',
  },
  {
    name: 'a result',
    chat: inChat(...ROUND),
    messages: inMessages(...ROUND_MESSAGES),
  },
  {
    name: 'a call with words before it, and words after its result',
    chat: inChat(asked('Let me see.', call('c1', 'weather', BERN)), told('c1', 'rain'), SO),
    messages: inMessages(
      used(text('Let me see.'), use('c1', 'weather', BERN)),
      user(result('c1', 'rain')),
      SO,
    ),
  },
  {
    name: 'parallel calls and their results',
    chat: {
      messages: [
        ...HI,
        asked(
          null,
          call('c1', 'weather', BERN),
          call('c2', 'now', {}),
          call('c3', 'weather', { city: 'Basel' }),
        ),
        told('c1', 'rain'),
        told('c2', '12:00'),
        told('c3', 'sun'),
      ],
      tools: [CHAT_TOOL, OTHER_CHAT_TOOL],
    },
    messages: {
      messages: [
        ...HI,
        used(use('c1', 'weather', BERN), use('c2', 'now', {}), use('c3', 'weather', { city: 'Basel' })),
        user(result('c1', 'rain'), result('c2', '12:00'), result('c3', 'sun')),
      ],
      tools: [MESSAGES_TOOL, OTHER_MESSAGES_TOOL],
    },
    answer: 'parallel calls',
  },
  {
    name: 'two rounds of calls',
    chat: inChat(...ROUND, asked(null, call('c2', 'weather', BERN)), told('c2', 'snow')),
    messages: inMessages(...ROUND_MESSAGES, used(use('c2', 'weather', BERN)), user(result('c2', 'snow'))),
    answer: 'call',
  },
  {
    name: 'a result in parts, with a picture',
    chat: inChat(
      CALLED,
      told('c1', [
        text('a map', EPHEMERAL),
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
        { type: 'image_url', image_url: { url: LINK } },
      ]),
    ),
    messages: inMessages(
      USED,
      user(
        result('c1', [
          text('a map', EPHEMERAL),
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'image', source: { type: 'url', url: LINK } },
        ]),
      ),
    ),
    // A mark within a result is one of the result.
    forth: inMessages(
      USED,
      user(
        result(
          'c1',
          [
            text('a map'),
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            { type: 'image', source: { type: 'url', url: LINK } },
          ],
          { cache_control: EPHEMERAL },
        ),
      ),
    ),
  },
  {
    name: 'a result that is an error',
    chat: inChat(CALLED, told('c1', '[tool error] no such city')),
    messages: inMessages(USED, user(result('c1', 'no such city', { is_error: true }))),
    forth: inMessages(USED, user(result('c1', '[tool error] no such city'))),
  },
  {
    name: 'errors in parts and without words',
    chat: inChat(
      asked(null, call('c1', 'weather', BERN), call('c2', 'weather', BERN)),
      told('c1', '[tool error]'),
      told('c2', [text('[tool error]'), { type: 'image_url', image_url: { url: LINK } }]),
    ),
    messages: inMessages(
      used(use('c1', 'weather', BERN), use('c2', 'weather', BERN)),
      user(
        result('c1', '', { is_error: true }),
        result('c2', [{ type: 'image', source: { type: 'url', url: LINK } }], { is_error: true }),
      ),
    ),
    forth: inMessages(
      used(use('c1', 'weather', BERN), use('c2', 'weather', BERN)),
      user(
        result('c1', '[tool error]'),
        result('c2', [text('[tool error]'), { type: 'image', source: { type: 'url', url: LINK } }]),
      ),
    ),
  },
  {
    name: 'words beside a result',
    chat: inChat(...ROUND, { role: 'user', content: [text('so?')] }),
    messages: inMessages(USED, user(result('c1', 'rain'), text('so?'))),
    forth: inMessages(...ROUND_MESSAGES, user(text('so?'))),
  },
  {
    name: 'ids of letters that messages do not take',
    chat: inChat(
      asked(null, call('functions.weather:0', 'weather', BERN)),
      told('functions.weather:0', 'rain'),
    ),
    messages: inMessages(
      used(use('functions_2eweather_3a0', 'weather', BERN)),
      user(result('functions_2eweather_3a0', 'rain')),
    ),
    back: inChat(
      asked(null, call('functions_2eweather_3a0', 'weather', BERN)),
      told('functions_2eweather_3a0', 'rain'),
    ),
  },
  {
    name: 'a call without arguments in the history',
    chat: inChat(
      asked('', { id: 'c1', type: 'function', function: { name: 'now', arguments: '' } }),
      told('c1', '12:00'),
    ),
    messages: inMessages(used(use('c1', 'now', {})), user(result('c1', '12:00'))),
    back: inChat(asked(null, call('c1', 'now', {})), told('c1', '12:00')),
  },
]
