/** From the wire to the request the gateway works with: rules that join fields, headers, and what is not passed on. */
import { Fault, type ValidationIssue } from '../../base/fault.js'
import { STATE_MEMBERS } from '../../gateway/formats/extra-members.js'
import type { MessagesRequest, MessagesTool, MessagesToolChoice } from '../../gateway/formats/messages.js'
import {
  type BodyRule,
  bodyIssue,
  requireRules,
  routingContradiction,
  withoutMembers,
} from '../../inference-http/request-members.js'
import { toolingMember } from '../../inference-http/server-tools.js'
import { memberNames, sortMembers } from '../../inference-http/sort-members.js'
import { type ToldTools, tellTools } from './requested-tools.js'
import { type CountBody, type MessagesBody, messagesMembers } from './schema.js'

/**
 * The request of a validated body. Throws `invalid-input` for the first rule between fields that is broken.
 * `fallbacks` become `models`, and the user of `metadata` stands in for an absent `user`.
 * @param sessionId `x-session-id`, `''` when absent; a `session_id` in the body wins over it (contract/gateway 1.3)
 */
export function decodeMessages(body: MessagesBody, sessionId: string): MessagesRequest {
  requireRules(body, RULES, sessionId)
  const { fallbacks, metadata, models, output_format, ...rest } = sortMembers<MessagesBody, SpentMember>(
    body,
    MEMBERS,
  )
  const named = fallbacks?.map(({ model }) => model) ?? models
  const told = tellTools(body)
  const issue = choiceIssue(body.tool_choice, told)
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  const user = rest.user ?? metadata?.user_id ?? undefined
  const session = body.session_id ?? (sessionId === '' ? undefined : sessionId)
  return {
    ...withToldTools(rest, told),
    ...toolingMember(body, told.requested),
    ...(named !== undefined && named.length > 0 && { models: named }),
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session_id: session }),
    ...(output_format != null && { output_config: { ...body.output_config, format: output_format } }),
  }
}

/** Members that have been judged and say nothing to a provider. */
const SPENT_MEMBERS = [
  'plugins',
  'stop_server_tools_when',
  'max_tool_calls',
  ...STATE_MEMBERS.filter((name) => name !== 'container'),
] as const

type SpentMember = (typeof SPENT_MEMBERS)[number]

const MEMBERS = memberNames(messagesMembers, SPENT_MEMBERS)

/** The request of a body that is only to be counted: nothing is generated, so one token is as good as any number. */
export function decodeCount(body: CountBody, sessionId: string): MessagesRequest {
  return decodeMessages({ ...body, max_tokens: body.max_tokens ?? 1 }, sessionId)
}

/** Providers refuse an empty list of tools, and a choice where there are no tools. */
function withToldTools<B extends { readonly tools?: unknown; readonly tool_choice?: unknown }>(
  body: B,
  { kept, requested }: ToldTools,
): B | (Omit<B, 'tools'> & { readonly tools: readonly MessagesTool[] }) {
  if (kept === body.tools && kept.length > 0) return body
  if (kept.length > 0) return { ...body, tools: kept }
  return withoutMembers(body, requested.length > 0 ? ['tools'] : ['tools', 'tool_choice']) as B
}

// ── Rules that join fields (contract/decisions 8 to 10 and 34) ─────────────────

/** What both operations send. */
type PromptBody = Omit<CountBody, 'max_tokens'>
const RULES: readonly BodyRule<PromptBody>[] = [
  fallbacksOrModels,
  blocksStandWhereTheyMay,
  oneFormat,
  routingContradiction,
]

function oneFormat({ output_format, output_config }: PromptBody): ValidationIssue | null {
  if (output_format == null || output_config?.format == null) return null
  return bodyIssue(['output_format'], 'is the former output_config.format: send one of them')
}

function fallbacksOrModels({ fallbacks, models }: PromptBody): ValidationIssue | null {
  if (fallbacks === undefined || fallbacks === null || models === undefined) return null
  return bodyIssue(['fallbacks'], 'cannot be combined with models')
}

/** What only a model says. */
const OF_THE_ASSISTANT: ReadonlySet<string> = new Set([
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
  'thinking',
  'redacted_thinking',
])

/**
 * A result answers a call of an earlier message of the assistant; blocks of the assistant stand in its messages
 * only.
 */
function blocksStandWhereTheyMay({ messages }: PromptBody): ValidationIssue | null {
  let calls: Set<string> | undefined
  for (let at = 0; at < messages.length; at++) {
    const { role, content } = messages[at]!
    if (typeof content === 'string' || role === 'system') continue
    for (let part = 0; part < content.length; part++) {
      const block = content[part]!
      const place = ['messages', at, 'content', part]
      if (block.type === 'tool_result') {
        if (role === 'assistant')
          return bodyIssue([...place, 'type'], 'cannot stand in a message of the assistant')
        if (calls?.has(block.tool_use_id as string) === true) continue
        return bodyIssue([...place, 'tool_use_id'], 'answers no tool_use of an earlier message')
      }
      if (!OF_THE_ASSISTANT.has(block.type)) continue
      if (role === 'user')
        return bodyIssue([...place, 'type'], 'can only stand in a message of the assistant')
      if (block.type !== 'tool_use') continue
      calls ??= new Set()
      calls.add(block.id as string)
    }
  }
  return null
}

/** A choice names a tool of the caller's, of the provider's or of ours; the functions of a source of tools are not known here. */
function choiceIssue(
  choice: MessagesToolChoice | undefined,
  { kept, requested }: ToldTools,
): ValidationIssue | null {
  if (choice === undefined || choice.type === 'none' || choice.type === 'auto') return null
  if (kept.length === 0 && requested.length === 0) return bodyIssue(['tool_choice'], 'needs tools')
  if (choice.type !== 'tool' || requested.some(({ name }) => SOURCES.has(name))) return null
  const isKnown =
    kept.some(({ name }) => name === choice.name) ||
    requested.some(({ name, calledName }) => name === choice.name || calledName === choice.name)
  return isKnown ? null : bodyIssue(['tool_choice', 'name'], 'is the name of none of the tools')
}

/** Tools whose functions have names of their own. */
const SOURCES: ReadonlySet<string> = new Set(['mcp', 'advisor', 'subagent'])
