/** What the faulty provider says when it says something. */

const WORDS = ['The ', 'lamp ', 'was ', 'lit ', 'before ', 'the ', 'ship ', 'came ', 'home.']

/** The whole answer, and as much of it as has been said when a stream breaks. */
export const FULL_TEXT = WORDS.join('')
export const HALF_TEXT = WORDS.slice(0, 4).join('')
/** What is left of an answer that the provider's own filter has ended. */
export const FILTERED_TEXT = WORDS.slice(0, 2).join('')

/** What the provider counts for the answer. */
export const ANSWER_USAGE = { prompt: 20, completion: 9 } as const
/** What it counts for one that it then fails; large, so that a bill with it in would show. */
export const FAILED_CALL_USAGE = { prompt: 70_000, completion: 90_000 } as const

interface TokenCounts {
  readonly prompt: number
  readonly completion: number
}

function usageBody({ prompt, completion }: TokenCounts): object {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/** A whole answer. */
export function completionBody(
  model: string,
  content: string,
  finish = 'stop',
  counted: TokenCounts = ANSWER_USAGE,
): object {
  return {
    id: 'chatcmpl-drill',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
    usage: usageBody(counted),
  }
}

/** One event of a streamed answer. */
export function chunkBody(model: string, delta: object, finish: string | null = null): object {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return { id: 'chatcmpl-drill', object: 'chat.completion.chunk', created: 1, model, choices }
}

/** The event that tells what was consumed. */
export function usageChunkBody(model: string, counted: TokenCounts = ANSWER_USAGE): object {
  return { ...chunkBody(model, {}), choices: [], usage: usageBody(counted) }
}

/** The events of a text, a word in each, without an end. */
export function textChunks(model: string, text: string): object[] {
  const words = text.match(/\S+\s*/g) ?? []
  return [
    chunkBody(model, { role: 'assistant', content: '' }),
    ...words.map((content) => chunkBody(model, { content })),
  ]
}

/** The events of a text with its end and what it consumed. */
export function completeAnswerChunks(model: string, text: string, finish = 'stop'): object[] {
  return [...textChunks(model, text), chunkBody(model, {}, finish), usageChunkBody(model)]
}
