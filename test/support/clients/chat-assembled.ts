/** What the events of a streamed chat answer add up to. */

import type {
  AssistantMessage,
  ChatEvent,
  ChatFinish,
  Completion,
  ReasoningDetail,
  ToolCall,
  Usage,
} from '../../../src/gateway/formats/canonical.js'
import { type JsonObject, optionalMember } from '../../../src/gateway/formats/json-values.js'

/** The answer of the first choice. Throws where a fragment of a call comes before its begin, or the finish is missing. */
export function assembledCompletion(events: readonly ChatEvent[]): Completion {
  let content = ''
  let reasoning = ''
  let refusal = ''
  const details: ReasoningDetail[] = []
  const calls: ToolCall[] = []
  const annotations: JsonObject[] = []
  let finish: ChatFinish | null = null
  let fingerprint: string | undefined
  let usage: Usage | null = null
  let serviceTier: string | null = null
  for (const event of events) {
    if (event.type === 'usage') usage = event.usage
    else if (event.type === 'tier') serviceTier = event.serviceTier
    else if (event.type === 'finish') finish = event
    else if (event.type === 'fingerprint') fingerprint = event.fingerprint
    else {
      const { delta } = event
      content += delta.content ?? ''
      reasoning += delta.reasoning ?? ''
      refusal += delta.refusal ?? ''
      annotations.push(...(delta.annotations ?? []))
      for (const detail of delta.reasoning_details ?? []) join(details, detail)
      for (const { index, id, function: called } of delta.tool_calls ?? []) {
        if (id !== undefined)
          calls[index] = { id, type: 'function', function: { name: called.name ?? '', arguments: '' } }
        const call = calls[index]
        if (call === undefined) throw new Error(`a fragment of call ${index} before its begin`)
        calls[index] = {
          ...call,
          function: { ...call.function, arguments: call.function.arguments + (called.arguments ?? '') },
        }
      }
    }
  }
  if (finish === null) throw new Error('a stream without its finish')
  const message: AssistantMessage = {
    role: 'assistant',
    content: content === '' ? null : content,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(annotations.length === 0 ? {} : { annotations }),
  }
  const { reason: finishReason, native, stopSequence } = finish
  const told = { finishReason, native, ...optionalMember('stopSequence', stopSequence) }
  const choice = { index: 0, message, ...told, logprobs: null }
  return { choices: [choice], usage, serviceTier, ...optionalMember('fingerprint', fingerprint) }
}

/** Pieces of one detail carry the same index. */
function join(details: ReasoningDetail[], piece: ReasoningDetail): void {
  const at = details.findIndex(({ type, index }) => type === piece.type && index === piece.index)
  const before = details[at]
  if (before === undefined) {
    details.push(piece)
    return
  }
  const text = `${before.text ?? ''}${piece.text ?? ''}`
  details[at] = { ...before, ...piece, text }
}

/** Arguments as the value they are: servers space their JSON as they like. */
export function evenly({ choices, ...rest }: Completion): Completion {
  const even = (call: ToolCall): ToolCall => ({
    ...call,
    function: { ...call.function, arguments: JSON.stringify(JSON.parse(call.function.arguments)) },
  })
  return {
    ...rest,
    choices: choices.map((choice) => {
      const { tool_calls: calls } = choice.message
      if (calls === undefined) return choice
      return { ...choice, message: { ...choice.message, tool_calls: calls.map(even) } }
    }),
  }
}
