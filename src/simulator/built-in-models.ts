import { VOICES } from './audio/synthesis.js'
import type { Behaviour, SimulatedFault } from './behaviour.js'

/** A simulated model that needs no configuration. */
interface SimulatedModel {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly contextLength: number
  readonly maxCompletionTokens: number
  readonly supportedParameters: readonly string[]
  /** Dollars per token, as decimal texts. */
  readonly prices: Readonly<Record<string, string>>
  readonly simulation: Behaviour
  /** Text to text when absent. */
  readonly modalities?: { readonly input: readonly string[]; readonly output: readonly string[] }
  readonly voices?: readonly string[]
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

const LOW_PRICES = { prompt: '0.0000001', completion: '0.0000004', input_cache_read: '0.00000001' } as const
const STANDARD_PRICES = { prompt: '0.000001', completion: '0.000004', input_cache_read: '0.0000001' } as const

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

const FAULTLESS_MODELS: readonly SimulatedModel[] = [
  {
    id: 'sim/instant',
    name: 'Simulated: Instant',
    description:
      'Answers without any delay, as long as the request asks (32 tokens when it says nothing). For measurements. An answer has at most 131,072 tokens, and at most 50,000 log probabilities, alternatives included.',
    contextLength: 16_777_216,
    maxCompletionTokens: 131_072,
    supportedParameters: WITH_REASONING,
    prices: LOW_PRICES,
    simulation: { tokens: 'request', ...OPTIONAL_REASONING },
  },
  {
    id: 'sim/fast',
    name: 'Simulated: Fast',
    description: 'First token after 20 ms, then one every 5 ms.',
    contextLength: 1_048_576,
    maxCompletionTokens: 65_536,
    supportedParameters: WITH_REASONING,
    prices: LOW_PRICES,
    simulation: { ...FAST_PACE, tokens: { uniform: [16, 64] }, ...OPTIONAL_REASONING },
  },
  {
    id: 'sim/standard',
    name: 'Simulated: Standard',
    description:
      'First token log-normal with median 300 ms and p99 1200 ms, gaps with median 20 ms and p99 60 ms.',
    contextLength: 1_048_576,
    maxCompletionTokens: 65_536,
    supportedParameters: WITH_REASONING,
    prices: STANDARD_PRICES,
    simulation: { ...STANDARD_PACE, tokens: { log_normal: { median: 64, p99: 256 } }, ...OPTIONAL_REASONING },
  },
  {
    id: 'sim/reasoner',
    name: 'Simulated: Reasoner',
    description: 'Reasons before it answers, unless the request says not to; paced like the standard model.',
    contextLength: 1_048_576,
    maxCompletionTokens: 65_536,
    supportedParameters: WITH_REASONING,
    prices: STANDARD_PRICES,
    simulation: {
      ...STANDARD_PACE,
      gap_ms: { log_normal: { median: 10, p99: 40 } },
      tokens: { log_normal: { median: 48, p99: 192 } },
      reasoning_tokens: { log_normal: { median: 48, p99: 192 } },
    },
  },
  {
    id: 'sim/overloaded',
    name: 'Simulated: Overloaded',
    description:
      'Overloaded for half of all prompts (503 or 529), otherwise like the fast model. An equal request always meets the same fate.',
    contextLength: 1_048_576,
    maxCompletionTokens: 65_536,
    supportedParameters: PARAMETERS,
    prices: LOW_PRICES,
    simulation: { ...FAST_PACE, tokens: { uniform: [16, 64] }, fault: { kind: 'overloaded', share: 0.5 } },
  },
]

const FILE_MODEL: SimulatedModel = {
  id: 'sim/filemaker',
  name: 'Simulated: File maker',
  description:
    'Makes a file of the last user message: of a sound or a file in it is, otherwise of its text. The answer names it in an annotation; it can be downloaded.',
  contextLength: 1_048_576,
  maxCompletionTokens: 65_536,
  supportedParameters: PARAMETERS,
  prices: LOW_PRICES,
  simulation: { ...FAST_PACE, tokens: { uniform: [8, 16] }, makes_file: true },
  modalities: { input: ['text', 'audio', 'file'], output: ['text'] },
}

const AUDIO_MODELS: readonly SimulatedModel[] = [
  {
    id: 'sim/speech',
    name: 'Simulated: Speech',
    description: 'Speaks in tones, with the text inside for sim/transcribe. Up to 4,096 characters.',
    contextLength: 4096,
    maxCompletionTokens: 4096,
    supportedParameters: ['speed'],
    prices: { input_character: '0.000015' },
    simulation: {},
    modalities: { input: ['text'], output: ['speech'] },
    voices: VOICES,
  },
  {
    id: 'sim/transcribe',
    name: 'Simulated: Transcription',
    description:
      'Gives back the text of what sim/speech has said, as PCM, WAV or MP3; for other sounds it makes something up.',
    contextLength: 16_777_216,
    maxCompletionTokens: 131_072,
    supportedParameters: ['diarize', 'keyterms'],
    prices: { audio_second: '0.0001' },
    simulation: {},
    modalities: { input: ['audio'], output: ['transcription'] },
  },
]

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

/** All ready-made models. Except for its fault a fault model is like `sim/fast`, with 32 tokens. */
export const BUILT_IN_MODELS: readonly SimulatedModel[] = [
  ...FAULTLESS_MODELS,
  FILE_MODEL,
  ...AUDIO_MODELS,
  ...FAULT_MODELS.map(([name, description, fault]) => ({
    id: `sim/fault-${name}`,
    name: `Simulated fault: ${name}`,
    description,
    contextLength: 1_048_576,
    maxCompletionTokens: 65_536,
    supportedParameters: PARAMETERS,
    prices: LOW_PRICES,
    simulation: { ...FAST_PACE, tokens: { constant: 32 }, fault },
  })),
]
