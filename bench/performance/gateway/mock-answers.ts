/** The bytes of the mock's answers, serialised once. */

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
