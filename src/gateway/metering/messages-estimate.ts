/** Token counts of the messages format where a provider sends none. As approximate as `estimate.ts`. */
import type { Usage } from '../formats/canonical.js'
import { contentLeafText, forEachContentLeaf } from '../formats/content-parts.js'
import type { ContentBlock, MessagesRequest } from '../formats/messages.js'
import { ATTACHMENT_TOKENS, type CountTokens, MESSAGE_TOKENS, OutputSample } from './estimate.js'

/** Everything a whole answer said. */
export function sampleBlocks(content: readonly ContentBlock[]): OutputSample {
  const said = new OutputSample()
  for (const block of content) {
    if (typeof block.thinking === 'string') said.reasoning.add(block.thinking)
    else said.content.add(contentText(block))
  }
  return said
}

/** Tokens of a request's input: text counted, images and documents at a flat rate, framing per message. */
export async function estimateInputTokens(request: MessagesRequest, count: CountTokens): Promise<number> {
  const asked = [
    contentText(request.system ?? ''),
    ...request.messages.map(({ content }) => contentText(content)),
  ]
  const tools = request.tools === undefined ? '' : JSON.stringify(request.tools)
  const [prompt = 0, offered = 0] = await count([asked.join('\n'), tools])
  return (
    prompt +
    offered +
    request.messages.length * MESSAGE_TOKENS +
    countAttachments(request) * ATTACHMENT_TOKENS
  )
}

/** Usage of a call whose provider gave none. */
export async function estimateMessagesUsage(
  request: MessagesRequest,
  said: OutputSample,
  count: CountTokens,
): Promise<Usage> {
  const [prompt, [content = 0, reasoning = 0]] = await Promise.all([
    estimateInputTokens(request, count),
    count([said.content.kept, said.reasoning.kept]),
  ])
  const thought = said.reasoning.extrapolate(reasoning)
  return {
    prompt,
    completion: said.content.extrapolate(content) + thought,
    cached: 0,
    cacheWrite: 0,
    promptAudio: 0,
    reasoning: thought,
    completionAudio: 0,
  }
}

/** A line per text; parts that hold none are an empty line. */
function contentText(content: unknown): string {
  const lines: string[] = []
  forEachContentLeaf(content, (leaf) => lines.push(contentLeafText(leaf)))
  return lines.join('\n')
}

const ATTACHED: ReadonlySet<string> = new Set(['image', 'document', 'container_upload'])

function countAttachments({ messages }: MessagesRequest): number {
  let found = 0
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const { type } of content) if (ATTACHED.has(type)) found++
  }
  return found
}
