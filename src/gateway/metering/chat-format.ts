/** The chat format (contract/gateway 2 to 4): the gateway's own events and answers. */
import type { ChatRequest, Completion, InferenceEvent } from '../formats/canonical.js'
import { estimateUsage, type Said, saidIn } from './estimate.js'
import { type Format, writesText } from './format.js'

export const chatFormat: Format<ChatRequest, InferenceEvent, Completion> = Object.freeze({
  name: 'chat',
  serves: writesText,
  face: (entry) => entry.provider,
  hear: (event, hearing) => {
    switch (event.type) {
      case 'delta':
        note(event, hearing.said)
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
  usageIn: (completion) => completion.usage,
  endOf: ({ choices: [first], serviceTier }) => ({
    finish: first === undefined ? null : { reason: first.finishReason, native: first.native },
    serviceTier,
  }),
  saidIn: (completion) => saidIn(completion),
  estimate: estimateUsage,
} satisfies Format<ChatRequest, InferenceEvent, Completion>)

function note({ delta }: InferenceEvent & { readonly type: 'delta' }, said: Said): void {
  if (delta.content !== undefined) said.content.add(delta.content)
  if (delta.refusal !== undefined) said.content.add(delta.refusal)
  if (delta.reasoning !== undefined) said.reasoning.add(delta.reasoning)
  if (delta.tool_calls === undefined) return
  for (const { function: called } of delta.tool_calls) {
    said.content.add((called.name ?? '') + (called.arguments ?? ''))
  }
}
