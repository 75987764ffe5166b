/** Members of a request that no schema here names: which of them are never passed on (contract/decisions 46). */

/**
 * Speak of state that a server keeps for its caller. This gateway keeps none, and at a provider it would be the
 * operator's account, which all callers share.
 */
export const STATE_MEMBERS = [
  'container',
  'previous_response_id',
  'conversation',
  'conversation_id',
  'background',
  'store',
  'thread',
  'thread_id',
  'assistant_id',
  'previous_message_id',
  'cached_content',
  'mcp_servers',
  'billing_policy',
] as const

/**
 * The gateway acts on these, in one format or in each: which model answers, how much, at what price, for whom. Where a
 * format does not have one of them, a server behind it may, and would act on it past our limits, prices and hashes.
 * The last three carry members of any name.
 */
const GATEWAY_MEMBERS = [
  ...['model', 'models', 'fallbacks', 'provider', 'providers', 'route', 'plugins', 'preset', 'debug'],
  ...[
    'stream',
    'stream_options',
    'max_tokens',
    'max_completion_tokens',
    'n',
    'best_of',
    'web_search_options',
  ],
  ...['service_tier', 'speed', 'session_id', 'trace', 'metadata', 'prompt_cache_key'],
  ...['extra_body', 'extra_headers', 'extra_query'],
]

/** A name without case and marks: servers read `mcpServers`, `MCP_SERVERS` and `mcp-servers` alike. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

const NEVER_PASSED: ReadonlySet<string> = new Set([...STATE_MEMBERS, ...GATEWAY_MEMBERS].map(plainName))

/** A person or an account, alone or with what is said of it: `end_user_id`, `customer`, `workspaceName`. */
const PERSON =
  /^(?:end|external)?(?:user|customer|client|account|org|organization|workspace|tenant|project|team|member|person|profile|subject|actor)s?(?:(?:profile|external)?(?:id|ids|identifier|uuid|ref|key|name|number|email))?$|^userprofile(?:id)?$|^(?:(?:first|last|full)name|phone(?:number)?|e?mail|username|login|safetyidentifier)$/

/** Whether a member is named after a person or an account. */
export function namesPerson(name: string): boolean {
  return PERSON.test(plainName(name))
}

/** Whether a member is never passed on as it is, whatever a configuration says. */
export function isNeverPassed(name: string): boolean {
  return NEVER_PASSED.has(plainName(name)) || namesPerson(name) || name === '__proto__'
}

/** A container that a provider makes for the call, with skills that it has for everybody. */
export function isPublicSkills(container: unknown): boolean {
  if (typeof container !== 'object' || container === null) return false
  const {
    id = null,
    skills = [],
    ...rest
  } = container as { readonly id?: unknown; readonly skills?: unknown }
  if (id !== null || !Array.isArray(skills) || Object.keys(rest).length > 0) return false
  return skills.every((skill) => (skill as { readonly type?: unknown } | null)?.type === 'anthropic')
}
