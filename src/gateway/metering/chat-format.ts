/** The chat format (contract/gateway 2 to 4): the gateway's own events and answers. */
import type {
  AssistantMessage,
  ChatEvent,
  ChatMessage,
  ChatRequest,
  Completion,
  ContentPart,
} from '../formats/canonical.js'
import { estimateUsage, type InferenceFormat, OutputSample, producesText, samplePrompt } from './format.js'

export const chatFormat: InferenceFormat<ChatRequest, ChatEvent, Completion> = Object.freeze({
  name: 'chat',
  serves: producesText,
  apiOf: (entry) => entry.provider,
  observe: (event, hearing) => {
    switch (event.type) {
      case 'delta':
        sampleDelta(event, hearing.sample)
        return 'content'
      case 'finish':
        if (event.choice === 0) hearing.finish = event
        return 'content'
      case 'usage':
        hearing.usage = event.usage
        return 'bookkeeping'
      case 'tier':
        hearing.serviceTier = event.serviceTier
        return 'bookkeeping'
    }
  },
  usageOf: (completion) => completion.usage,
  finishOf: ({ choices: [first], serviceTier }) => ({
    finish: first === undefined ? null : { reason: first.finishReason, native: first.native },
    serviceTier,
  }),
  sampleOf: sampleCompletion,
  estimate: (request, sample, count) => {
    const text = request.messages.map(chatMessageText).join('\n')
    return estimateUsage(samplePrompt(text, countAttachments(request), request), sample, count)
  },
} satisfies InferenceFormat<ChatRequest, ChatEvent, Completion>)

function sampleDelta({ delta }: ChatEvent & { readonly type: 'delta' }, said: OutputSample): void {
  if (delta.content !== undefined) said.content.add(delta.content)
  if (delta.refusal !== undefined) said.content.add(delta.refusal)
  if (delta.reasoning !== undefined) said.reasoning.add(delta.reasoning)
  if (delta.tool_calls === undefined) return
  for (const { function: called } of delta.tool_calls) {
    said.content.add((called.name ?? '') + (called.arguments ?? ''))
  }
}

/** Everything a whole answer said. */
function sampleCompletion({ choices }: Completion): OutputSample {
  const said = new OutputSample()
  for (const { message } of choices) {
    said.content.add(assistantText(message))
    said.reasoning.add(message.reasoning ?? '')
  }
  return said
}

function assistantText({ content, refusal, tool_calls: calls = [] }: AssistantMessage): string {
  const called = calls.map(({ function: { name, arguments: given } }) => `${name}${given}`)
  return [content ?? '', refusal ?? '', ...called].join('')
}

function chatMessageText(message: ChatMessage): string {
  const { content } = message
  const calls = 'tool_calls' in message ? (message.tool_calls ?? []) : []
  const called = calls.map(({ function: { name, arguments: given } }) => `${name}${given}`).join('')
  if (content === undefined || content === null) return called
  if (typeof content === 'string') return content + called
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n') + called
}

function countAttachments({ messages }: ChatRequest): number {
  let count = 0
  for (const { content } of messages) {
    if (Array.isArray(content))
      count += (content as readonly ContentPart[]).filter(({ type }) => type !== 'text').length
  }
  return count
}
