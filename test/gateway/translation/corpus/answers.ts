/** Answers of the golden corpus in both formats. What one provider says, the caller of the other format hears. */
import type { AssistantMessage, FinishReason } from '../../../../src/gateway/formats/canonical.js'
import type { ContentBlock } from '../../../../src/gateway/formats/messages.js'
import { sealReasoning } from '../../../../src/gateway/translation/sealed-reasoning.js'
import { textBlock } from '../../../support/clients/messages-face-calls.js'
import type { WireAnswer } from '../../../support/providers/mock-anthropic.js'

export interface Said {
  readonly message: Omit<AssistantMessage, 'role' | 'refusal'> & { readonly refusal?: string }
  readonly finish: FinishReason
}

interface AnswerPair {
  readonly messages: WireAnswer & { readonly stop_reason: string }
  readonly chat: Said
  /** What `messages` becomes in chat, where that is not `chat`. */
  readonly heardAsChat?: Said
  /** What `chat` becomes in messages, where that is not `messages`. */
  readonly heardAsMessages?: WireAnswer & { readonly stop_reason: string }
}

const DIRECT = { type: 'direct' }
const use = (id: string, name: string, input: object): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
  caller: DIRECT,
})
const call = (
  id: string,
  name: string,
  input: object,
): NonNullable<AssistantMessage['tool_calls']>[number] => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
})
const thinking = (text: string, signature: string): ContentBlock => ({
  type: 'thinking',
  thinking: text,
  signature,
})
const thought = (index: number, text: string, signature: string) => ({
  type: 'reasoning.text',
  text,
  signature,
  format: 'anthropic-claude-v1',
  index,
})
/** Signed, and without a word. */
const UNSHOWN = { type: 'reasoning.text', signature: 'c2lnbmF0dXJl', format: 'anthropic-claude-v1', index: 0 }
const encrypted = (index: number, data: string) => ({
  type: 'reasoning.encrypted',
  data,
  format: 'anthropic-claude-v1',
  index,
})
const openAi = {
  type: 'reasoning.encrypted',
  data: 'b3RoZXI=',
  format: 'openai-responses-v1',
  id: 'rs_1',
  index: 0,
}

const LONG =
  'Ärger mit Zeichen: "quotes", \\backslashes\\, \u2028 lines,\nnew ones,\ttabs and 😀 faces. '.repeat(8)
const INPUT = { city: 'Zürich', days: 3, deep: { list: [1, 2.5, null, true, { 'odd "key"': '\n' }] } }

