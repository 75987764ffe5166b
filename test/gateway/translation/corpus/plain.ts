/** Words only: who says what, and how the answer is to be. */
import { type Conversation, HI } from './conversation.js'

const turn = (role: 'user' | 'assistant', content: string) => ({ role, content }) as const
const SYSTEM = { role: 'system', content: 'Be brief.' } as const
const EPHEMERAL = { type: 'ephemeral' } as const
const HOUR = { type: 'ephemeral', ttl: '1h' } as const

export const PLAIN: readonly Conversation[] = [
  { name: 'one question', chat: { messages: HI }, messages: { messages: HI }, answer: 'text' },
  {
    name: 'a conversation of several turns',
    chat: { messages: [turn('user', 'a'), turn('assistant', 'b'), turn('user', 'c')] },
    messages: { messages: [turn('user', 'a'), turn('assistant', 'b'), turn('user', 'c')] },
    answer: 'long text',
  },
  {
    name: 'two questions in a row',
    chat: { messages: [turn('user', 'a'), turn('user', 'b')] },
    messages: { messages: [turn('user', 'a'), turn('user', 'b')] },
    answer: 'several texts',
  },
  {
    name: 'an instruction',
    chat: { messages: [SYSTEM, ...HI] },
    messages: { system: 'Be brief.', messages: HI },
    answer: 'text',
  },
  {
    name: 'an instruction of the developer',
    chat: { messages: [{ role: 'developer', content: 'Be brief.' }, ...HI] },
    messages: { system: 'Be brief.', messages: HI },
    back: { messages: [SYSTEM, ...HI] },
    answer: 'text',
  },
  {
    name: 'an instruction in parts, one of them kept',
    chat: {
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'Long.', cache_control: HOUR },
            { type: 'text', text: 'Short.' },
          ],
        },
        ...HI,
      ],
    },
    messages: {
      system: [
        { type: 'text', text: 'Long.', cache_control: HOUR },
        { type: 'text', text: 'Short.' },
      ],
      messages: HI,
    },
    answer: 'text',
  },
  {
    name: 'two instructions at the head',
    chat: { messages: [SYSTEM, { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] }, ...HI] },
    messages: {
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: HI,
    },
    back: {
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'Be brief.' },
            { type: 'text', text: 'Be kind.' },
          ],
        },
        ...HI,
      ],
    },
    answer: 'text',
  },
  {
    name: 'an instruction in the middle',
    chat: { messages: [turn('user', 'a'), turn('assistant', 'b'), SYSTEM, turn('user', 'c')] },
    messages: { messages: [turn('user', 'a'), turn('assistant', 'b'), SYSTEM, turn('user', 'c')] },
    answer: 'text',
  },
  {
    name: 'an instruction of the developer in the middle, in parts',
    chat: {
      messages: [
        turn('user', 'a'),
        { role: 'developer', content: [{ type: 'text', text: 'Mind.' }] },
        turn('user', 'c'),
      ],
    },
    messages: {
      messages: [
        turn('user', 'a'),
        { role: 'system', content: [{ type: 'text', text: 'Mind.' }] },
        turn('user', 'c'),
      ],
    },
    back: {
      messages: [
        turn('user', 'a'),
        { role: 'system', content: [{ type: 'text', text: 'Mind.' }] },
        turn('user', 'c'),
      ],
    },
    answer: 'text',
  },
  {
    name: 'an empty instruction says nothing',
    chat: { messages: [{ role: 'system', content: '' }, ...HI] },
    messages: { messages: HI },
    back: { messages: HI },
    answer: 'text',
  },
  {
    name: 'names',
    chat: { messages: [{ role: 'user', content: 'hi', name: 'Ada' }] },
    messages: { messages: HI },
    back: { messages: HI },
    lost: { toMessages: ['messages.name'] },
    answer: 'text',
  },
  {
    name: 'a begun answer',
    chat: { messages: [...HI, turn('assistant', 'The answer is (')] },
    messages: { messages: [...HI, turn('assistant', 'The answer is (')] },
    answer: 'text',
  },
  {
    name: 'parts, an empty one among them',
    chat: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a', cache_control: EPHEMERAL },
            { type: 'text', text: '' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    },
    messages: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a', cache_control: EPHEMERAL },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    },
    back: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a', cache_control: EPHEMERAL },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    },
    answer: 'text',
  },
  {
    name: 'an answer that said nothing',
    chat: { messages: [...HI, turn('assistant', ''), turn('user', 'well?')] },
    messages: { messages: [...HI, turn('user', 'well?')] },
    back: { messages: [...HI, turn('user', 'well?')] },
    answer: 'nothing',
  },
  {
    name: 'a refusal in the history',
    chat: { messages: [...HI, { role: 'assistant', content: null, refusal: 'No.' }, turn('user', 'why?')] },
    messages: {
      messages: [
        ...HI,
        { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
        turn('user', 'why?'),
      ],
    },
    back: {
      messages: [
        ...HI,
        { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
        turn('user', 'why?'),
      ],
    },
    answer: 'refusal',
  },
  {
    name: 'the whole conversation kept',
    chat: { messages: HI, cache_control: HOUR },
    messages: { messages: HI, cache_control: HOUR },
    answer: 'text',
  },
  {
    name: 'sampling',
    chat: { messages: HI, temperature: 0.3, top_p: 0.9, top_k: 5 },
    messages: { messages: HI, temperature: 0.3, top_p: 0.9, top_k: 5 },
    answer: 'text',
  },
  {
    name: 'a temperature beyond the scale, and no limit of candidates',
    chat: { messages: HI, temperature: 1.6, top_k: 0 },
    messages: { messages: HI, temperature: 1 },
    back: { messages: HI, temperature: 1 },
    lost: { toMessages: ['temperature'] },
    answer: 'text',
  },
  {
    name: 'stop sequences',
    chat: { messages: HI, stop: ['END', '\n\n'] },
    messages: { messages: HI, stop_sequences: ['END', '\n\n'] },
    answer: 'stop sequence',
  },
  {
    name: 'one stop sequence',
    chat: { messages: HI, stop: 'END' },
    messages: { messages: HI, stop_sequences: ['END'] },
    back: { messages: HI, stop: ['END'] },
    answer: 'stop sequence',
  },
  {
    name: 'a limit under its newer name',
    chat: { messages: HI, max_completion_tokens: 100 },
    messages: { messages: HI },
    back: { messages: HI },
    answer: 'cut off',
  },
  {
    name: 'figures that only chat has',
    chat: {
      messages: HI,
      seed: 1,
      frequency_penalty: 0.5,
      presence_penalty: 0,
      min_p: 0.1,
      repetition_penalty: 1,
      logit_bias: { '5': 1 },
      prompt_cache_key: 'k',
      prediction: { type: 'content', content: 'x' },
    },
    messages: { messages: HI },
    back: { messages: HI },
    lost: {
      toMessages: ['seed', 'frequency_penalty', 'min_p', 'logit_bias', 'prompt_cache_key', 'prediction'],
    },
    answer: 'context exceeded',
  },
  {
    name: 'figures that only messages have',
    chat: { messages: HI },
    messages: {
      messages: HI,
      speed: 'fast',
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      output_config: { task_budget: { type: 'tokens', total: 20_000 } },
    },
    forth: { messages: HI },
    lost: { toChat: ['speed', 'context_management', 'output_config.task_budget'] },
    answer: 'refusal without a word',
  },
  {
    name: 'no preference for speed',
    chat: { messages: HI, service_tier: 'default' },
    messages: { messages: HI, service_tier: 'standard_only' },
    answer: 'text',
  },
  {
    name: 'any tier',
    chat: { messages: HI, service_tier: 'auto' },
    messages: { messages: HI, service_tier: 'auto' },
    answer: 'refusal told as a stop',
  },
  {
    name: 'how wordy the answer is to be',
    chat: { messages: HI, verbosity: 'low' },
    messages: { messages: HI, output_config: { effort: 'low' } },
    answer: 'text',
  },
]
