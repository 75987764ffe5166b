/** The bytes of the mock's answers in the messages format, as long and as many as those of chat. */
import { encodeText } from './mock-answers.js'

const ID = 'msg_bench00000000000000000000'

const messageHead = (model: string): object => ({ id: ID, type: 'message', role: 'assistant', model })

const CACHE = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

/** About 500 bytes. `tag` is repeated in the content. */
export function jsonMessage(model: string, tag = ''): string {
  const text = `The words of the benchmark are as many as they have to be. ${tag}`.trimEnd()
  const ended = { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null }
  return JSON.stringify({
    ...messageHead(model),
    content: [{ type: 'text', text, citations: [] }],
    ...ended,
    usage: { input_tokens: 12, output_tokens: 16, ...CACHE, service_tier: 'standard' },
  })
}

function messageEvent(data: { readonly type: string; readonly [member: string]: unknown }): Uint8Array {
  return encodeText(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)
}

/** All events of a stream in order; the tokens say the same words as those of chat. */
export function messageEvents(model: string, tokens: number, tag = ''): Uint8Array[] {
  const message = { ...messageHead(model), content: [], stop_reason: null, stop_sequence: null }
  const usage = { input_tokens: 12, output_tokens: 1, ...CACHE }
  return [
    messageEvent({ type: 'message_start', message: { ...message, usage } }),
    messageEvent({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'text', text: '', citations: [] },
    }),
    ...Array.from({ length: tokens }, (_, index) => textDelta(index, tag)),
    messageEvent({ type: 'content_block_stop', index: 0 }),
    messageEvent({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
      usage: { output_tokens: tokens },
    }),
    messageEvent({ type: 'message_stop' }),
  ]
}

function textDelta(index: number, tag: string): Uint8Array {
  const word = `w${String(index).padStart(4, '0')}`
  const text = tag === '' ? `${word} ` : `${word} ${tag} `
  return messageEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
}
