/** Messages requests that work as they are, for the document. */

const QUESTION = [{ role: 'user', content: 'Say hello.' }] as const

export const MESSAGES_EXAMPLES = {
  whole: { model: 'sim/fast', max_tokens: 20, messages: QUESTION },
  streamed: { model: 'sim/fast', max_tokens: 40, messages: QUESTION, stream: true },
  thinking: {
    model: 'sim/reasoner',
    max_tokens: 2000,
    thinking: { type: 'enabled', budget_tokens: 1024 },
    messages: QUESTION,
  },
}

export const COUNT_EXAMPLES = { count: { model: 'sim/fast', messages: QUESTION } }
