/**
 * Blocks of server tools that a caller hands back in the messages of the assistant (contract/tools 1.3) become calls and
 * results again, each turn of the loop with messages of its own, so that whichever provider serves can read them.
 */
import type { Principal } from '../../../base/principal.js'
import type { ContentBlock, MessagesMessage, MessagesRequest } from '../../formats/messages.js'
import type { ReplaySeal } from '../replay-seal.js'
import { citesOurs, withoutOwnCitations } from './citations.js'
import { type IsMarked, isOwnId, isResultBlock, type RecalledCall, recallCall } from './native-blocks.js'

/** The request itself where nobody hands anything back. Kinds of blocks that are forged or altered go into `dropped`. */
export function resumeMessages(
  request: MessagesRequest,
  caller: Principal,
  seal: ReplaySeal,
  dropped: string[],
): MessagesRequest {
  if (!request.messages.some(holdsOwnBlocks)) return request
  const isMarked: IsMarked = (parts, mark) => typeof mark === 'string' && seal.isMarked(caller, parts, mark)
  const messages: MessagesMessage[] = []
  /** Results of the last turn of the message before, which stand in front of the user's own. */
  let pending: ContentBlock[] = []
  for (const message of request.messages) {
    const before = pending
    pending = []
    if (before.length > 0 && message.role === 'user') {
      messages.push({ ...message, content: [...before, ...blocksOf(message)] })
      continue
    }
    if (before.length > 0) messages.push({ role: 'user', content: before })
    if (!holdsOwnBlocks(message)) messages.push(message)
    else pending = addTurns(message, isMarked, dropped, messages)
  }
  if (pending.length > 0) messages.push({ role: 'user', content: pending })
  return { ...request, messages }
}

function holdsOwnBlocks({ role, content }: MessagesMessage): boolean {
  if (role !== 'assistant' || typeof content === 'string') return false
  return content.some((block) => isOwnBlock(block) || citesOurs(block))
}

function isOwnBlock({ id, tool_use_id }: ContentBlock): boolean {
  return isOwnId(id) || isOwnId(tool_use_id)
}

function blocksOf({ content }: MessagesMessage): readonly ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Adds a message of the assistant as one per turn, each with its results behind it; gives the results of the last. */
function addTurns(
  message: MessagesMessage,
  isMarked: IsMarked,
  dropped: string[],
  messages: MessagesMessage[],
): ContentBlock[] {
  const content = message.content as readonly ContentBlock[]
  const recalled = recallCalls(content, isMarked, dropped)
  const taken = new Set<string>()
  let said: ContentBlock[] = []
  let results: ContentBlock[] = []
  const endTurn = (): void => {
    if (said.length > 0) messages.push({ ...message, content: said })
    if (results.length > 0) messages.push({ role: 'user', content: results })
    said = []
    results = []
  }
  for (const block of content) {
    const isResult = isResultBlock(block) && isOwnId(block.tool_use_id)
    const id = isResult ? block.tool_use_id : block.id
    const call = isOwnId(id) ? recalled.get(id) : undefined
    // A file that a tool has made is told to the caller; to the model the result has told it.
    if (block.type === 'container_upload') continue
    if (isOwnBlock(block)) {
      if (call === undefined || taken.has(`${isResult} ${id}`)) continue
      taken.add(`${isResult} ${id}`)
    }
    // Behind the results of a turn another one begins.
    if (!isResult && results.length > 0) endTurn()
    if (call === undefined) said.push(withoutOwnCitations(block))
    else if (isResult) results.push(toToolResult(block, call))
    else said.push({ type: 'tool_use', id: block.id, name: call.name, input: call.input })
  }
  if (said.length > 0) messages.push({ ...message, content: said })
  return results
}

function toToolResult({ tool_use_id }: ContentBlock, { content, isError }: RecalledCall): ContentBlock {
  return { type: 'tool_result', tool_use_id, content, ...(isError && { is_error: true }) }
}

/** The calls that bear a mark, with their results, by their ids. */
function recallCalls(
  content: readonly ContentBlock[],
  isMarked: IsMarked,
  dropped: string[],
): ReadonlyMap<string, RecalledCall> {
  const recalled = new Map<string, RecalledCall>()
  const calls = new Map<string, ContentBlock>()
  for (const block of content) {
    if (isOwnId(block.id)) calls.set(block.id, block)
    if (!isResultBlock(block) || !isOwnId(block.tool_use_id)) continue
    const call = calls.get(block.tool_use_id)
    calls.delete(block.tool_use_id)
    const told = call === undefined ? null : recallCall(call, block, isMarked)
    if (told === null) nameDropped(block, dropped)
    else recalled.set(block.tool_use_id, told)
  }
  for (const call of calls.values()) nameDropped(call, dropped)
  return recalled
}

/** More kinds than there are tools: beyond it somebody makes them up. */
const MOST_NAMED = 32

function nameDropped({ type }: ContentBlock, dropped: string[]): void {
  const name = `messages.${/^[a-z0-9_]{1,64}$/.test(type) ? type : 'content'}`
  if (dropped.length < MOST_NAMED && !dropped.includes(name)) dropped.push(name)
}
