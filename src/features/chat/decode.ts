/** From the wire to the canonical request: rules that join fields, headers, and what is not passed on. */
import { Fault } from '../../base/fault.js'
import type { ChatRequest } from '../../gateway/formats/canonical.js'
import { refuseThread, sessionIdIssue } from '../../inference-http/request-members.js'
import type { ChatBody } from './schema.js'
import { firstBrokenRule } from './schema-rules.js'

interface ChatHeaders {
  /** `x-session-id`, `''` when absent; a `session_id` in the body wins over it (contract/gateway 1.3). */
  readonly sessionId: string
}

/**
 * The canonical request of a validated body. Throws `invalid-input` for the first rule between fields that is
 * broken. What this version accepts because it changes nothing is gone; often that is nothing at all, and then
 * the answer is the body itself.
 */
export function decodeChat(body: ChatBody, { sessionId }: ChatHeaders): ChatRequest {
  const issue = firstBrokenRule(body) ?? sessionIdIssue(sessionId)
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  refuseThread(body.thread)
  const fromHeader = sessionId !== '' && body.session_id === undefined
  const request: DecodedChat = needsPruning(body) ? pruneBody(body) : body
  return (fromHeader ? { ...request, session_id: sessionId } : request) as ChatRequest
}

/** The compiler compares the schema with the canonical request here; only the nulls of an echo are ours to remove. */
type DecodedChat = Omit<ChatRequest, 'messages'> & Pick<ChatBody, 'messages'>

/** Members that have been judged and say nothing to a provider. */
const SPENT_MEMBERS = [
  'plugins',
  'stop_server_tools_when',
  'max_tool_calls',
  'web_search_options',
  'transforms',
  'preset',
  'prompt',
  'n',
  'functions',
  'function_call',
  'container',
  'previous_response_id',
  'conversation',
  'thread',
] as const satisfies readonly (keyof ChatBody)[]

function needsPruning(body: ChatBody): boolean {
  for (const name of SPENT_MEMBERS) if (body[name] !== undefined) return true
  return choosesWithoutTools(body) || body.models?.length === 0 || body.messages.some(hasNullMember)
}

/** Providers refuse an empty list of tools, and a choice or an order of calls where there are no tools. */
function choosesWithoutTools({ tools, tool_choice, parallel_tool_calls }: ChatBody): boolean {
  if (tools !== undefined) return tools.length === 0
  return tool_choice !== undefined || parallel_tool_calls !== undefined
}

function pruneBody(body: ChatBody): DecodedChat {
  const request: Partial<ChatBody> & Pick<ChatBody, 'messages'> = {
    ...body,
    messages: body.messages.map(withoutNulls),
  }
  for (const name of SPENT_MEMBERS) delete request[name]
  if (body.models?.length === 0) delete request.models
  if (choosesWithoutTools(body)) {
    delete request.tools
    delete request.tool_choice
    delete request.parallel_tool_calls
  }
  return request
}

type BodyMessage = ChatBody['messages'][number]

const ECHOED_MEMBERS = ['tool_calls', 'audio', 'images', 'reasoning_details'] as const

function hasNullMember(message: BodyMessage): boolean {
  if (message.role !== 'assistant') return false
  for (const name of ECHOED_MEMBERS) if (message[name] === null) return true
  return false
}

/** In an echoed answer null stands for what it did not have; providers want it left out. */
function withoutNulls(message: BodyMessage): BodyMessage {
  if (message.role !== 'assistant' || !hasNullMember(message)) return message
  const copy = { ...message }
  for (const name of ECHOED_MEMBERS) if (copy[name] === null) delete copy[name]
  return copy
}
