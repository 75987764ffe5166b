/** The third-party messages format (contract/gateway 5) as the gateway runs and meters it. */

import type { AnswerFinish } from '../formats/canonical.js'
import { contentText } from '../formats/content-parts.js'
import {
  type ContentBlock,
  type ContentBlockEvent,
  type MessagesAnswer,
  type MessagesEvent,
  type MessagesRequest,
  type StopInfo,
  servedTier,
} from '../formats/messages.js'
import {
  type CountTexts,
  estimateUsage,
  type InferenceFormat,
  OutputSample,
  type PromptSample,
  producesText,
  samplePrompt,
} from './format.js'

export const messagesFormat: InferenceFormat<MessagesRequest, MessagesEvent, MessagesAnswer> = Object.freeze({
  name: 'messages',
  serves: producesText,
  apiOf: (entry) => entry.messages,
  observe: (event, hearing) => {
    switch (event.type) {
      case 'block':
        sampleBlockEvent(event.event, hearing.sample)
        return isEmptyBegin(event.event) ? 'lifecycle' : 'content'
      case 'stop':
        hearing.finish = answerFinish(event.stop)
        return 'content'
      case 'start':
        hearing.serviceTier = servedTier(event.usage)
        return 'lifecycle'
      case 'usage':
        hearing.usage = event.usage
        hearing.serviceTier = event.serviceTier ?? servedTier(event.wire) ?? hearing.serviceTier
        // Told with the end of the answer, in the provider's own words; without an answer it is told to nobody.
        return 'lifecycle'
    }
  },
  usageOf: (answer) => answer.usage,
  finishOf: ({ stop, serviceTier, wireUsage }) => ({
    finish: answerFinish(stop),
    serviceTier: serviceTier ?? servedTier(wireUsage),
    images: 0,
  }),
  sampleOf: (answer) => sampleBlocks(answer.content),
  estimate: (request, sample, count) => estimateUsage(sampleMessages(request), sample, count),
} satisfies InferenceFormat<MessagesRequest, MessagesEvent, MessagesAnswer>)

function answerFinish({ stop_reason: reason }: StopInfo): AnswerFinish | null {
  return reason === null ? null : { reason, native: reason }
}

/** A text that begins and has said nothing yet: until it does, another endpoint may take over. */
function isEmptyBegin(event: ContentBlockEvent): boolean {
  if (event.type !== 'content_block_start') return false
  const { type, text, thinking } = event.content_block
  return (type === 'text' && text === '') || (type === 'thinking' && thinking === '')
}

function sampleBlockEvent(event: ContentBlockEvent, said: OutputSample): void {
  if (event.type !== 'content_block_delta') return
  const { text, thinking, partial_json: json } = event.delta
  if (typeof text === 'string') said.content.add(text)
  else if (typeof thinking === 'string') said.reasoning.add(thinking)
  else if (typeof json === 'string') said.content.add(json)
}

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
export async function countInputTokens(request: MessagesRequest, count: CountTexts) {
  const { text, tools, framing } = sampleMessages(request)
  const { counts, areGuessed } = await count([text, tools])
  const [prompt = 0, offered = 0] = counts
  return { tokens: prompt + offered + framing, areGuessed }
}

function sampleMessages(request: MessagesRequest): PromptSample {
  const { system = '', messages } = request
  return samplePrompt([system, ...messages.map(({ content }) => content)].map(contentText), request)
}
