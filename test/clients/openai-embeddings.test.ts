/** The `openai` package, unmodified, embedding through the gateway: it asks for base64 and decodes it by itself. */
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway({ env: { SLUICE_WORKERS: '1' } })
tap.teardown(() => server.stop())
const client = new OpenAI({ apiKey: API_KEY, baseURL: server.apiUrl, maxRetries: 0 })

test('embeddings as the package asks for them, and as numbers', async (t) => {
  const input = ['The food was delicious.', 'The waiter was kind.']
  const decoded = await client.embeddings.create({ model: 'sim/embed', input, dimensions: 64 })
  const plain = await client.embeddings.create({
    model: 'sim/embed',
    input,
    dimensions: 64,
    encoding_format: 'float',
  })
  t.equal(decoded.data.length, 2)
  for (const [at, { embedding, index, object }] of decoded.data.entries()) {
    t.match({ index, object }, { index: at, object: 'embedding' })
    t.equal(embedding.length, 64)
    t.same([...embedding], plain.data[at]!.embedding)
  }
  t.match(decoded.usage, { prompt_tokens: 8, total_tokens: 8 })
})

test('a wrong request is the error that the package has for it', async (t) => {
  const failure = await failureOf(client.embeddings.create({ model: 'sim/embed', input: [] }))
  t.ok(failure instanceof OpenAI.BadRequestError)
})
