/** Token counts of the messages format where a provider sends none. As approximate as `estimate.ts`. */
import type { Usage } from '../formats/canonical.js'
import { eachLeaf, textOfLeaf } from '../formats/content-parts.js'
import type { Block, MessagesRequest } from '../formats/messages.js'
import { ATTACHMENT_TOKENS, type CountTokens, MESSAGE_TOKENS, Said } from './estimate.js'

/** Everything a whole answer said. */
export function saidInBlocks(content: readonly Block[]): Said {
  const said = new Said()
  for (const block of content) {
    if (typeof block.thinking === 'string') said.reasoning.add(block.thinking)
    else said.content.add(textOf(block))
  }
  return said
}

/** Tokens of a request's input: text counted, images and documents at a flat rate, framing per message. */
export async function countInput(request: MessagesRequest, count: CountTokens): Promise<number> {
  const asked = [textOf(request.system ?? ''), ...request.messages.map(({ content }) => textOf(content))]
  const tools = request.tools === undefined ? '' : JSON.stringify(request.tools)
  const [prompt = 0, offered = 0] = await count([asked.join('\n'), tools])
  return (
    prompt + offered + request.messages.length * MESSAGE_TOKENS + attachments(request) * ATTACHMENT_TOKENS
  )
}

/** Usage of a call whose provider gave none. */
export async function estimateMessages(
  request: MessagesRequest,
  said: Said,
  count: CountTokens,
): Promise<Usage> {
  const [prompt, [content = 0, reasoning = 0]] = await Promise.all([
    countInput(request, count),
    count([said.content.kept, said.reasoning.kept]),
  ])
  const thought = said.reasoning.scaled(reasoning)
  return {
    prompt,
    completion: said.content.scaled(content) + thought,
    cached: 0,
    cacheWrite: 0,
    promptAudio: 0,
    reasoning: thought,
    completionAudio: 0,
  }
}

/** A line per text; parts that hold none are an empty line. */
function textOf(content: unknown): string {
  const lines: string[] = []
  eachLeaf(content, (leaf) => lines.push(textOfLeaf(leaf)))
  return lines.join('\n')
}

const ATTACHED: ReadonlySet<string> = new Set(['image', 'document', 'container_upload'])

function attachments({ messages }: MessagesRequest): number {
  let found = 0
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const { type } of content) if (ATTACHED.has(type)) found++
  }
  return found
}
