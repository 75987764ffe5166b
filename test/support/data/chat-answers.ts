/** Answers of an ordinary chat server. */
const answerOf = (object: string, choice: object, more: object) => ({
  id: 'chatcmpl-1',
  object,
  created: 1,
  model: 'their-name',
  choices: [{ index: 0, ...choice }],
  ...more,
})

/** A chunk with one choice. */
export const chunk = (delta: unknown, finish: string | null = null, more: object = {}) =>
  answerOf('chat.completion.chunk', { delta, finish_reason: finish }, more)

/** A whole answer with one message. */
export const answer = (message: unknown, more: object = {}) =>
  answerOf('chat.completion', { message, finish_reason: 'stop' }, more)
