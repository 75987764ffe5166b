/** The chat format (contract/gateway 2 to 4): the gateway's own events and answers. */
import type { ChatEvent, ChatRequest, Completion } from '../formats/canonical.js'
import { estimateChatUsage, type OutputSample, sampleCompletion } from './estimate.js'
import { type InferenceFormat, producesText } from './format.js'

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
  sampleOf: (completion) => sampleCompletion(completion),
  estimate: estimateChatUsage,
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
