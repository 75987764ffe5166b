/** Rules that join several fields of a chat request (contract/decisions 8 to 10 and 34). */
import { ValidationIssue } from '../../base/fault.js'
import { enabledPluginIssue } from '../../inference-http/plugins.js'
import { routingContradiction } from '../../inference-http/routing-rules.js'
import type { ChatBody } from './schema.js'
import { serverToolType } from './schema-tools.js'

type ChatRule = (body: ChatBody) => ValidationIssue | null
type IssuePath = readonly (string | number)[]

function ruleIssue(loc: IssuePath, note: string): ValidationIssue {
  return new ValidationIssue(['body', ...loc], 'other', undefined, note)
}

const RULES: readonly ChatRule[] = [
  modelIsNamed,
  everyResultAnswersACall,
  everyAssistantSaysSomething,
  effortsAgree,
  effortOrBudget,
  alternativesNeedLogprobs,
  toolsAreFunctions,
  choiceIsATool,
  pluginsAreOff,
  echoNeedsAStream,
  routingContradiction,
]

/** The first rule a body breaks, or null. */
export function firstBrokenRule(body: ChatBody): ValidationIssue | null {
  for (const rule of RULES) {
    const issue = rule(body)
    if (issue !== null) return issue
  }
  return null
}

function modelIsNamed({ model, models }: ChatBody): ValidationIssue | null {
  if (model !== undefined || (models !== undefined && models.length > 0)) return null
  return new ValidationIssue(['body', 'model'], 'missing')
}

function everyResultAnswersACall({ messages }: ChatBody): ValidationIssue | null {
  let calls: Set<string> | undefined
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role === 'assistant' && message.tool_calls) {
      calls ??= new Set()
      for (const { id } of message.tool_calls) calls.add(id)
    } else if (message.role === 'tool' && calls?.has(message.tool_call_id) !== true) {
      return ruleIssue(['messages', at, 'tool_call_id'], 'answers no call of an earlier assistant message')
    }
  }
  return null
}

/** Content may only be left out where something else was said: a call, a refusal, audio, pictures, reasoning. */
function everyAssistantSaysSomething({ messages }: ChatBody): ValidationIssue | null {
  for (let at = 0; at < messages.length; at++) {
    const said = messages[at]!
    if (said.role !== 'assistant' || said.content !== undefined) continue
    const { tool_calls, refusal, audio, images, reasoning, reasoning_details } = said
    const rest = tool_calls ?? refusal ?? audio ?? images ?? reasoning ?? reasoning_details ?? null
    if (rest === null) return new ValidationIssue(['body', 'messages', at, 'content'], 'missing')
  }
  return null
}

function effortsAgree({ reasoning, reasoning_effort: short }: ChatBody): ValidationIssue | null {
  const long = reasoning?.effort
  if (short == null || long == null || short === long) return null
  return ruleIssue(['reasoning_effort'], 'must not differ from reasoning.effort')
}

function effortOrBudget({ reasoning, reasoning_effort: short }: ChatBody): ValidationIssue | null {
  if (reasoning?.max_tokens == null || (reasoning.effort ?? short ?? null) === null) return null
  return ruleIssue(['reasoning', 'max_tokens'], 'cannot be combined with an effort')
}

function alternativesNeedLogprobs({ logprobs, top_logprobs }: ChatBody): ValidationIssue | null {
  if (top_logprobs == null || logprobs === true) return null
  return ruleIssue(['top_logprobs'], 'needs logprobs: true')
}

/** No provider of this version runs tools of its own, nor does the gateway (contract/decisions 10). */
function toolsAreFunctions({ tools = [] }: ChatBody): ValidationIssue | null {
  for (let at = 0; at < tools.length; at++) {
    const type = serverToolType(tools[at]!.type as string)
    if (type !== null) return ruleIssue(['tools', at, 'type'], `${type} is not supported by this gateway`)
  }
  return null
}

function choiceIsATool({ tools = [], tool_choice: choice }: ChatBody): ValidationIssue | null {
  if (choice === undefined || choice === 'none' || choice === 'auto') return null
  if (choice === 'required') return tools.length > 0 ? null : ruleIssue(['tool_choice'], 'needs tools')
  if (choice.type !== 'function')
    return ruleIssue(['tool_choice', 'type'], 'must be function: nothing else can be chosen on this gateway')
  for (const tool of tools) if (functionName(tool) === choice.function?.name) return null
  return ruleIssue(['tool_choice', 'function', 'name'], 'is none of the functions in tools')
}

function functionName(tool: object): string | undefined {
  return (tool as { function?: { name: string } }).function?.name
}

function pluginsAreOff({ plugins = [] }: ChatBody): ValidationIssue | null {
  return enabledPluginIssue(plugins)
}

function echoNeedsAStream({ debug, stream }: ChatBody): ValidationIssue | null {
  if (debug?.echo_upstream_body !== true || stream === true) return null
  return ruleIssue(['debug', 'echo_upstream_body'], 'needs stream: true')
}
