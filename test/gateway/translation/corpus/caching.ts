/** What is to be cached: marks of either format, and the wish for a whole conversation. */
import type { ContentPart } from '../../../../src/gateway/formats/canonical.js'
import { type Conversation, call, HI, LINK, MESSAGES_TOOL, text } from './conversation.js'

const EPHEMERAL = { type: 'ephemeral' } as const
const HOUR = { type: 'ephemeral', ttl: '1h' } as const
const BREAKPOINT = { mode: 'explicit' } as const
const cut = (words: string) => ({ ...text(words), prompt_cache_breakpoint: BREAKPOINT }) as const
const user = <T extends ContentPart>(...content: T[]) => ({ role: 'user', content }) as const
const CALLED = { role: 'assistant', content: null, tool_calls: [call('c1', 'now', {})] } as const
const USED = { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'now', input: {} }] } as const
const result = (more: object) =>
  ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', ...more }] }) as const

const MARKED_HI = { messages: [{ role: 'user', content: [text('hi', HOUR)] }] } as const

export const CACHING: readonly Conversation[] = [
  { name: 'the whole conversation kept', chat: { cache_control: HOUR }, forth: MARKED_HI },
  {
    name: 'the whole conversation kept, with all that may be',
    chat: {
      cache_control: EPHEMERAL,
      messages: [
        { role: 'system', content: 'Be brief.' },
        ...HI,
        { role: 'assistant', content: 'Hello.' },
        user(text('a'), text('b')),
        { role: 'assistant', content: 'Yes.' },
        ...HI,
      ],
      tools: [
        { type: 'function', function: { name: 'now', parameters: { type: 'object' } } },
        { type: 'function', function: { name: 'then', parameters: { type: 'object' } } },
      ],
    },
    messages: {
      cache_control: EPHEMERAL,
      system: 'Be brief.',
      messages: [
        ...HI,
        { role: 'assistant', content: 'Hello.' },
        user(text('a'), text('b')),
        { role: 'assistant', content: 'Yes.' },
        ...HI,
      ],
      tools: [
        { name: 'now', input_schema: { type: 'object' } },
        { name: 'then', input_schema: { type: 'object' } },
      ],
    },
    forth: {
      system: [text('Be brief.', EPHEMERAL)],
      messages: [
        ...HI,
        { role: 'assistant', content: 'Hello.' },
        user(text('a'), text('b', EPHEMERAL)),
        { role: 'assistant', content: 'Yes.' },
        user(text('hi', EPHEMERAL)),
      ],
      tools: [
        { name: 'now', input_schema: { type: 'object' } },
        { name: 'then', input_schema: { type: 'object' }, cache_control: EPHEMERAL },
      ],
    },
  },
  {
    name: 'the whole conversation kept, and a mark of the caller’s',
    chat: { cache_control: EPHEMERAL, messages: [user(text('a', HOUR), text('b'))] },
  },
  {
    name: 'breakpoints',
    chat: { messages: [user(cut('a'), text('b'))], prompt_cache_options: { mode: 'explicit', ttl: '1h' } },
    messages: { messages: [user(text('a', HOUR), text('b'))] },
    back: { messages: [user(text('a', HOUR), text('b'))] },
  },
  {
    name: 'a breakpoint on a picture, kept for half an hour',
    chat: {
      messages: [user({ type: 'image_url', image_url: { url: LINK }, prompt_cache_breakpoint: BREAKPOINT })],
      prompt_cache_options: { ttl: '30m' },
    },
    messages: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'url', url: LINK }, cache_control: EPHEMERAL }],
        },
      ],
    },
    back: {
      messages: [user({ type: 'image_url', image_url: { url: LINK }, cache_control: EPHEMERAL })],
    },
    lost: { toMessages: ['prompt_cache_options.ttl'] },
  },
  {
    name: 'more breakpoints than a server takes',
    chat: { messages: [user(cut('1'), cut('2'), cut('3'), cut('4'), cut('5'))] },
    messages: {
      messages: [user(text('1'), ...['2', '3', '4', '5'].map((words) => text(words, EPHEMERAL)))],
    },
    back: {
      messages: [user(text('1'), ...['2', '3', '4', '5'].map((words) => text(words, EPHEMERAL)))],
    },
    lost: { toMessages: ['messages.prompt_cache_breakpoint'] },
  },
  {
    name: 'more breakpoints than a server takes beside the other marks',
    chat: {
      cache_control: EPHEMERAL,
      messages: [user(cut('1'), text('2', HOUR), cut('3'), cut('4'))],
      tools: [
        { type: 'function', function: { name: 'now', parameters: { type: 'object' } }, cache_control: HOUR },
      ],
    },
    messages: {
      cache_control: EPHEMERAL,
      messages: [user(text('1'), text('2', HOUR), text('3'), text('4', EPHEMERAL))],
      tools: [{ name: 'now', input_schema: { type: 'object' }, cache_control: HOUR }],
    },
    back: {
      cache_control: EPHEMERAL,
      messages: [user(text('1'), text('2', HOUR), text('3'), text('4', EPHEMERAL))],
      tools: [
        { type: 'function', function: { name: 'now', parameters: { type: 'object' } }, cache_control: HOUR },
      ],
    },
    lost: { toMessages: ['messages.prompt_cache_breakpoint'] },
  },
  {
    name: 'a time for breakpoints, of which there are none',
    chat: { prompt_cache_options: { ttl: '1h' } },
    messages: {},
    back: {},
    lost: { toMessages: ['prompt_cache_options.ttl'] },
  },
  {
    name: 'nothing kept but what is marked, and nothing is',
    chat: { cache_control: EPHEMERAL, prompt_cache_options: { mode: 'explicit' } },
    messages: {},
    back: {},
    lost: { toMessages: ['cache_control'] },
  },
  {
    name: 'a breakpoint that the server chooses',
    chat: { prompt_cache_options: { mode: 'implicit', ttl: '1h' } },
    messages: MARKED_HI,
    back: { messages: [user(text('hi', HOUR))] },
  },
  {
    name: 'a result that is kept',
    chat: {
      messages: [
        ...HI,
        CALLED,
        { role: 'tool', tool_call_id: 'c1', content: [text('12', EPHEMERAL), text('h')] },
      ],
    },
    messages: {
      messages: [...HI, USED, result({ content: [text('12'), text('h')], cache_control: EPHEMERAL })],
    },
    back: {
      messages: [
        ...HI,
        CALLED,
        { role: 'tool', tool_call_id: 'c1', content: [text('12'), text('h', EPHEMERAL)] },
      ],
    },
  },
  {
    name: 'a result of one text that is kept',
    chat: {
      messages: [...HI, CALLED, { role: 'tool', tool_call_id: 'c1', content: [text('12 h', EPHEMERAL)] }],
    },
    messages: { messages: [...HI, USED, result({ content: '12 h', cache_control: EPHEMERAL })] },
    forth: {
      messages: [...HI, USED, result({ content: [text('12 h')], cache_control: EPHEMERAL })],
    },
  },
  {
    name: 'a call that is kept, for which chat has no place',
    chat: { messages: [...HI, CALLED] },
    messages: {
      messages: [...HI, { role: 'assistant', content: [{ ...USED.content[0], cache_control: EPHEMERAL }] }],
    },
    forth: { messages: [...HI, USED] },
    lost: { toChat: ['messages.tool_use.cache_control'] },
  },
  {
    name: 'a tool that comes later',
    chat: { cache_control: EPHEMERAL, tools: [{ type: 'function', function: { name: 'weather' } }] },
    messages: { cache_control: EPHEMERAL, tools: [{ ...MESSAGES_TOOL, defer_loading: true }] },
    forth: {
      messages: [user(text('hi', EPHEMERAL))],
      tools: [{ name: 'weather', input_schema: { type: 'object' }, cache_control: EPHEMERAL }],
    },
    back: {
      cache_control: EPHEMERAL,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Tells the weather',
            parameters: MESSAGES_TOOL.input_schema,
          },
        },
      ],
    },
    lost: { toChat: ['tools.defer_loading'] },
  },
]
