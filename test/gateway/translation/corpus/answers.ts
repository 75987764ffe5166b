/** Answers of the golden corpus in both formats. What one provider says, the caller of the other format hears. */
import type { AssistantMessage, FinishReason } from '../../../../src/gateway/formats/canonical.js'
import type { ContentBlock } from '../../../../src/gateway/formats/messages.js'
import { sealReasoning } from '../../../../src/gateway/translation/sealed-reasoning.js'
import { textBlock } from '../../../support/clients/messages-face-calls.js'
import type { WireAnswer } from '../../../support/providers/mock-anthropic.js'
import { call, detail, SIGNED_FORMAT, thinking } from './conversation.js'

export interface Said {
  /** The stop sequence that ended it. */
  readonly stopSequence?: string
  readonly message: Omit<AssistantMessage, 'role' | 'refusal'> & { readonly refusal?: string }
  readonly finish: FinishReason
}

type Wire = WireAnswer & { readonly stop_reason: string }

interface AnswerPair {
  readonly messages: Wire
  readonly chat: Said
  /** What `messages` becomes in chat, where that is not `chat`. */
  readonly heardAsChat?: Said
  /** What `chat` becomes in messages, where that is not `messages`. */
  readonly heardAsMessages?: Wire
}

const wire = (content: ContentBlock[], stop_reason: string, more: Partial<WireAnswer> = {}): Wire => ({
  content,
  stop_reason,
  ...more,
})
const said = (message: Said['message'], finish: FinishReason): Said => ({ message, finish })

const DIRECT = { type: 'direct' }
const use = (id: string, name: string, input: object): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
  caller: DIRECT,
})
/** Signed, and without a word. */
const UNSHOWN = { type: 'reasoning.text', signature: 'c2lnbmF0dXJl', format: SIGNED_FORMAT, index: 0 }
const encrypted = (index: number, data: string) => ({
  type: 'reasoning.encrypted',
  data,
  format: SIGNED_FORMAT,
  index,
})
const openAi = {
  type: 'reasoning.encrypted',
  data: 'b3RoZXI=',
  format: 'openai-responses-v1',
  id: 'rs_1',
  index: 0,
}

const location = (url: string, title: string, cited_text: string) => ({
  type: 'web_search_result_location',
  url,
  title,
  cited_text,
  encrypted_index: '',
})
const annotation = (url: string, title: string, content: string, start_index: number, end_index: number) => ({
  type: 'url_citation',
  url_citation: { url, title, start_index, end_index, content },
})

const LONG =
  'Ärger mit Zeichen: "quotes", \\backslashes\\, \u2028 lines,\nnew ones,\ttabs and 😀 faces. '.repeat(8)
const INPUT = { city: 'Zürich', days: 3, deep: { list: [1, 2.5, null, true, { 'odd "key"': '\n' }] } }

