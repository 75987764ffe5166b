/** The simulated models that need no configuration, as the configuration file would declare them. */
import { VOICES } from './audio/synthesis.js'
import type { Behaviour, SimulatedFault } from './behaviour.js'

/** An entry of `models` in the configuration file. */
interface BuiltInModel {
  readonly name: string
  readonly description: string
  readonly context_length: number
  readonly max_completion_tokens: number
  readonly supported_parameters: readonly string[]
  /** Text to text when absent. */
  readonly input_modalities?: readonly string[]
  readonly output_modalities?: readonly string[]
  readonly supported_voices?: readonly string[]
  /** Made up, so that routers can be tried; models without are taken by none of them. */
  readonly quality?: Readonly<Record<'overall' | 'coding', number>>
  readonly tier?: 'low' | 'medium' | 'high'
  readonly endpoints: readonly [SimulatedEndpoint]
}

interface SimulatedEndpoint {
  readonly provider: 'sim'
  /** Dollars per unit, as decimal texts. */
  readonly prices: Readonly<Record<string, string>>
  readonly simulation: Behaviour
}

const PARAMETERS = [
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'min_p',
  'parallel_tool_calls',
  'presence_penalty',
  'repetition_penalty',
  'response_format',
  'seed',
  'stop',
  'structured_outputs',
  'temperature',
  'tool_choice',
  'tools',
  'top_a',
  'top_k',
  'top_logprobs',
  'top_p',
] as const

const WITH_REASONING = [...PARAMETERS, 'include_reasoning', 'reasoning', 'reasoning_effort'].sort()

const LOW_PRICES = { prompt: '0.0000001', completion: '0.0000004', input_cache_read: '0.00000001' }
const STANDARD_PRICES = { prompt: '0.000001', completion: '0.000004', input_cache_read: '0.0000001' }

/** A model of chat, cheap and with a large context; `changes` replaces members. */
function chatModel(
  name: string,
  description: string,
  simulation: Behaviour,
  prices: SimulatedEndpoint['prices'] = LOW_PRICES,
  changes: Partial<BuiltInModel> = {},
): BuiltInModel {
  return {
    name,
    description,
    context_length: 1_048_576,
    max_completion_tokens: 65_536,
    supported_parameters: PARAMETERS,
    endpoints: [{ provider: 'sim', prices, simulation }],
    ...changes,
  }
}

/** Reasoning of the models that reason only when asked to. */
const OPTIONAL_REASONING = {
  reasoning_tokens: { uniform: [8, 24] },
  reasons: 'asked',
} as const satisfies Behaviour
const FAST_PACE = { first_token_ms: { constant: 20 }, gap_ms: { constant: 5 } } as const satisfies Behaviour
const STANDARD_PACE = {
  first_token_ms: { log_normal: { median: 300, p99: 1200 } },
  gap_ms: { log_normal: { median: 20, p99: 60 } },
} as const satisfies Behaviour

/** One model per fault: what stands behind `sim/fault-`, what it does, and the fault. */
const FAULT_MODELS: readonly (readonly [name: string, description: string, fault: SimulatedFault])[] = [
  ['rate-limited', '429 with Retry-After of 3 s.', { kind: 'rate-limited', retry_after: 3 }],
  ['rate-limited-bare', '429 without Retry-After.', { kind: 'rate-limited' }],
  ['error', '500 at every call.', { kind: 'error' }],
  ['flap', '503 at every other call of a worker, beginning with the first.', { kind: 'flap' }],
  ['refused', 'The connection is refused.', { kind: 'refused' }],
  ['reset', 'The connection is reset before the head of the answer.', { kind: 'reset' }],
  ['silence', 'Never answers; times out after 2 s.', { kind: 'silence', limit_ms: 2000 }],
  ['slow-first-token', 'The first token takes 20 s.', { kind: 'slow-first-token', delay_ms: 20_000 }],
  ['cut', 'The connection is cut after 5 tokens.', { kind: 'cut', after: 5 }],
  [
    'stall',
    'Stops after 5 tokens; times out after 2 s of silence.',
    { kind: 'stall', after: 5, limit_ms: 2000 },
  ],
  ['malformed', 'The event behind 5 tokens is no JSON.', { kind: 'malformed', after: 5 }],
  ['no-terminator', 'The answer is whole, but its terminator is missing.', { kind: 'no-terminator' }],
  ['context-length', 'Refuses every prompt as too long.', { kind: 'context-length' }],
  [
    'content-filter',
    'The content filter ends the answer after 8 tokens.',
    { kind: 'content-filter', after: 8 },
  ],
]

