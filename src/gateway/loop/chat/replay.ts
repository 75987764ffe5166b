/**
 * Calls of server tools on their way through a caller (contract/tools 1.3): with an answer that hands calls over to the
 * caller they travel as `reasoning.server_tool_call`, and come back with the results of the caller's own functions.
 * The id of such a detail holds where it stood and a mark, so that nobody can put results into the gateway's mouth.
 */
import type { Principal } from '../../../base/principal.js'
import type { ChatMessage, ChatRequest, ReasoningDetail, ToolCall } from '../../formats/canonical.js'
import { asCount } from '../../formats/json-values.js'
import type { ReplaySeal } from '../replay-seal.js'

const TYPE = 'reasoning.server_tool_call'
const ID = /^svc_(\d{1,6})_(\d{1,6})_([A-Za-z0-9_-]{22})$/

/** A call of a server tool with what it came to, as it was shown to the model. */
export interface ReplayedCall {
  /** Turns behind its own, the last of which has called the caller's functions. */
  readonly back: number
  /** Details of reasoning up to the end of its own turn. */
  readonly details: number
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly result: string
}

/** What the mark of a detail vouches for. */
function markedParts({ back, details, id, name, arguments: given, result }: ReplayedCall): string[] {
  return [`${back}`, `${details}`, id, name, given, result]
}

/** @param index of the detail among those of the answer */
export function toReplayDetail(
  call: ReplayedCall,
  index: number,
  caller: Principal,
  seal: ReplaySeal,
): ReasoningDetail {
  return {
    type: TYPE,
    tool_name: call.name,
    arguments: call.arguments,
    result: call.result,
    tool_call_id: call.id,
    id: `svc_${call.back}_${call.details}_${seal.mark(caller, markedParts(call))}`,
    format: 'unknown',
    index,
  }
}

/** What came back; null where it is not as it was given out, or was given to another workspace. */
function readReplayDetail(detail: ReasoningDetail, caller: Principal, seal: ReplaySeal): ReplayedCall | null {
  const { tool_call_id: id, tool_name: name, arguments: given, result, id: mark } = detail
  const found = typeof mark === 'string' ? ID.exec(mark) : null
  if (found === null || typeof id !== 'string' || typeof name !== 'string') return null
  if (typeof given !== 'string' || typeof result !== 'string') return null
  const call = { back: Number(found[1]), details: Number(found[2]), id, name, arguments: given, result }
  return seal.isMarked(caller, markedParts(call), found[3]!) ? call : null
}

type AssistantSaid = ChatMessage & { readonly role: 'assistant' }

function holdsReplay(message: ChatMessage): message is AssistantSaid {
  if (message.role !== 'assistant' || message.reasoning_details === undefined) return false
  return message.reasoning_details.some(({ type }) => type === TYPE)
}

/**
 * The request with the calls that came back put where they stood; the request itself where there are none. `dropped`
 * is told where one of them is not what this gateway has given to this workspace.
 */
export function resumeChat(
  request: ChatRequest,
  caller: Principal,
  seal: ReplaySeal,
  dropped: string[],
): ChatRequest {
  if (!request.messages.some(holdsReplay)) return request
  let isForged = false
  const messages = request.messages.flatMap((message) => {
    if (!holdsReplay(message)) return [message]
    const calls: ReplayedCall[] = []
    for (const detail of message.reasoning_details!) {
      if (detail.type !== TYPE) continue
      const call = readReplayDetail(detail, caller, seal)
      if (call === null || calls.some((other) => isSameCall(call, other))) isForged = true
      else calls.push(call)
    }
    return restoreTurns(message, calls)
  })
  if (isForged) dropped.push('reasoning_details')
  return { ...request, messages }
}

/** Some servers count the calls of each turn anew, so ids repeat; within a turn they do not. */
function isSameCall(one: ReplayedCall, other: ReplayedCall): boolean {
  return one.id === other.id && one.back === other.back
}

/** One message of the assistant becomes one per turn, each with its thinking, its calls and their results. */
function restoreTurns(said: AssistantSaid, calls: readonly ReplayedCall[]): ChatMessage[] {
  const { reasoning_details: all = [], tool_calls: own = [], ...rest } = said
  const thought = all.filter(({ type }) => type !== TYPE)
  const messages: ChatMessage[] = []
  let taken = 0
  const add = (
    base: AssistantSaid,
    end: number,
    made: readonly ReplayedCall[],
    theirs: readonly ToolCall[],
  ) => {
    const mine = thought.slice(taken, end)
    taken = Math.max(taken, end)
    const toolCalls = [...made.map(toToolCall), ...theirs]
    messages.push({
      ...base,
      ...(mine.length > 0 && { reasoning_details: mine }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    })
    for (const { id, result } of made) messages.push({ role: 'tool', tool_call_id: id, content: result })
  }
  const turns = [...new Set(calls.map(({ back }) => back))].sort((one, other) => other - one)
  for (const turn of turns) {
    if (turn === 0) continue
    const made = calls.filter(({ back }) => back === turn)
    add({ role: 'assistant', content: null }, countUpTo(thought, made[0]!.details), made, [])
  }
  const last = calls.filter(({ back }) => back === 0)
  add(rest, thought.length, last, own)
  return messages
}

/** How many of them stand before the boundary of a turn; those without an index are of the last one. */
function countUpTo(thought: readonly ReasoningDetail[], boundary: number): number {
  let count = 0
  while (count < thought.length && (asCount(thought[count]!.index) ?? Number.POSITIVE_INFINITY) < boundary)
    count++
  return count
}

function toToolCall({ id, name, arguments: given }: ReplayedCall): ToolCall {
  return { id, type: 'function', function: { name, arguments: given } }
}