export const ANSWERS: Readonly<Record<string, AnswerPair>> = {
  text: {
    messages: wire([textBlock('Hello, how are you?')], 'end_turn'),
    chat: said({ content: 'Hello, how are you?' }, 'stop'),
  },
  'long text': { messages: wire([textBlock(LONG)], 'end_turn'), chat: said({ content: LONG }, 'stop') },
  nothing: { messages: wire([], 'end_turn'), chat: said({ content: null }, 'stop') },
  'cut off': {
    messages: wire([textBlock('Once upon')], 'max_tokens'),
    chat: said({ content: 'Once upon' }, 'length'),
  },
  'several texts': {
    messages: wire([textBlock('One. '), textBlock('Two.')], 'end_turn'),
    chat: said({ content: 'One. Two.' }, 'stop'),
    heardAsMessages: wire([textBlock('One. Two.')], 'end_turn'),
  },
  'stop sequence': {
    messages: wire([textBlock('One')], 'stop_sequence', { stop_sequence: 'END' }),
    chat: { ...said({ content: 'One' }, 'stop'), stopSequence: 'END' },
  },
  'context exceeded': {
    messages: wire([textBlock('One')], 'model_context_window_exceeded'),
    chat: said({ content: 'One' }, 'length'),
    heardAsMessages: wire([textBlock('One')], 'max_tokens'),
  },
  call: {
    messages: wire([use('toolu_1', 'weather', INPUT)], 'tool_use'),
    chat: said({ content: null, tool_calls: [call('toolu_1', 'weather', INPUT)] }, 'tool_calls'),
  },
  'call without arguments': {
    messages: wire([use('toolu_1', 'now', {})], 'tool_use'),
    chat: said({ content: null, tool_calls: [call('toolu_1', 'now', {})] }, 'tool_calls'),
  },
  'text and call': {
    messages: wire([textBlock('Let me see.'), use('toolu_1', 'weather', INPUT)], 'tool_use'),
    chat: said({ content: 'Let me see.', tool_calls: [call('toolu_1', 'weather', INPUT)] }, 'tool_calls'),
  },
  'parallel calls': {
    messages: wire(
      [
        use('toolu_1', 'weather', { city: 'Bern' }),
        use('toolu_2', 'now', {}),
        use('toolu_3', 'weather', INPUT),
      ],
      'tool_use',
    ),
    chat: said(
      {
        content: null,
        tool_calls: [
          call('toolu_1', 'weather', { city: 'Bern' }),
          call('toolu_2', 'now', {}),
          call('toolu_3', 'weather', INPUT),
        ],
      },
      'tool_calls',
    ),
  },
  'a call told as a stop': {
    messages: wire([use('toolu_1', 'now', {})], 'tool_use'),
    chat: said({ content: null, tool_calls: [call('toolu_1', 'now', {})] }, 'stop'),
    heardAsChat: said({ content: null, tool_calls: [call('toolu_1', 'now', {})] }, 'tool_calls'),
  },
  thinking: {
    messages: wire([thinking('Hmm, well.', 'c2lnbmF0dXJl'), textBlock('So.')], 'end_turn'),
    chat: said(
      {
        content: 'So.',
        reasoning: 'Hmm, well.',
        reasoning_details: [detail(0, 'Hmm, well.', 'c2lnbmF0dXJl')],
      },
      'stop',
    ),
  },
  'thinking that is not shown': {
    messages: wire([thinking('', 'c2lnbmF0dXJl'), textBlock('So.')], 'end_turn'),
    chat: said({ content: 'So.', reasoning_details: [UNSHOWN] }, 'stop'),
  },
  'redacted thinking': {
    messages: wire(
      [
        thinking('First.', 'czE='),
        { type: 'redacted_thinking', data: 'ZGF0YQ==' },
        thinking('Last.', 'czI='),
        textBlock('So.'),
      ],
      'end_turn',
    ),
    chat: said(
      {
        content: 'So.',
        reasoning: 'First.Last.',
        reasoning_details: [
          detail(0, 'First.', 'czE='),
          encrypted(1, 'ZGF0YQ=='),
          detail(2, 'Last.', 'czI='),
        ],
      },
      'stop',
    ),
  },
  'thinking and calls': {
    messages: wire(
      [
        thinking('I need both.', 'czE='),
        textBlock('Both then.'),
        use('toolu_1', 'weather', INPUT),
        use('toolu_2', 'now', {}),
      ],
      'tool_use',
    ),
    chat: said(
      {
        content: 'Both then.',
        reasoning: 'I need both.',
        reasoning_details: [detail(0, 'I need both.', 'czE=')],
        tool_calls: [call('toolu_1', 'weather', INPUT), call('toolu_2', 'now', {})],
      },
      'tool_calls',
    ),
  },
  'unsigned reasoning': {
    messages: wire([thinking('Hmm.', 'czE='), textBlock('So.')], 'end_turn'),
    chat: said({ content: 'So.', reasoning: 'Hmm.' }, 'stop'),
    heardAsChat: said(
      { content: 'So.', reasoning: 'Hmm.', reasoning_details: [detail(0, 'Hmm.', 'czE=')] },
      'stop',
    ),
    heardAsMessages: wire([thinking('Hmm.', ''), textBlock('So.')], 'end_turn'),
  },
  'reasoning of another provider': {
    messages: wire([textBlock('So.')], 'end_turn'),
    chat: said(
      {
        content: 'So.',
        reasoning_details: [
          openAi,
          { type: 'reasoning.summary', summary: 'Short.', format: 'openai-responses-v1', index: 1 },
        ],
      },
      'stop',
    ),
    heardAsChat: said({ content: 'So.' }, 'stop'),
    heardAsMessages: wire(
      [
        { type: 'redacted_thinking', data: sealReasoning(openAi) },
        thinking(
          'Short.',
          sealReasoning({ format: 'openai-responses-v1', index: 1, type: 'reasoning.summary' }),
        ),
        textBlock('So.'),
      ],
      'end_turn',
    ),
  },
  refusal: {
    messages: wire([], 'refusal', {
      stop_details: { type: 'refusal', category: null, explanation: 'I will not.' },
    }),
    chat: said({ content: null, refusal: 'I will not.' }, 'content_filter'),
  },
  'refusal without a word': {
    messages: wire([textBlock('To build')], 'refusal', {
      stop_details: { type: 'refusal', category: null, explanation: null },
    }),
    chat: said({ content: 'To build' }, 'content_filter'),
  },
  'refusal told as a stop': {
    messages: wire([textBlock('No')], 'refusal', { stop_details: null }),
    chat: said({ content: null, refusal: 'Sorry.' }, 'stop'),
    heardAsChat: said({ content: 'No' }, 'content_filter'),
    heardAsMessages: wire([], 'refusal', {
      stop_details: { type: 'refusal', category: null, explanation: 'Sorry.' },
    }),
  },
  cited: {
    messages: wire(
      [
        {
          ...textBlock('Bern is the capital.'),
          citations: [location('https://a.example', 'A', 'the capital')],
        },
      ],
      'end_turn',
    ),
    chat: said(
      {
        content: 'Bern is the capital.',
        annotations: [annotation('https://a.example', 'A', 'the capital', 0, 20)],
      },
      'stop',
    ),
  },
  json: {
    messages: wire([textBlock('{"answer":42}')], 'end_turn'),
    chat: said({ content: '{"answer":42}' }, 'stop'),
  },
}
