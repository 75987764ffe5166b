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

const STATE: ReadonlySet<string> = new Set(STATE_MEMBERS)

/** A person or an account, alone or with what is said of it: `end_user_id`, `customer`, `workspace_name`. */
const PERSON =
  /^(?:end_?)?(?:user|customer|client|account|org|organization|workspace|tenant|project|team|member|person|profile|subject)s?(?:_(?:profile_)?(?:id|ids|identifier|uuid|key|name|email))?$|^user_profile(?:_id)?$|^(?:e?mail|username|login|safety_identifier)$/i

/** Whether a member is named after a person or an account. */
export function namesPerson(name: string): boolean {
  return PERSON.test(name)
}

/** Whether a member is never passed on as it is, whatever a configuration says. */
export function isNeverPassed(name: string): boolean {
  return STATE.has(name) || PERSON.test(name) || name === '__proto__'
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
