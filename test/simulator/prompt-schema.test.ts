/** JSON for schemas that stand in the words of a prompt. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { test } from 'tap'
import type { ChatMessage, ChatRequest } from '../../src/gateway/formats/canonical.js'
import { runCompletion, userRequest } from './calls.js'

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'A "name" with {braces}.' },
    age: { type: 'integer', minimum: 18, maximum: 30 },
    schema: { type: 'object', properties: { version: { const: 3 } }, required: ['version'] },
  },
  required: ['name', 'age', 'schema'],
  additionalProperties: false,
  $schema: 'https://json-schema.org/draft/2020-12/schema',
}
const JSON_OF_SCHEMA = JSON.stringify(SCHEMA)
const PRETTY = JSON.stringify(SCHEMA, null, 2)
const fits = new Ajv2020().compile(SCHEMA)
const EXAMPLE = '{"properties": {"foo": {"type": "array", "items": {"type": "string"}}}, "required": ["foo"]}'

function answerOf(request: ChatRequest): string {
  const { completion, outcome } = runCompletion(request, 'sim/instant')
  return (completion?.choices[0]?.message.content as string) ?? JSON.stringify(outcome)
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

const underSystem = (content: string): ChatRequest => ({
  messages: [
    { role: 'system', content },
    { role: 'user', content: 'Somebody.' },
  ],
})

/** In the words of public libraries, shortened. */
const PROMPTS: readonly (readonly [who: string, request: ChatRequest])[] = [
  [
    'a system message',
    underSystem(`You will return fully valid JSON.\n\n description: \n json schema: ${JSON_OF_SCHEMA}\n`),
  ],
  [
    'a schema before the rule',
    underSystem(
      `JSON schema:\n${JSON_OF_SCHEMA}\nYou MUST answer with a JSON object that matches the JSON schema above.`,
    ),
  ],
  [
    'the user',
    userRequest(
      `Somebody.\n\nOutput should be in JSON format and conform to the following schema:\n\n\`\`\`\n${JSON_OF_SCHEMA}\n\`\`\`\n`,
    ),
  ],
  [
    'an example before it',
    userRequest(
      `For example, the example "JSON Schema" instance ${EXAMPLE} would match an object. Thus, the object {"foo": ["bar"]} is a well-formatted instance of this example "JSON Schema". Here is the JSON Schema instance your output must adhere to:\n\`\`\`json\n${PRETTY}\n\`\`\``,
    ),
  ],
  [
    'json_object beside it',
    { ...underSystem(`json schema: ${JSON_OF_SCHEMA}`), response_format: { type: 'json_object' } },
  ],
]

for (const [who, request] of PROMPTS) {
  test(`JSON under the schema of ${who}`, async (t) => {
    const answer = answerOf(request)
    t.ok(fits(JSON.parse(answer)), answer)
    t.equal(answerOf(request), answer, 'the same again')
  })
}

const PLAIN: readonly (readonly [what: string, request: ChatRequest])[] = [
  ['tools told in words', underSystem(`Answer in JSON or not. ### tool\n Input Schema:\n ${JSON_OF_SCHEMA}`)],
  ['a schema that nobody calls JSON', userRequest(`The schema: ${JSON_OF_SCHEMA}`)],
  ['an object that is no schema', userRequest('JSON schema: {"name":"x"}')],
  ['a schema that is cut off', userRequest(`JSON schema: ${EXAMPLE.slice(0, -2)}`)],
  [
    'a schema that nothing fits',
    userRequest('JSON schema: {"properties":{"a":{"not":{}}},"required":["a"]}'),
  ],
  ['echo', userRequest(`echo: JSON schema: ${JSON_OF_SCHEMA}`)],
  [
    'a schema of an earlier turn',
    {
      messages: [
        { role: 'user', content: `JSON schema: ${JSON_OF_SCHEMA}` },
        { role: 'assistant', content: '{}' },
        { role: 'user', content: 'Thanks.' },
      ] satisfies ChatMessage[],
    },
  ],
]

for (const [what, request] of PLAIN) {
  test(`a text after ${what}`, async (t) => {
    t.notOk(isJson(answerOf(request)))
  })
}

const HOSTILE: readonly (readonly [what: string, text: string])[] = [
  ['beginnings of schemas', 'JSON schema {"properties":'.repeat(200_000)],
  [
    'schemas in each other that end badly',
    `JSON ${'{"schema":'.repeat(300)}[${'1,'.repeat(30_000)}!]${'}'.repeat(300)}`.repeat(50),
  ],
  ['the word alone', 'JSON schema '.repeat(300_000)],
]

for (const [what, text] of HOSTILE) {
  test(`a prompt of ${what} costs a bounded time`, async (t) => {
    const began = performance.now()
    t.notOk(isJson(answerOf(userRequest(text))))
    t.ok(performance.now() - began < 3_000, 'far more without a bound')
  })
}
