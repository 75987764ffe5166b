/** Embeddings, which every client library has, asked for by six of them, unmodified. */
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAIEmbeddings } from '@langchain/openai'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { OpenRouter } from '@openrouter/sdk'
import { cosineSimilarity, embed, embedMany } from 'ai'
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const account = { baseURL: server.apiUrl, apiKey: API_KEY }
const TEXTS = ['a cat on a mat', 'a cat on a rug', 'interest rates of banks']

const openai = new OpenAI({ ...account, maxRetries: 0 })

// The package asks for base64 by itself, and gives numbers.
test('openai: one text, several, and numbers as they come', async (t) => {
  const one = await openai.embeddings.create({ model: 'sim/embed', input: TEXTS[0]! })
  t.match(one, { object: 'list', model: 'sim/embed', usage: { prompt_tokens: Number } })
  const many = await openai.embeddings.create({ model: 'sim/embed', input: TEXTS, dimensions: 64 })
  t.strictSame(
    many.data.map(({ index, embedding }) => [index, embedding.length]),
    TEXTS.map((_, index) => [index, 64]),
  )
  const plain = await openai.embeddings.create({
    model: 'sim/embed',
    input: TEXTS,
    dimensions: 64,
    encoding_format: 'float',
  })
  for (const [at, { embedding }] of plain.data.entries()) {
    for (const [place, value] of embedding.entries()) {
      t.ok(Math.abs(value - many.data[at]!.embedding[place]!) < 1e-6)
    }
  }
})

const MODELS = [
  ['@ai-sdk/openai', createOpenAI(account).embedding('sim/embed')],
  [
    '@ai-sdk/openai-compatible',
    createOpenAICompatible({ name: 'sluice', ...account }).embeddingModel('sim/embed'),
  ],
  ['@openrouter/ai-sdk-provider', createOpenRouter(account).textEmbeddingModel('sim/embed')],
] as const

for (const [name, model] of MODELS) {
  test(`${name}: what is alike lies closer together`, async (t) => {
    const { embeddings, usage } = await embedMany({ model, values: TEXTS, maxRetries: 0 })
    const [cat, likewise, banks] = embeddings as [number[], number[], number[]]
    t.ok(cosineSimilarity(cat, likewise) > cosineSimilarity(cat, banks))
    t.ok(usage.tokens > 0)
    const { embedding } = await embed({ model, value: TEXTS[0]!, maxRetries: 0 })
    t.strictSame(embedding, cat)
  })
}

test('@langchain/openai: a question and documents', async (t) => {
  const embeddings = new OpenAIEmbeddings({
    model: 'sim/embed',
    apiKey: API_KEY,
    maxRetries: 0,
    configuration: { baseURL: server.apiUrl },
  })
  const documents = await embeddings.embedDocuments(TEXTS)
  t.equal(documents.length, 3)
  t.strictSame(await embeddings.embedQuery(TEXTS[0]!), documents[0])
})

test('@openrouter/sdk: vectors, and which models make them', async (t) => {
  const client = new OpenRouter({
    serverURL: server.apiUrl,
    apiKey: API_KEY,
    retryConfig: { strategy: 'none' },
  })
  const made = await client.embeddings.generate({ requestBody: { model: 'sim/embed', input: TEXTS } })
  t.match(made, { object: 'list', model: 'sim/embed', data: [{ index: 0 }, { index: 1 }, { index: 2 }] })
  const { result } = await client.models.list({ outputModalities: 'embeddings' })
  t.strictSame(
    result.data.map(({ id }) => id),
    ['sim/embed'],
  )
  const error = await failureOf(client.embeddings.listModels())
  t.match(String((error as { body?: string }).body), /models\?output_modalities=embeddings/)
})
