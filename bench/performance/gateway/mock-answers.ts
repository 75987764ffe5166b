/**
 * The bytes of the mock's answers in the formats of chat and of messages, serialised once; both are as long and as
 * many.
 */

const ID = 'chatcmpl-bench00000000000000000000'
const CREATED = 1_700_000_000
const FINGERPRINT = 'fp_bench0000'

/** About 500 bytes, as a short answer of a real provider has. `tag` is repeated in the content. */
export function jsonAnswer(model: string, tag = ''): string {
  const usage = {
    prompt_tokens: 12,
    completion_tokens: 16,
    total_tokens: 28,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  }
  const content = `The words of the benchmark are as many as they have to be. ${tag}`.trimEnd()
  const message = { role: 'assistant', content, refusal: null }
  return JSON.stringify({
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage,
    system_fingerprint: FINGERPRINT,
  })
}

function chatChunk(model: string, rest: object): string {
  const head = { id: ID, object: 'chat.completion.chunk', created: CREATED, model }
  return `data: ${JSON.stringify({ ...head, system_fingerprint: FINGERPRINT, ...rest })}\n\n`
}

function choiceChunk(model: string, delta: object, finishReason: string | null): string {
  return chatChunk(model, {
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
  })
}

/** The event that carries token `index`: `w0007 `, or `w0007 tag00000001 `. */
export function tokenEvent(model: string, index: number, tag = ''): string {
  const word = `w${String(index).padStart(4, '0')}`
  return choiceChunk(model, { content: tag === '' ? `${word} ` : `${word} ${tag} ` }, null)
}

/** What comes before the tokens. */
export function openingEvents(model: string): string[] {
  return [choiceChunk(model, { role: 'assistant', content: '' }, null)]
}

/** What comes after `tokens` tokens. */
export function closingEvents(model: string, tokens: number): string[] {
  const usage = { prompt_tokens: 12, completion_tokens: tokens, total_tokens: 12 + tokens }
  return [choiceChunk(model, {}, 'stop'), chatChunk(model, { choices: [], usage }), 'data: [DONE]\n\n']
}

const encoder = new TextEncoder()

/** Text as bytes: uWebSockets.js would convert a string again for every call. */
export const encodeText = (text: string): Uint8Array => encoder.encode(text)

/** All events of a stream in order. */
export function streamEvents(model: string, tokens: number, tag = ''): Uint8Array[] {
  const words = Array.from({ length: tokens }, (_, index) => tokenEvent(model, index, tag))
  return [...openingEvents(model), ...words, ...closingEvents(model, tokens)].map(encodeText)
}

const MESSAGE_ID = 'msg_bench00000000000000000000'

const messageHead = (model: string): object => ({ id: MESSAGE_ID, type: 'message', role: 'assistant', model })

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
