import { test } from 'tap'
import { chatBody } from '../../../src/features/chat/schema.js'
import { gateway } from '../../../src/http/dialects/gateway.js'
import { defineEndpoint } from '../../../src/http/endpoint.js'
import { openApiDocument } from '../../../src/http/openapi.js'
import { noContentReply } from '../../../src/http/reply.js'
import {
  DocumentRules,
  documentFaults,
  type OpenApiDocument,
} from '../../support/schemas/openapi-validator.js'
import { SMALLEST, withMembers, withMessage, withPart } from './chat-bodies.js'

const chat = defineEndpoint({
  name: 'chat',
  method: 'POST',
  path: '/chat',
  summary: 'Chat',
  tag: 'chat',
  dialect: gateway,
  body: chatBody,
  replies: { 204: { description: 'Nothing' } },
  handle: () => noContentReply(),
})
const document: OpenApiDocument = JSON.parse(
  JSON.stringify(
    openApiDocument([chat], { info: { title: 'Probe', version: '1.0', description: 'For tests' }, tags: [] }),
  ),
)

test('the document of the chat body is valid, and its big parts stand among the components', async (t) => {
  t.same(await documentFaults(document), [])
  t.same(
    Object.keys(document.components.schemas)
      .filter((name) => !name.includes('Error'))
      .sort(),
    [
      ...['CacheControl', 'ChatRequest', 'ContentPart', 'FunctionTool', 'Message', 'Plugin'],
      ...['ProviderPreferences', 'ReasoningDetail', 'ResponseFormat', 'StopCondition', 'TextPart', 'Tool'],
      ...['ToolCall', 'ToolChoice'],
    ],
  )
})

test('the document names no brand', async (t) => {
  t.notMatch(JSON.stringify(document), /openrouter/i)
})

test('the document takes what the server takes', async (t) => {
  const rules = new DocumentRules(document)
  for (const body of [
    SMALLEST,
    withMembers({ temperature: 2, top_k: 0, seed: -1, stop: ['a'], logit_bias: { 5: -100 }, unknown: 1 }),
    withMembers({
      metadata: { k: 'v' },
      provider: { x: 1, sort: { by: 'price' }, max_price: { prompt: '1' } },
    }),
    withMembers({
      tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
      tool_choice: 'auto',
    }),
    withMembers({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } }),
    withMembers({ plugins: [{ id: 'web', enabled: false }], reasoning: { effort: null } }),
    withMembers({ n: 1, transforms: [], debug: {}, trace: { trace_id: 'a', b: [] } }),
    withMessage({ role: 'assistant', content: null, reasoning_details: [{ type: 'x', more: 1 }] }),
    withPart({ type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } }),
  ])
    t.ok(rules.takesBody('chat', body), JSON.stringify(body))
})

test('the document refuses what breaks a type or a bound', async (t) => {
  const rules = new DocumentRules(document)
  const pairs = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v']))
  for (const body of [
    {},
    { model: 'a/b', messages: [] },
    withMembers({ model: '' }),
    withMembers({ temperature: 2.1 }),
    withMembers({ max_tokens: 0 }),
    withMembers({ top_k: '5' }),
    withMembers({ logit_bias: { 5: 'x' } }),
    withMembers({ stop: ['1', '2', '3', '4', '5'] }),
    withMembers({ metadata: pairs }),
    withMembers({ metadata: { k: 'v'.repeat(513) } }),
    withMembers({ session_id: 'x'.repeat(257) }),
    withMembers({ reasoning_effort: 'huge' }),
    withMembers({ tools: [{ type: 'function', function: { name: 'with space' } }] }),
    withMembers({ tools: [{ type: 'gadget' }] }),
    withMembers({ plugins: [{ id: 'teleport' }] }),
    withMembers({ plugins: [{ id: 'alignment', rules: ['a'], more: 1 }] }),
    withMembers({ stop_server_tools_when: [] }),
    withMessage({ role: 'wizard', content: 'a' }),
    withMessage({ role: 'user' }),
    withPart({ type: 'smell' }),
  ])
    t.notOk(rules.takesBody('chat', body), JSON.stringify(body).slice(0, 120))
})

test('the document says of what is known and not carried out that it is refused', async (t) => {
  const { properties } = document.components.schemas.ChatRequest as unknown as {
    readonly properties: Readonly<Record<string, { readonly description?: string }>>
  }
  for (const name of ['plugins', 'tools']) t.match(properties[name]?.description, /refused with 400/i, name)
  for (const name of ['n', 'store', 'background', 'conversation', 'mcp_servers', 'preset'])
    t.match(properties[name]?.description, /^Not carried out by this version: /, name)
})
