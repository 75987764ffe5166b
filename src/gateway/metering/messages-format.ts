/** The third-party messages format (contract/gateway 5) as the gateway runs and meters it. */

import type {
  BlockEvent,
  MessagesAnswer,
  MessagesEvent,
  MessagesRequest,
  StopFacts,
} from '../formats/messages.js'
import type { Finish } from '../formats/outcome.js'
import type { Said } from './estimate.js'
import { type Format, writesText } from './format.js'
import { estimateMessages, saidInBlocks } from './messages-estimate.js'

export const messagesFormat: Format<MessagesRequest, MessagesEvent, MessagesAnswer> = Object.freeze({
  name: 'messages',
  serves: writesText,
  face: (entry) => entry.messages,
  hear: (event, hearing) => {
    switch (event.type) {
      case 'block':
        note(event.event, hearing.said)
        return 'content'
      case 'stop':
        hearing.finish = finishOf(event.stop)
        return 'content'
      case 'start':
        return 'lifecycle'
      case 'usage':
        hearing.usage = event.usage
        // The caller's figures come with the end of the answer, in the provider's own words where there are any.
        return 'content'
    }
  },
  usageIn: (answer) => answer.usage,
  endOf: ({ stop }) => ({ finish: finishOf(stop), serviceTier: null }),
  saidIn: (answer) => saidInBlocks(answer.content),
  estimate: estimateMessages,
} satisfies Format<MessagesRequest, MessagesEvent, MessagesAnswer>)

function finishOf({ stop_reason: reason }: StopFacts): Finish | null {
  return reason === null ? null : { reason, native: reason }
}

function note(event: BlockEvent, said: Said): void {
  if (event.type !== 'content_block_delta') return
  const { text, thinking, partial_json: json } = event.delta
  if (typeof text === 'string') said.content.add(text)
  else if (typeof thinking === 'string') said.reasoning.add(thinking)
  else if (typeof json === 'string') said.content.add(json)
}
