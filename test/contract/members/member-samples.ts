/** Every top-level member of the two public requests, with a value that says something. */
import { readFileSync } from 'node:fs'
import { chatMembers } from '../../../src/features/chat/schema.js'
import { messagesMembers } from '../../../src/features/messages/schema.js'

/** A member's value, and where it needs them the members it comes with. */
export interface Sample {
  readonly value: unknown
  readonly beside?: Readonly<Record<string, unknown>>
}

type Samples = Readonly<Record<string, Sample>>

const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
const chatTool = { type: 'function', function: { name: 'f', parameters: schema } }
const messagesTool = { name: 'f', input_schema: schema }

/** Members that are the same in both formats. */
const COMMON: Samples = {
  model: { value: 'acme/second' },
  models: { value: ['acme/missing'] },
  provider: { value: { only: ['none'] } },
  providers: { value: { only: ['none'] } },
  route: { value: 'sort', beside: { models: ['acme/cheap'], provider: { sort: 'price' } } },
  messages: { value: [{ role: 'user', content: 'Say something else.' }] },
  stream: { value: true },
  temperature: { value: 0.5 },
  top_p: { value: 0.99 },
  top_k: { value: 40 },
  plugins: { value: [{ id: 'web' }] },
  stop_server_tools_when: { value: [{ type: 'step_count_is', step_count: 3 }] },
  max_tool_calls: { value: 3 },
  service_tier: { value: 'auto' },
  cache_control: { value: { type: 'ephemeral' } },
  session_id: { value: 'a-session' },
  user: { value: 'somebody' },
  safety_identifier: { value: 'somebody' },
  user_profile_id: { value: 'uprof_1' },
  workspace_id: { value: 'wrkspc_1' },
  trace: { value: { trace_id: 'a-trace' } },
  container: { value: 'container_1' },
  previous_response_id: { value: 'resp_1' },
  previous_message_id: { value: 'msg_1' },
  conversation: { value: 'conv_1' },
  conversation_id: { value: 'conv_1' },
  thread: { value: { type: 'create' } },
  thread_id: { value: 'thread_1' },
  assistant_id: { value: 'asst_1' },
  cached_content: { value: 'cachedContents/1' },
  background: { value: true },
  store: { value: true },
  mcp_servers: { value: [{ type: 'url', name: 'x', url: 'https://mcp.example' }] },
  billing_policy: { value: { type: 'billing_policy', bill_to: 'user_profile' } },
}

export const CHAT_SAMPLES: Samples = {
  ...COMMON,
  audio: { value: { voice: 'alloy', format: 'wav' } },
  max_tokens: { value: 100 },
  max_completion_tokens: { value: 100 },
  top_a: { value: 0.1 },
  min_p: { value: 0.1 },
  frequency_penalty: { value: 0.5 },
  presence_penalty: { value: 0.5 },
  repetition_penalty: { value: 1.1 },
  logit_bias: { value: { 5: 1 } },
  logprobs: { value: true },
  top_logprobs: { value: 2, beside: { logprobs: true } },
  seed: { value: 7 },
  stop: { value: ['END'] },
  stream_options: { value: { include_usage: true }, beside: { stream: true } },
  modalities: { value: ['text', 'audio'] },
  moderation: { value: { type: 'auto' } },
  image_config: { value: { size: '1K', hd: true } },
  prediction: { value: { type: 'content', content: 'x' } },
  response_format: { value: { type: 'json_schema', json_schema: { name: 'n', schema } } },
  structured_outputs: { value: { regex: '[a-z]+' } },
  verbosity: { value: 'low' },
  reasoning: { value: { effort: 'high' } },
  reasoning_effort: { value: 'high' },
  include_reasoning: { value: false },
  tools: { value: [chatTool] },
  tool_choice: { value: 'required', beside: { tools: [chatTool] } },
  parallel_tool_calls: { value: false, beside: { tools: [chatTool] } },
  functions: { value: [{ name: 'f', parameters: schema }] },
  function_call: { value: { name: 'f' } },
  web_search_options: { value: {} },
  transforms: { value: ['middle-out'] },
  preset: { value: 'mine' },
  prompt: { value: 'x' },
  n: { value: 2 },
  metadata: { value: { job: 'nightly' } },
  debug: { value: { echo_upstream_body: true }, beside: { stream: true } },
  prompt_cache_options: { value: { mode: 'explicit' } },
  prompt_cache_key: { value: 'a-key' },
  prompt_cache_retention: { value: '24h' },
}