export const ANSWERS: Readonly<Record<string, AnswerPair>> = {
  text: {
    messages: { content: [textBlock('Hello, how are you?')], stop_reason: 'end_turn' },
    chat: { message: { content: 'Hello, how are you?' }, finish: 'stop' },
  },
  'long text': {
    messages: { content: [textBlock(LONG)], stop_reason: 'end_turn' },
    chat: { message: { content: LONG }, finish: 'stop' },
  },
  nothing: {
    messages: { content: [], stop_reason: 'end_turn' },
    chat: { message: { content: null }, finish: 'stop' },
  },
  'cut off': {
    messages: { content: [textBlock('Once upon')], stop_reason: 'max_tokens' },
    chat: { message: { content: 'Once upon' }, finish: 'length' },
  },
  'several texts': {
    messages: { content: [textBlock('One. '), textBlock('Two.')], stop_reason: 'end_turn' },
    chat: { message: { content: 'One. Two.' }, finish: 'stop' },
    heardAsMessages: { content: [textBlock('One. Two.')], stop_reason: 'end_turn' },
  },
  'stop sequence': {
    messages: { content: [textBlock('One')], stop_reason: 'stop_sequence', stop_sequence: 'END' },
    chat: { message: { content: 'One' }, finish: 'stop' },
    heardAsMessages: { content: [textBlock('One')], stop_reason: 'end_turn' },
  },
  'context exceeded': {
    messages: { content: [textBlock('One')], stop_reason: 'model_context_window_exceeded' },
    chat: { message: { content: 'One' }, finish: 'length' },
    heardAsMessages: { content: [textBlock('One')], stop_reason: 'max_tokens' },
  },
  call: {
    messages: { content: [use('toolu_1', 'weather', INPUT)], stop_reason: 'tool_use' },
    chat: {
      message: { content: null, tool_calls: [call('toolu_1', 'weather', INPUT)] },
      finish: 'tool_calls',
    },
  },
  'call without arguments': {
    messages: { content: [use('toolu_1', 'now', {})], stop_reason: 'tool_use' },
    chat: { message: { content: null, tool_calls: [call('toolu_1', 'now', {})] }, finish: 'tool_calls' },
  },
  'text and call': {
    messages: {
      content: [textBlock('Let me see.'), use('toolu_1', 'weather', INPUT)],
      stop_reason: 'tool_use',
    },
    chat: {
      message: { content: 'Let me see.', tool_calls: [call('toolu_1', 'weather', INPUT)] },
      finish: 'tool_calls',
    },
  },
  'parallel calls': {
    messages: {
      content: [
        use('toolu_1', 'weather', { city: 'Bern' }),
        use('toolu_2', 'now', {}),
        use('toolu_3', 'weather', INPUT),
      ],
      stop_reason: 'tool_use',
    },
    chat: {
      message: {
        content: null,
        tool_calls: [
          call('toolu_1', 'weather', { city: 'Bern' }),
          call('toolu_2', 'now', {}),
          call('toolu_3', 'weather', INPUT),
        ],
      },
      finish: 'tool_calls',
    },
  },
  'a call told as a stop': {
    messages: { content: [use('toolu_1', 'now', {})], stop_reason: 'tool_use' },
    chat: { message: { content: null, tool_calls: [call('toolu_1', 'now', {})] }, finish: 'stop' },
    heardAsChat: {
      message: { content: null, tool_calls: [call('toolu_1', 'now', {})] },
      finish: 'tool_calls',
    },
  },
  thinking: {
    messages: {
      content: [thinking('Hmm, well.', 'c2lnbmF0dXJl'), textBlock('So.')],
      stop_reason: 'end_turn',
    },
    chat: {
      message: {
        content: 'So.',
        reasoning: 'Hmm, well.',
        reasoning_details: [thought(0, 'Hmm, well.', 'c2lnbmF0dXJl')],
      },
      finish: 'stop',
    },
  },
  'thinking that is not shown': {
    messages: { content: [thinking('', 'c2lnbmF0dXJl'), textBlock('So.')], stop_reason: 'end_turn' },
    chat: { message: { content: 'So.', reasoning_details: [UNSHOWN] }, finish: 'stop' },
  },
  'redacted thinking': {
    messages: {
      content: [
        thinking('First.', 'czE='),
        { type: 'redacted_thinking', data: 'ZGF0YQ==' },
        thinking('Last.', 'czI='),
        textBlock('So.'),
      ],
      stop_reason: 'end_turn',
    },
    chat: {
      message: {
        content: 'So.',
        reasoning: 'First.Last.',
        reasoning_details: [
          thought(0, 'First.', 'czE='),
          encrypted(1, 'ZGF0YQ=='),
          thought(2, 'Last.', 'czI='),
        ],
      },
      finish: 'stop',
    },
  },
  'thinking and calls': {
    messages: {
      content: [
        thinking('I need both.', 'czE='),
        textBlock('Both then.'),
        use('toolu_1', 'weather', INPUT),
        use('toolu_2', 'now', {}),
      ],
      stop_reason: 'tool_use',
    },
    chat: {
      message: {
        content: 'Both then.',
        reasoning: 'I need both.',
        reasoning_details: [thought(0, 'I need both.', 'czE=')],
        tool_calls: [call('toolu_1', 'weather', INPUT), call('toolu_2', 'now', {})],
      },
      finish: 'tool_calls',
    },
  },
  'unsigned reasoning': {
    messages: { content: [thinking('Hmm.', 'czE='), textBlock('So.')], stop_reason: 'end_turn' },
    chat: { message: { content: 'So.', reasoning: 'Hmm.' }, finish: 'stop' },
    heardAsChat: {
      message: { content: 'So.', reasoning: 'Hmm.', reasoning_details: [thought(0, 'Hmm.', 'czE=')] },
      finish: 'stop',
    },
    heardAsMessages: { content: [thinking('Hmm.', ''), textBlock('So.')], stop_reason: 'end_turn' },
  },
  'reasoning of another provider': {
    messages: { content: [textBlock('So.')], stop_reason: 'end_turn' },
    chat: {
      message: {
        content: 'So.',
        reasoning_details: [
          openAi,
          { type: 'reasoning.summary', summary: 'Short.', format: 'openai-responses-v1', index: 1 },
        ],
      },
      finish: 'stop',
    },
    heardAsChat: { message: { content: 'So.' }, finish: 'stop' },
    heardAsMessages: {
      content: [
        { type: 'redacted_thinking', data: sealReasoning(openAi) },
        thinking(
          'Short.',
          sealReasoning({ format: 'openai-responses-v1', index: 1, type: 'reasoning.summary' }),
        ),
        textBlock('So.'),
      ],
      stop_reason: 'end_turn',
    },
  },
  refusal: {
    messages: {
      content: [],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation: 'I will not.' },
    },
    chat: { message: { content: null, refusal: 'I will not.' }, finish: 'content_filter' },
  },
  'refusal without a word': {
    messages: {
      content: [textBlock('To build')],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation: null },
    },
    chat: { message: { content: 'To build' }, finish: 'content_filter' },
  },
  'refusal told as a stop': {
    messages: { content: [textBlock('No')], stop_reason: 'refusal', stop_details: null },
    chat: { message: { content: null, refusal: 'Sorry.' }, finish: 'stop' },
    heardAsChat: { message: { content: 'No' }, finish: 'content_filter' },
    heardAsMessages: {
      content: [],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation: 'Sorry.' },
    },
  },
  json: {
    messages: { content: [textBlock('{"answer":42}')], stop_reason: 'end_turn' },
    chat: { message: { content: '{"answer":42}' }, finish: 'stop' },
  },
}
