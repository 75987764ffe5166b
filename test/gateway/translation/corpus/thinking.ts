/** Thinking: how much of it, what was thought before, and answers that keep to a schema. */
import type { ChatMessage, ChatRequest } from '../../../../src/gateway/formats/canonical.js'
import type { ContentBlock, MessagesMessage } from '../../../../src/gateway/formats/messages.js'
import { sealReasoning } from '../../../../src/gateway/translation/sealed-reasoning.js'
import {
  CHAT_TOOL,
  type Conversation,
  call,
  detail,
  HI,
  MESSAGES_TOOL,
  SIGNED_FORMAT,
  text,
  thinking,
} from './conversation.js'

const said = (...content: ContentBlock[]): MessagesMessage => ({ role: 'assistant', content })
const TEXT = text('So.')
const MORE = { role: 'user', content: 'and?' } as const

const OTHER = {
  type: 'reasoning.encrypted',
  data: 'eA==',
  id: 'rs_1',
  format: 'openai-responses-v1',
  index: 0,
}
const SUMMARY = { type: 'reasoning.summary', summary: 'Short.', format: 'openai-responses-v1', index: 1 }

const SCHEMA = {
  type: 'object',
  properties: { answer: { type: 'integer' } },
  required: ['answer'],
  additionalProperties: false,
} as const

type AssistantMembers = Omit<ChatMessage & { readonly role: 'assistant' }, 'role' | 'content'>
const SO = { role: 'assistant', content: 'So.' } as const
/** The assistant has said so, with this beside it, and the user goes on. */
const answered = (more: AssistantMembers) => ({ messages: [...HI, { ...SO, ...more }, MORE] })
const thought = (...content: ContentBlock[]) => ({ messages: [...HI, said(...content, TEXT), MORE] })

type JsonSchema = Extract<NonNullable<ChatRequest['response_format']>, { type: 'json_schema' }>['json_schema']
const asReply = (json_schema: JsonSchema) =>
  ({ response_format: { type: 'json_schema', json_schema } }) as const
const asOutput = (schema: Readonly<Record<string, unknown>>) =>
  ({ output_config: { format: { type: 'json_schema', schema } } }) as const

