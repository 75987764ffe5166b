/** Rules that join several fields of a messages request (contract/gateway 5; contract/decisions 8 to 10 and 34). */
import { ValidationIssue } from '../../base/fault.js'
import { enabledPluginIssue } from '../../inference-http/plugins.js'
import { routingContradiction } from '../../inference-http/routing-rules.js'
import type { CountBody } from './schema.js'

/** What both operations send. */
type PromptBody = Omit<CountBody, 'max_tokens'>
type MessagesRule = (body: PromptBody) => ValidationIssue | null
type IssuePath = readonly (string | number)[]

function ruleIssue(loc: IssuePath, note: string): ValidationIssue {
  return new ValidationIssue(['body', ...loc], 'other', undefined, note)
}

const RULES: readonly MessagesRule[] = [
  fallbacksOrModels,
  blocksStandWhereTheyMay,
  toolsAreOfTheCallerOrTheProvider,
  choiceIsATool,
  ({ plugins = [] }) => enabledPluginIssue(plugins),
  routingContradiction,
]

/** The first rule a body breaks, or null. */
export function firstBrokenRule(body: PromptBody): ValidationIssue | null {
  for (const rule of RULES) {
    const issue = rule(body)
    if (issue !== null) return issue
  }
  return null
}

function fallbacksOrModels({ fallbacks, models }: PromptBody): ValidationIssue | null {
  if (fallbacks === undefined || fallbacks === null || models === undefined) return null
  return ruleIssue(['fallbacks'], 'cannot be combined with models')
}

/** What only a model says. */
const OF_THE_ASSISTANT: ReadonlySet<string> = new Set([
  'tool_use',
  'server_tool_use',
  'thinking',
  'redacted_thinking',
])

/** A result answers a call that an earlier message of the assistant made, and nobody else's words are put in its mouth. */
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
          return ruleIssue([...place, 'type'], 'cannot stand in a message of the assistant')
        if (calls?.has(block.tool_use_id) === true) continue
        return ruleIssue([...place, 'tool_use_id'], 'answers no tool_use of an earlier message')
      }
      if (!OF_THE_ASSISTANT.has(block.type)) continue
      if (role === 'user')
        return ruleIssue([...place, 'type'], 'can only stand in a message of the assistant')
      if (block.type !== 'tool_use') continue
      calls ??= new Set()
      calls.add(block.id)
    }
  }
  return null
}

/** Prefixes of the tools that a gateway would run itself; this one runs none yet (contract/decisions 10). */
const GATEWAY_PREFIX = /^(?:service|openrouter):/

function toolsAreOfTheCallerOrTheProvider({ tools = [] }: PromptBody): ValidationIssue | null {
  for (let at = 0; at < tools.length; at++) {
    const type: string = tools[at]!.type ?? 'custom'
    if (!GATEWAY_PREFIX.test(type)) continue
    const name = type.replace(GATEWAY_PREFIX, 'service:')
    const told = GATEWAY_TOOLS.has(name)
      ? `${name} is not supported by this gateway`
      : 'is no tool of this gateway'
    return ruleIssue(['tools', at, 'type'], told)
  }
  return null
}

const GATEWAY_TOOLS: ReadonlySet<string> = new Set(
  [
    'bash',
    'datetime',
    'image_generation',
    'experimental__search_models',
    'web_fetch',
    'web_search',
    'shell',
    'tool_search',
  ].map((name) => `service:${name}`),
)

function choiceIsATool({ tools = [], tool_choice: choice }: PromptBody): ValidationIssue | null {
  if (choice === undefined || choice.type === 'none' || choice.type === 'auto') return null
  if (tools.length === 0) return ruleIssue(['tool_choice'], 'needs tools')
  if (choice.type !== 'tool') return null
  for (const { name } of tools) if (name === choice.name) return null
  return ruleIssue(['tool_choice', 'name'], 'is the name of none of the tools')
}