/** By id. Except for its fault a fault model is like `sim/fast`, with 32 tokens. */
export const BUILT_IN_MODELS: Readonly<Record<string, BuiltInModel>> = {
  'sim/instant': chatModel(
    'Simulated: Instant',
    'Answers without any delay, as long as the request asks (32 tokens when it says nothing). For measurements. An answer has at most 131,072 tokens, and at most 50,000 log probabilities, alternatives included.',
    { tokens: 'request', ...OPTIONAL_REASONING },
    LOW_PRICES,
    {
      context_length: 16_777_216,
      max_completion_tokens: 131_072,
      supported_parameters: WITH_REASONING,
    },
  ),
  'sim/fast': chatModel(
    'Simulated: Fast',
    'First token after 20 ms, then one every 5 ms.',
    { ...FAST_PACE, tokens: { uniform: [16, 64] }, ...OPTIONAL_REASONING },
    LOW_PRICES,
    { supported_parameters: WITH_REASONING, quality: { overall: 0.4, coding: 0.3 }, tier: 'low' },
  ),
  'sim/standard': chatModel(
    'Simulated: Standard',
    'First token log-normal with median 300 ms and p99 1200 ms, gaps with median 20 ms and p99 60 ms.',
    { ...STANDARD_PACE, tokens: { log_normal: { median: 64, p99: 256 } }, ...OPTIONAL_REASONING },
    STANDARD_PRICES,
    { supported_parameters: WITH_REASONING, quality: { overall: 0.6, coding: 0.6 }, tier: 'medium' },
  ),
  'sim/reasoner': chatModel(
    'Simulated: Reasoner',
    'Reasons before it answers, unless the request says not to; paced like the standard model.',
    {
      ...STANDARD_PACE,
      gap_ms: { log_normal: { median: 10, p99: 40 } },
      tokens: { log_normal: { median: 48, p99: 192 } },
      reasoning_tokens: { log_normal: { median: 48, p99: 192 } },
    },
    STANDARD_PRICES,
    { supported_parameters: WITH_REASONING, quality: { overall: 0.8, coding: 0.9 }, tier: 'high' },
  ),
  'sim/overloaded': chatModel(
    'Simulated: Overloaded',
    'Overloaded for half of all prompts (503 or 529), otherwise like the fast model. An equal request always meets the same fate.',
    { ...FAST_PACE, tokens: { uniform: [16, 64] }, fault: { kind: 'overloaded', share: 0.5 } },
  ),
  'sim/filemaker': chatModel(
    'Simulated: File maker',
    'Makes a file of the last user message: of a sound or a file in it as it is, otherwise of its text. The answer names it in an annotation; it can be downloaded.',
    { ...FAST_PACE, tokens: { uniform: [8, 16] }, makes_file: true },
    LOW_PRICES,
    { input_modalities: ['text', 'audio', 'file'], output_modalities: ['text'] },
  ),
  'sim/painter': chatModel(
    'Simulated: Painter',
    'Paints a PNG that follows from the prompt and the seed; `image_config` may say its size (`512x256`) or aspect ratio (`16:9`). What the tool image_generation asks for simulated models.',
    { ...FAST_PACE, tokens: { uniform: [4, 8] }, paints: true },
    { ...LOW_PRICES, output_image: '0.01' },
    { input_modalities: ['text'], output_modalities: ['text', 'image'] },
  ),
  'sim/agent': chatModel(
    'Simulated: Agent',
    'Calls the tools that lines of the user message name, turn by turn (`call service:web_search {"query":"…"}`), and then tells what they said.',
    { ...FAST_PACE, agent: true, ...OPTIONAL_REASONING },
    LOW_PRICES,
    { supported_parameters: WITH_REASONING },
  ),
  'sim/judge': chatModel(
    'Simulated: Judge',
    'Says which rules a text breaks: those with a word in double quotes that the text holds, and those whose name it holds behind `judge:`. What the plugins moderation, alignment and switchyard-router ask for simulated models.',
    { ...FAST_PACE, judge: true },
  ),
  'sim/speech': chatModel(
    'Simulated: Speech',
    'Speaks in tones, with the text inside for sim/transcribe. Up to 4,096 characters.',
    {},
    { input_character: '0.000015' },
    {
      context_length: 4096,
      max_completion_tokens: 4096,
      supported_parameters: ['speed'],
      input_modalities: ['text'],
      output_modalities: ['speech'],
      supported_voices: VOICES,
    },
  ),
  'sim/transcribe': chatModel(
    'Simulated: Transcription',
    'Gives back the text of what sim/speech has said, as PCM, WAV or MP3; for other sounds it makes something up.',
    {},
    { audio_second: '0.0001' },
    {
      context_length: 16_777_216,
      max_completion_tokens: 131_072,
      supported_parameters: ['diarize', 'keyterms'],
      input_modalities: ['audio'],
      output_modalities: ['transcription'],
    },
  ),
  'sim/embed': chatModel(
    'Simulated: Embeddings',
    'Unit vectors that follow from the words: texts that share words lie close together. 256 dimensions, or up to 4,096 as asked.',
    {},
    { prompt: '0.00000002' },
    {
      context_length: 8192,
      max_completion_tokens: 8192,
      supported_parameters: ['dimensions'],
      input_modalities: ['text'],
      output_modalities: ['embeddings'],
    },
  ),
  ...Object.fromEntries(
    FAULT_MODELS.map(([name, description, fault]) => [
      `sim/fault-${name}`,
      chatModel(`Simulated fault: ${name}`, description, { ...FAST_PACE, tokens: { constant: 32 }, fault }),
    ]),
  ),
}
