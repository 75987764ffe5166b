/** What servers of the usual kinds take of a request, where the configuration does not say (contract/decisions 46, 62). */
import { CHAT_PARAMETERS, type ChatParameter } from './models.js'

/** Beside the parameters of chat: what OpenAI's own reference documents. */
const OPENAI_MEMBERS = ['moderation', 'prompt_cache_retention'] as const

const GROQ_MEMBERS = [
  'citation_options',
  'compound_custom',
  'disable_tool_validation',
  'documents',
  'reasoning_format',
  'search_settings',
] as const

/**
 * Left out of the lists below, although their servers document them, is what reaches beyond the call (adapters,
 * slots, priorities, ids of requests), what makes a server work many times over for one answer, and what only adds
 * members to an answer that are not handed on.
 */
const VLLM_MEMBERS = [
  'add_generation_prompt',
  'add_special_tokens',
  'allowed_token_ids',
  'bad_words',
  'chat_template_kwargs',
  'continue_final_message',
  'documents',
  'guided_choice',
  'guided_decoding_backend',
  'guided_grammar',
  'guided_json',
  'guided_regex',
  'guided_whitespace_pattern',
  'ignore_eos',
  'include_stop_str_in_output',
  'length_penalty',
  'min_tokens',
  'mm_processor_kwargs',
  'return_tokens_as_token_ids',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'stop_token_ids',
  'structural_tag',
  'structured_outputs',
  'truncate_prompt_tokens',
] as const

const SGLANG_MEMBERS = [
  'ebnf',
  'no_stop_trim',
  'regex',
  'separate_reasoning',
  'stop_regex',
  'stream_reasoning',
] as const

const LLAMA_CPP_MEMBERS = [
  'cache_prompt',
  'dry_allowed_length',
  'dry_base',
  'dry_multiplier',
  'dry_penalty_last_n',
  'dry_sequence_breakers',
  'dynatemp_exponent',
  'dynatemp_range',
  'grammar',
  'json_schema',
  'min_keep',
  'mirostat',
  'mirostat_eta',
  'mirostat_tau',
  'parse_tool_calls',
  'reasoning_format',
  'repeat_last_n',
  'repeat_penalty',
  'samplers',
  'thinking_forced_open',
  'top_n_sigma',
  'typical_p',
  'xtc_probability',
  'xtc_threshold',
] as const

/** Of embeddings, where servers know for what they are made. */
const EMBEDDING_MEMBERS = ['input_type', 'truncate'] as const

/** A switch of the reasoning that several hosted models have. */
const THINKING_MEMBERS = ['thinking'] as const

interface ServerTraits {
  /** Members that go to it as they are. */
  readonly extraMembers: readonly string[]
  /** Parameters that it has. */
  readonly parameters: readonly ChatParameter[]
}

function parametersWithout(...names: readonly ChatParameter[]): readonly ChatParameter[] {
  return CHAT_PARAMETERS.filter((name) => !names.includes(name))
}

const SAMPLING_ELSEWHERE = ['top_k', 'top_a', 'min_p', 'repetition_penalty'] as const

/** Services that refuse a request with a member they do not know, by their hosts. */
const HOSTED: readonly (readonly [host: RegExp, ServerTraits])[] = [
  [
    /^api\.openai\.com$|\.openai\.azure\.com$/,
    {
      extraMembers: OPENAI_MEMBERS,
      parameters: parametersWithout(...SAMPLING_ELSEWHERE, 'reasoning', 'include_reasoning'),
    },
  ],
  [
    /^api\.groq\.com$/,
    {
      extraMembers: GROQ_MEMBERS,
      parameters: parametersWithout(
        ...SAMPLING_ELSEWHERE,
        ...(['logit_bias', 'logprobs', 'top_logprobs', 'prediction', 'reasoning', 'verbosity'] as const),
      ),
    },
  ],
]

/** A server of one's own: whichever of the usual programs it is. They pass over what they do not know. */
const OPENAI_COMPATIBLE: ServerTraits = {
  extraMembers: [
    ...new Set([
      ...OPENAI_MEMBERS,
      ...VLLM_MEMBERS,
      ...SGLANG_MEMBERS,
      ...LLAMA_CPP_MEMBERS,
      ...EMBEDDING_MEMBERS,
      ...THINKING_MEMBERS,
    ]),
  ],
  parameters: CHAT_PARAMETERS,
}

/** What the messages format has a word for. */
const ANTHROPIC: ServerTraits = {
  extraMembers: [],
  parameters: parametersWithout(
    ...(['top_a', 'min_p', 'frequency_penalty', 'presence_penalty', 'repetition_penalty'] as const),
    ...(['logit_bias', 'logprobs', 'top_logprobs', 'prediction', 'seed'] as const),
  ),
}

/** Of a provider that is no server of text. */
const NOTHING_MORE: ServerTraits = { extraMembers: [], parameters: CHAT_PARAMETERS }

/** What is to be expected of a provider; `baseUrl` is of kind `openai`. */
export function traitsOf(kind: string, baseUrl: string): ServerTraits {
  if (kind === 'anthropic') return ANTHROPIC
  if (kind !== 'openai') return NOTHING_MORE
  const { hostname } = new URL(baseUrl)
  return HOSTED.find(([host]) => host.test(hostname))?.[1] ?? OPENAI_COMPATIBLE
}