export const MESSAGES_SAMPLES: Samples = {
  ...COMMON,
  max_tokens: { value: 100 },
  system: { value: 'Be brief.' },
  stop_sequences: { value: ['END'] },
  metadata: { value: { user_id: 'somebody' } },
  tools: { value: [messagesTool] },
  tool_choice: { value: { type: 'any' }, beside: { tools: [messagesTool] } },
  thinking: { value: { type: 'enabled', budget_tokens: 1024 } },
  output_config: { value: { effort: 'high' } },
  output_format: { value: { type: 'json_schema', schema } },
  speed: { value: 'fast' },
  context_management: { value: { edits: [{ type: 'clear_thinking_20251015' }] } },
  compaction: { value: { type: 'summarize' } },
  container: { value: { skills: [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }] } },
  inference_geo: { value: 'us' },
  safeguards: { value: [{ type: 'cyber' }] },
  diagnostics: { value: { previous_message_id: 'msg_1' } },
  fallback_credit_token: { value: 'token' },
  fallbacks: { value: [{ model: 'acme/missing' }] },
  betas: { value: ['context-1m-2025-08-07'] },
}

/** Twenty that neither schema names: what the usual servers document, names of persons and accounts, and others. */
export const UNKNOWN_SAMPLES: Samples = {
  guided_json: { value: schema },
  min_tokens: { value: 5 },
  chat_template_kwargs: { value: { enable_thinking: false } },
  stop_token_ids: { value: [2] },
  repeat_penalty: { value: 1.1 },
  mirostat: { value: 2 },
  separate_reasoning: { value: true },
  thinking_forced_open: { value: true },
  reasoning_format: { value: 'none' },
  grammar: { value: 'root ::= "x"' },
  lora_path: { value: 'adapter' },
  priority: { value: 100 },
  request_id: { value: 'r1' },
  deferred_tools: { value: { protocol: 'v1' } },
  x_own_setting: { value: true },
  customer_id: { value: 'c1' },
  end_user: { value: 'somebody' },
  organization: { value: 'org1' },
  tenant_id: { value: 7 },
  email: { value: 'a@b.example' },
}

const SDK = {
  openai: 'openai/resources/chat/completions/completions.d.ts',
  anthropic: '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
  openrouter: '@openrouter/sdk/esm/models/chatrequest.d.ts',
} as const

/** Names of the members that a published SDK's type has at its top level. */
function sdkMembers(sdk: keyof typeof SDK, head: string): string[] {
  const text = readFileSync(new URL(`../../../../node_modules/${SDK[sdk]}`, import.meta.url), 'utf8')
  const begin = text.indexOf(head)
  if (begin < 0) throw new Error(`${SDK[sdk]} has no ${head}`)
  const block = text.slice(begin, text.indexOf('\n}', begin))
  const names = [...block.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name]) => name!)
  return names.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

/** Every member that a schema of ours or a published SDK's names, in the order of the alphabet. */
export function documentedMembers(format: 'chat' | 'messages'): string[] {
  const names =
    format === 'chat'
      ? [
          ...Object.keys(chatMembers.shape),
          ...sdkMembers('openai', 'export interface ChatCompletionCreateParamsBase '),
          ...sdkMembers('openrouter', 'export type ChatRequest = '),
        ]
      : [
          ...Object.keys(messagesMembers.shape),
          ...sdkMembers('anthropic', 'export interface MessageCreateParamsBase '),
        ]
  return [...new Set(names)].sort()
}
