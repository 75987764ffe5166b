/** Words only: who says what, and how the answer is to be. */
import { type Conversation, HI, text } from './conversation.js'

const turn = (role: 'user' | 'assistant', content: string) => ({ role, content }) as const
const SYSTEM = { role: 'system', content: 'Be brief.' } as const
const EPHEMERAL = { type: 'ephemeral' } as const
const HOUR = { type: 'ephemeral', ttl: '1h' } as const

export const PLAIN: readonly Conversation[] = [
  { name: 'one question', chat: {} },
  {
    name: 'a conversation of several turns',
    chat: { messages: [turn('user', 'a'), turn('assistant', 'b'), turn('user', 'c')] },
    answer: 'long text',
  },
  {
    name: 'two questions in a row',
    chat: { messages: [turn('user', 'a'), turn('user', 'b')] },
    answer: 'several texts',
  },
  { name: 'an instruction', chat: { messages: [SYSTEM, ...HI] }, messages: { system: 'Be brief.' } },
  {
    name: 'an instruction of the developer',
    chat: { messages: [{ role: 'developer', content: 'Be brief.' }, ...HI] },
    messages: { system: 'Be brief.' },
    back: { messages: [SYSTEM, ...HI] },
  },
  {
    name: 'an instruction in parts, one of them kept',
    chat: { messages: [{ role: 'system', content: [text('Long.', HOUR), text('Short.')] }, ...HI] },
    messages: { system: [text('Long.', HOUR), text('Short.')] },
  },
  {
    name: 'two instructions at the head',
    chat: { messages: [SYSTEM, { role: 'developer', content: [text('Be kind.')] }, ...HI] },
    messages: { system: [text('Be brief.'), text('Be kind.')] },
    back: { messages: [{ role: 'system', content: [text('Be brief.'), text('Be kind.')] }, ...HI] },
  },
  {
    name: 'an instruction in the middle',
    chat: { messages: [turn('user', 'a'), turn('assistant', 'b'), SYSTEM, turn('user', 'c')] },
  },
  {
    name: 'an instruction of the developer in the middle, in parts',
    chat: {
      messages: [turn('user', 'a'), { role: 'developer', content: [text('Mind.')] }, turn('user', 'c')],
    },
    messages: {
      messages: [turn('user', 'a'), { role: 'system', content: [text('Mind.')] }, turn('user', 'c')],
    },
    back: { messages: [turn('user', 'a'), { role: 'system', content: [text('Mind.')] }, turn('user', 'c')] },
  },
  {
    name: 'an empty instruction says nothing',
    chat: { messages: [{ role: 'system', content: '' }, ...HI] },
    messages: {},
    back: {},
  },
  {
    name: 'names',
    chat: { messages: [{ role: 'user', content: 'hi', name: 'Ada' }] },
    messages: {},
    back: {},
    lost: { toMessages: ['messages.name'] },
  },
  { name: 'a begun answer', chat: { messages: [...HI, turn('assistant', 'The answer is (')] } },
  {
    name: 'parts, an empty one among them',
    chat: { messages: [{ role: 'user', content: [text('a', EPHEMERAL), text(''), text('b')] }] },
    messages: { messages: [{ role: 'user', content: [text('a', EPHEMERAL), text('b')] }] },
    back: { messages: [{ role: 'user', content: [text('a', EPHEMERAL), text('b')] }] },
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
    messages: { messages: [...HI, { role: 'assistant', content: [text('No.')] }, turn('user', 'why?')] },
    back: { messages: [...HI, { role: 'assistant', content: [text('No.')] }, turn('user', 'why?')] },
    answer: 'refusal',
  },
  { name: 'sampling', chat: { temperature: 0.3, top_p: 0.9, top_k: 5 } },
  {
    name: 'a temperature beyond the scale, and no limit of candidates',
    chat: { temperature: 1.6, top_k: 0 },
    messages: { temperature: 1 },
    back: { temperature: 1 },
    lost: { toMessages: ['temperature'] },
  },
  {
    name: 'stop sequences',
    chat: { stop: ['END', '\n\n'] },
    messages: { stop_sequences: ['END', '\n\n'] },
    answer: 'stop sequence',
  },
  {
    name: 'one stop sequence',
    chat: { stop: 'END' },
    messages: { stop_sequences: ['END'] },
    back: { stop: ['END'] },
    answer: 'stop sequence',
  },
  {
    name: 'a limit under its newer name',
    chat: { max_completion_tokens: 100 },
    messages: {},
    back: {},
    answer: 'cut off',
  },
  {
    name: 'figures that only chat has',
    chat: {
      seed: 1,
      frequency_penalty: 0.5,
      presence_penalty: 0,
      min_p: 0.1,
      repetition_penalty: 1,
      logit_bias: { '5': 1 },
      prompt_cache_key: 'k',
      prediction: { type: 'content', content: 'x' },
    },
    messages: {},
    back: {},
    lost: {
      toMessages: ['seed', 'frequency_penalty', 'min_p', 'logit_bias', 'prompt_cache_key', 'prediction'],
    },
    answer: 'context exceeded',
  },
  {
    name: 'figures that only messages have',
    chat: {},
    messages: {
      speed: 'fast',
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      output_config: { task_budget: { type: 'tokens', total: 20_000 } },
    },
    forth: {},
    lost: { toChat: ['speed', 'context_management', 'output_config.task_budget'] },
    answer: 'refusal without a word',
  },
  {
    name: 'no preference for speed',
    chat: { service_tier: 'default' },
    messages: { service_tier: 'standard_only' },
  },
  { name: 'any tier', chat: { service_tier: 'auto' }, answer: 'refusal told as a stop' },
  {
    name: 'how wordy the answer is to be',
    chat: { verbosity: 'low' },
    messages: { output_config: { effort: 'low' } },
  },
]
