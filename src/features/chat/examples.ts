/** Chat requests that work as they are, for the document. */

const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
} as const

export const CHAT_EXAMPLES = {
  whole: {
    model: 'sim/fast',
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 20,
  },
  streamed: {
    model: 'sim/fast',
    messages: [
      { role: 'system', content: 'Answer in one sentence.' },
      { role: 'user', content: 'What is a sluice?' },
    ],
    stream: true,
    max_tokens: 40,
  },
  tools: {
    model: 'sim/fast',
    messages: [{ role: 'user', content: 'What time is it in Lisbon?' }],
    tools: [
      {
        type: 'function',
        function: { name: 'get_time', description: 'The time in a city.', parameters: CITY },
      },
    ],
  },
  structured: {
    model: 'sim/fast',
    messages: [{ role: 'user', content: 'Name a city.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: CITY } },
  },
  fallbacks: {
    model: 'sim/fast',
    models: ['sim/reasoner'],
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 20,
    provider: { sort: 'latency', data_collection: 'deny' },
  },
}
