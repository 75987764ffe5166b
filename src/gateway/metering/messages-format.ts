/** The third-party messages format (contract/gateway 5) as the gateway runs and meters it. */

import type {
  ContentBlockEvent,
  MessagesAnswer,
  MessagesEvent,
  MessagesRequest,
  StopInfo,
} from '../formats/messages.js'
import type { AnswerFinish } from '../formats/outcome.js'
import type { OutputSample } from './estimate.js'
import { type InferenceFormat, producesText } from './format.js'
import { estimateMessagesUsage, sampleBlocks } from './messages-estimate.js'

export const messagesFormat: InferenceFormat<MessagesRequest, MessagesEvent, MessagesAnswer> = Object.freeze({
  name: 'messages',
  serves: producesText,
  apiOf: (entry) => entry.messages,
  observe: (event, hearing) => {
    switch (event.type) {
      case 'block':
        sampleBlockEvent(event.event, hearing.sample)
        return 'content'
      case 'stop':
        hearing.finish = answerFinish(event.stop)
        return 'content'
      case 'start':
        return 'lifecycle'
      case 'usage':
        hearing.usage = event.usage
        // The caller's figures come with the end of the answer, in the provider's own words where there are any.
        return 'content'
    }
  },
  usageOf: (answer) => answer.usage,
  finishOf: ({ stop }) => ({ finish: answerFinish(stop), serviceTier: null }),
  sampleOf: (answer) => sampleBlocks(answer.content),
  estimate: estimateMessagesUsage,
} satisfies InferenceFormat<MessagesRequest, MessagesEvent, MessagesAnswer>)

function answerFinish({ stop_reason: reason }: StopInfo): AnswerFinish | null {
  return reason === null ? null : { reason, native: reason }
}

function sampleBlockEvent(event: ContentBlockEvent, said: OutputSample): void {
  if (event.type !== 'content_block_delta') return
  const { text, thinking, partial_json: json } = event.delta
  if (typeof text === 'string') said.content.add(text)
  else if (typeof thinking === 'string') said.reasoning.add(thinking)
  else if (typeof json === 'string') said.content.add(json)
}
