import type { ChatMessage, ReasoningEffort } from './canonical.js'

/** A message may change the effort from there on (contract/gateway 2.2). The answer comes after the last of them. */
export function latestEffortUpdate(messages: readonly ChatMessage[]): ReasoningEffort | undefined {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]!
    if (message.role !== 'system' && message.role !== 'developer') continue
    const effort = message.configuration_update?.reasoning.effort
    if (effort !== undefined) return effort
  }
  return undefined
}