export const THINKING: readonly Conversation[] = [
  {
    name: 'a budget for thinking',
    chat: { reasoning: { max_tokens: 2048 } },
    messages: { thinking: { type: 'enabled', budget_tokens: 2048 } },
    answer: 'thinking',
  },
  {
    name: 'a budget below the least there is',
    chat: { reasoning: { max_tokens: 100 } },
    messages: { thinking: { type: 'enabled', budget_tokens: 1024 } },
    back: { reasoning: { max_tokens: 1024 } },
    lost: { toMessages: ['reasoning.max_tokens'] },
    answer: 'thinking',
  },
  {
    name: 'an effort',
    chat: { reasoning: { effort: 'high' } },
    messages: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    answer: 'redacted thinking',
  },
  {
    name: 'an effort in its short form',
    chat: { reasoning_effort: 'xhigh' },
    messages: { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
    back: { reasoning: { effort: 'xhigh' } },
    answer: 'thinking',
  },
  {
    name: 'the least effort',
    chat: { reasoning: { effort: 'minimal' } },
    messages: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    back: { reasoning: { effort: 'low' } },
    lost: { toMessages: ['reasoning.effort'] },
    answer: 'unsigned reasoning',
  },
  {
    name: 'an effort that an instruction changes on the way',
    chat: {
      messages: [
        ...HI,
        { role: 'system', content: 'Think.', configuration_update: { reasoning: { effort: 'max' } } },
        MORE,
      ],
      reasoning: { effort: 'low' },
    },
    messages: {
      messages: [...HI, { role: 'system', content: 'Think.' }, MORE],
      thinking: { type: 'adaptive' },
      output_config: { effort: 'max' },
    },
    back: { messages: [...HI, { role: 'system', content: 'Think.' }, MORE], reasoning: { effort: 'max' } },
    answer: 'thinking',
  },
  {
    name: 'no thinking',
    chat: { reasoning: { effort: 'none' } },
    messages: { thinking: { type: 'disabled' } },
  },
  {
    name: 'thinking switched off',
    chat: { reasoning: { enabled: false } },
    messages: { thinking: { type: 'disabled' } },
    back: { reasoning: { effort: 'none' } },
  },
  {
    name: 'thinking as the model likes',
    chat: { reasoning: { enabled: true } },
    messages: { thinking: { type: 'adaptive' } },
    answer: 'thinking and calls',
  },
  {
    name: 'thinking that is not to be shown',
    chat: { reasoning: { effort: 'medium', exclude: true } },
    messages: { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'medium' } },
    answer: 'thinking that is not shown',
  },
  {
    name: 'thinking in summary, beside a wordy answer',
    chat: { reasoning: { max_tokens: 4096, summary: 'auto' }, verbosity: 'high' },
    messages: {
      thinking: { type: 'enabled', budget_tokens: 4096, display: 'summarized' },
      output_config: { effort: 'high' },
    },
    answer: 'thinking',
  },
  {
    name: 'sampling while thinking',
    chat: { reasoning: { effort: 'low' }, temperature: 0.2, top_p: 0.5, top_k: 9 },
    messages: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    back: { reasoning: { effort: 'low' } },
    lost: { toMessages: ['temperature', 'top_p', 'top_k'] },
    answer: 'reasoning of another provider',
  },
  {
    name: 'what was thought before',
    chat: answered({ reasoning: 'Hm.', reasoning_details: [detail(0, 'Hm.', 'czE=')] }),
    messages: thought(thinking('Hm.', 'czE=')),
    answer: 'thinking',
  },
  {
    name: 'what was thought before a call, some of it hidden',
    chat: {
      messages: [
        ...HI,
        {
          role: 'assistant',
          content: null,
          reasoning: 'Hm.',
          reasoning_details: [
            detail(0, 'Hm.', 'czE='),
            { type: 'reasoning.encrypted', data: 'eA==', format: SIGNED_FORMAT, index: 1 },
          ],
          tool_calls: [call('c1', 'weather', { city: 'Bern' })],
        },
        { role: 'tool', content: 'rain', tool_call_id: 'c1' },
      ],
      tools: [CHAT_TOOL],
    },
    messages: {
      messages: [
        ...HI,
        said(
          thinking('Hm.', 'czE='),
          { type: 'redacted_thinking', data: 'eA==' },
          { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Bern' } },
        ),
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'rain' }] },
      ],
      tools: [MESSAGES_TOOL],
    },
    answer: 'thinking and calls',
  },
  {
    name: 'what another provider thought goes back to it unchanged',
    chat: answered({ reasoning: 'Short.', reasoning_details: [OTHER, SUMMARY] }),
    messages: thought(
      { type: 'redacted_thinking', data: sealReasoning(OTHER) },
      thinking(
        'Short.',
        sealReasoning({ format: 'openai-responses-v1', index: 1, type: 'reasoning.summary' }),
      ),
    ),
    forth: answered({}),
    lost: { toMessages: ['messages.reasoning_details'] },
    answer: 'reasoning of another provider',
  },
  {
    name: 'thinking that nobody signed',
    chat: answered({ reasoning: 'Hm.' }),
    messages: answered({}),
    back: answered({}),
    lost: { toMessages: ['messages.reasoning'] },
    answer: 'unsigned reasoning',
  },
  {
    name: 'an answer that keeps to a schema',
    chat: asReply({ name: 'reply', description: 'A reply', schema: SCHEMA, strict: true }),
    messages: asOutput({ ...SCHEMA, title: 'reply', description: 'A reply' }),
    answer: 'json',
  },
  {
    name: 'a schema that has no name chat could use',
    chat: asReply({ name: 'answer', schema: { ...SCHEMA, title: 'What it is' }, strict: true }),
    messages: asOutput({ ...SCHEMA, title: 'What it is' }),
    lost: { toMessages: ['response_format.json_schema.name'] },
    answer: 'json',
  },
  {
    name: 'a schema that need not be kept to the letter',
    chat: asReply({ name: 'reply', schema: SCHEMA, strict: false }),
    messages: asOutput({ ...SCHEMA, title: 'reply' }),
    back: asReply({ name: 'reply', schema: SCHEMA, strict: true }),
    lost: { toMessages: ['response_format.json_schema.strict'] },
    answer: 'json',
  },
  {
    name: 'text, which is the default',
    chat: { response_format: { type: 'text' }, modalities: ['text'] },
    messages: {},
    back: {},
  },
]
