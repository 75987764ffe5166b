/** From the wire to the request the gateway works with: rules that join fields, headers, and what is not passed on. */
import { Fault } from '../../base/fault.js'
import type { MessagesRequest } from '../../gateway/formats/messages.js'
import { refuseThread, type serverState, sessionIdIssue } from '../../inference-http/request-members.js'
import type { CountBody, MessagesBody } from './schema.js'
import { firstBrokenRule } from './schema-rules.js'

interface MessagesHeaders {
  /** `x-session-id`, `''` when absent; a `session_id` in the body wins over it (contract/gateway 1.3). */
  readonly sessionId: string
}

/**
 * The request of a validated body. Throws `invalid-input` for the first rule between fields that is broken.
 * `fallbacks` become `models`, and the user of `metadata` stands in for an absent `user`.
 */
export function decodeMessages(body: MessagesBody, { sessionId }: MessagesHeaders): MessagesRequest {
  const issue = firstBrokenRule(body) ?? sessionIdIssue(sessionId)
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  refuseThread(body.thread)
  const {
    fallbacks,
    plugins: _,
    stop_server_tools_when: __,
    metadata,
    models,
    ...rest
  } = withoutServerState(body)
  const named = fallbacks?.map(({ model }) => model) ?? models
  const user = body.user ?? metadata?.user_id ?? undefined
  const session = body.session_id ?? (sessionId === '' ? undefined : sessionId)
  return {
    ...withoutIdleChoice(rest),
    ...(named !== undefined && named.length > 0 && { models: named }),
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session_id: session }),
  }
}

/** The request of a body that is only to be counted: nothing is generated, so one token is as good as any number. */
export function decodeCount(body: CountBody, headers: MessagesHeaders): MessagesRequest {
  return decodeMessages({ ...body, max_tokens: body.max_tokens ?? 1 }, headers)
}

type StatelessBody = Omit<MessagesBody, keyof typeof serverState>
type PrunedBody = Omit<
  StatelessBody,
  'fallbacks' | 'plugins' | 'stop_server_tools_when' | 'metadata' | 'models'
>

const STATE = ['container', 'previous_response_id', 'conversation', 'thread'] as const

/** Without the members that have been judged and say nothing to a provider; most bodies have none. */
function withoutServerState(body: MessagesBody): StatelessBody {
  if (STATE.every((name) => body[name] === undefined)) return body
  const copy = { ...body }
  for (const name of STATE) delete copy[name]
  return copy
}

/** Providers refuse an empty list of tools, and a choice where there are no tools. */
function withoutIdleChoice(rest: PrunedBody): PrunedBody {
  if (rest.tools === undefined && rest.tool_choice === undefined) return rest
  if (rest.tools !== undefined && rest.tools.length > 0) return rest
  const { tools: _, tool_choice: __, ...others } = rest
  return others
}
