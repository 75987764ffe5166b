/** The models and providers operations (contract/gateway 11.1 and 11.2), behind the real pipeline and a real socket. */

import Anthropic from '@anthropic-ai/sdk'
import { OpenRouter } from '@openrouter/sdk'
import OpenAI from 'openai'
import tap, { type Test, test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { ANONYMOUS } from '../../../src/base/principal.js'
import { readGateway } from '../../../src/compose/configuration.js'
import { modelEndpoints } from '../../../src/features/models/endpoints.js'
import { buildCatalog, type Catalog } from '../../../src/gateway/catalog/catalog.js'
import type { Provider } from '../../../src/gateway/providers/port/provider.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'
import { openApiDocument } from '../../../src/http/openapi.js'
import { type HttpReply, httpClient } from '../../support/clients/http-client.js'
import { recordServedCall, routingState } from '../../support/providers/routing.js'
import { DocumentRules, type OpenApiDocument } from '../../support/schemas/openapi-validator.js'
import { startEdge } from '../../support/servers/native-edge.js'
import { pipelineOf } from '../../support/servers/pipeline.js'

const KEY = 'sk-test-0123456789'

const FILE = {
  simulated_models: false,
  providers: {
    local: {
      kind: 'openai',
      name: 'Local server',
      base_url: 'http://127.0.0.1:1/v1',
      api_key_env: 'LOCAL',
      privacy_policy_url: 'https://example.com/privacy',
    },
    private: { kind: 'simulated', zero_data_retention: true },
  },
  models: {
    'acme/large': {
      name: 'Acme Large',
      description: 'Big.',
      created: 1_700_000_000,
      categories: ['programming', 'translation'],
      context_length: 128_000,
      max_completion_tokens: 8_000,
      input_modalities: ['text', 'image'],
      knowledge_cutoff: '2025-01-31',
      endpoints: [
        {
          provider: 'local',
          upstream_model: 'large-v1',
          quantization: 'fp8',
          supported_parameters: ['tools', 'tool_choice'],
          prices: {
            prompt: '0.0000025',
            completion: 0.00001,
            input_cache_read: 2.5e-7,
            input_audio: '0.00004',
          },
        },
        { provider: 'private', context_length: 32_000, supported_parameters: ['seed'] },
      ],
    },
    'acme/large:free': { created: 1_800_000_000, endpoints: [{ provider: 'private' }] },
    'acme/painter': { output_modalities: ['image'], endpoints: [{ provider: 'private' }] },
    'zeta/small.v1': {
      context_length: 4_000,
      endpoints: [{ provider: 'local', prices: { prompt: '0.000001' } }],
    },
  },
}

function catalogOf(file: Record<string, unknown>): Catalog {
  const { gateway, faults } = readGateway(file, { LOCAL: 'sk-upstream-canary' })
  if (gateway === null) throw new Error(JSON.stringify(faults))
  return buildCatalog(gateway, { createProvider: () => ({}) as Provider, messagesOver: messagesOverChat })
}

interface Served {
  readonly url: string
  get(path: string, authorization?: string): Promise<HttpReply>
  use(catalog: Catalog): void
}

async function serve(t: Test): Promise<Served> {
  let catalog = catalogOf(FILE)
  const { health } = routingState()
  // Each is the best at one thing; the free one was never called.
  recordServedCall(health, catalog.model('zeta/small.v1')!.endpoints[0]!, 900, 500)
  recordServedCall(health, catalog.model('acme/large')!.endpoints[1]!, 20, 100)
  const { routes } = pipelineOf(
    modelEndpoints(() => catalog, health),
    {
      authority: {
        authorize: (authorization, _apiKey, _operation, access) => {
          if (access !== 'anyone' && authorization !== `Bearer ${KEY}`) throw new Fault('unauthenticated')
          return ANONYMOUS
        },
      },
    },
  )
  const { port } = await startEdge(t, routes)
  const url = `http://127.0.0.1:${port}`
  const client = httpClient(url)
  t.teardown(() => client.close())
  return {
    url,
    get: (path, authorization) =>
      client.send({ method: 'GET', path, headers: authorization === undefined ? {} : { authorization } }),
    use: (next) => {
      catalog = next
    },
  }
}

const { url, get } = await serve(tap)

interface ListBody {
  readonly data: readonly { readonly id: string }[]
  readonly links: { readonly next: string | null }
  readonly total_count: number
}

function idsOf({ json }: HttpReply): string[] {
  return (json as ListBody).data.map(({ id }) => id)
}

test('11.1: the list needs no key and has every required member', async (t) => {
  const reply = await get('/api/v1/models')
  t.equal(reply.status, 200)
  t.equal(reply.headers['content-type'], 'application/json')
  t.same(idsOf(reply), ['acme/large', 'acme/large:free', 'zeta/small.v1'], 'text models, by id')
  const { data, ...rest } = reply.json as ListBody
  t.same(rest, { object: 'list', links: { next: null }, total_count: 3 })
  t.same(data[0], {
    id: 'acme/large',
    object: 'model',
    owned_by: 'acme',
    canonical_slug: 'acme/large',
    name: 'Acme Large',
    created: 1_700_000_000,
    description: 'Big.',
    context_length: 128_000,
    architecture: {
      modality: 'text+image->text',
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      instruct_type: null,
    },
    pricing: {
      prompt: '0.0000025',
      completion: '0.00001',
      input_cache_read: '0.00000025',
      audio: '0.00004',
    },
    top_provider: { is_moderated: false, context_length: 128_000, max_completion_tokens: 8_000 },
    per_request_limits: null,
    supported_parameters: ['tools', 'tool_choice', 'seed'],
    default_parameters: null,
    supported_voices: null,
    knowledge_cutoff: '2025-01-31',
    hugging_face_id: null,
    links: { details: '/api/v1/models/acme/large/endpoints' },
  })
  t.match(data[1], {
    name: 'acme/large:free',
    context_length: null,
    pricing: { prompt: '0', completion: '0' },
  })
})

const FILTERS: readonly (readonly [query: string, ids: readonly string[]])[] = [
  ['output_modalities=all', ['acme/large', 'acme/large:free', 'acme/painter', 'zeta/small.v1']],
  ['output_modalities=image', ['acme/painter']],
  ['output_modalities=image,%20text', ['acme/large', 'acme/large:free', 'acme/painter', 'zeta/small.v1']],
  ['output_modalities=', ['acme/large', 'acme/large:free', 'zeta/small.v1']],
  ['output_modalities=video', []],
  ['input_modalities=image,text', ['acme/large']],
  ['input_modalities=audio', []],
  ['supported_parameters=tools,seed', ['acme/large', 'acme/large:free', 'zeta/small.v1']],
  ['supported_parameters=temperature', ['acme/large:free', 'zeta/small.v1']],
  ['q=LARGE', ['acme/large', 'acme/large:free']],
  ['q=acme+l', ['acme/large']],
  ['q=nothing', []],
  ['category=programming', ['acme/large']],
  ['category=roleplay', []],
  ['context=4000', ['acme/large', 'zeta/small.v1']],
  ['min_price=1', ['acme/large', 'zeta/small.v1']],
  ['min_price=1&max_price=1.5', ['zeta/small.v1']],
  ['max_price=0', ['acme/large:free']],
  ['sort=newest', ['acme/large:free', 'acme/large', 'zeta/small.v1']],
  ['sort=pricing-low-to-high', ['acme/large:free', 'zeta/small.v1', 'acme/large']],
  ['sort=pricing-high-to-low', ['acme/large', 'zeta/small.v1', 'acme/large:free']],
  ['sort=context-high-to-low', ['acme/large', 'zeta/small.v1', 'acme/large:free']],
  ['sort=throughput-high-to-low', ['zeta/small.v1', 'acme/large', 'acme/large:free']],
  ['sort=latency-low-to-high', ['acme/large', 'zeta/small.v1', 'acme/large:free']],
  ['unknown=1', ['acme/large', 'acme/large:free', 'zeta/small.v1']],
]

test('11.1: the list can be filtered and sorted, and the count counts what a filter leaves', async (t) => {
  for (const [query, ids] of FILTERS) {
    const reply = await get(`/api/v1/models?${query}`)
    t.same(idsOf(reply), ids, query)
    t.equal((reply.json as ListBody).total_count, ids.length)
    t.same((await get(`/api/v1/models/count?${query}`)).json, { data: { count: ids.length } })
  }
})

test('11.1: following links.next meets every model once, with the filter kept', async (t) => {
  for (const limit of [1, 2, 3, 4, 1000]) {
    const met: string[] = []
    let pages = 0
    let next: string | null = `/api/v1/models?limit=${limit}&output_modalities=all&q=%61`
    while (next !== null) {
      const reply = await get(next)
      met.push(...idsOf(reply))
      pages++
      t.equal((reply.json as ListBody).total_count, 4)
      next = (reply.json as ListBody).links.next
    }
    t.same(met, ['acme/large', 'acme/large:free', 'acme/painter', 'zeta/small.v1'], `limit ${limit}`)
    t.equal(pages, Math.max(1, Math.ceil(4 / limit)))
  }
  const beyond = await get('/api/v1/models?offset=99')
  t.match(beyond.json, { data: [], links: { next: null }, total_count: 3 })
})

const ORDERS =
  'must be one of newest, pricing-low-to-high, pricing-high-to-low, context-high-to-low, throughput-high-to-low, ' +
  'latency-low-to-high: how popular or how good a model is, is not measured here'

const BAD: readonly (readonly [query: string, message: string])[] = [
  ['limit=0', 'limit: must be at least 1'],
  ['limit=1001', 'limit: must be at most 1000'],
  ['limit=ten', 'limit: must be an integer'],
  ['offset=-1', 'offset: must be at least 0'],
  ['sort=best', `sort: ${ORDERS}`],
  ['sort=most-popular', `sort: ${ORDERS}`],
  ['after_id=acme%2Flarge', 'after_id: needs the header anthropic-version; this list has limit and offset'],
  ['before_id=x', 'before_id: needs the header anthropic-version; this list has limit and offset'],
  ['min_price=-1', 'min_price: is not valid'],
  ['context=1e3', 'context: must be an integer'],
  ['q=%ff', 'q: must be a string'],
  [`q=${'a'.repeat(501)}`, 'q: must have at most 500 characters'],
]

test('11.1: a query that cannot be understood is 400 and named', async (t) => {
  for (const [query, message] of BAD) {
    const reply = await get(`/api/v1/models?${query}`)
    t.equal(reply.status, 400, query)
    t.same(reply.json, { error: { code: 400, message: `Invalid request parameters: ${message}` } })
  }
})

test('11.1: the list of a key needs one; the static names win over a vendor', async (t) => {
  t.equal((await get('/api/v1/models/user')).status, 401)
  const reply = await get('/api/v1/models/user?limit=1', `Bearer ${KEY}`)
  t.match(reply.json, {
    total_count: 3,
    links: { next: '/api/v1/models/user?limit=1&offset=1' },
  })
  t.same((await get('/api/v1/models/count')).json, { data: { count: 3 } })
})

const SPELLINGS = ['acme/large:free', 'acme/large%3Afree', 'acme/large%3afree', '%61cme/large:free']

test('11.1: a model is found by its id, its variant written either way', async (t) => {
  for (const id of SPELLINGS) {
    t.match((await get(`/api/v1/model/${id}`)).json, { data: { id: 'acme/large:free' } }, id)
    t.match((await get(`/api/v1/models/${id}/endpoints`)).json, { data: { id: 'acme/large:free' } }, id)
  }
})

test('a model is retrieved by its id as one segment or two, in the form of whoever asks', async (t) => {
  for (const path of ['acme/large', 'acme%2Flarge', 'acme%2flarge']) {
    const reply = await get(`/api/v1/models/${path}`)
    t.match(reply.json, { id: 'acme/large', object: 'model', owned_by: 'acme', created: 1_700_000_000 }, path)
    t.match(reply.headers.vary, /^anthropic-version\b/)
    const endpoints = await get(`/api/v1/models/${path}/endpoints`)
    t.match(endpoints.json, { data: { id: 'acme/large' } }, path)
  }
  for (const path of ['acme/none', 'acme%2Fnone', 'none', 'none/endpoints'])
    t.match((await get(`/api/v1/models/${path}`)).json, { error: { code: 404 } }, path)
  const openAi = new OpenAI({ baseURL: `${url}/api/v1`, apiKey: KEY, maxRetries: 0 })
  t.match(await openAi.models.retrieve('acme/large:free'), { id: 'acme/large:free', object: 'model' })
})

test('callers of the messages format get models in its shape, newest first and in its pages', async (t) => {
  const client = new Anthropic({ baseURL: `${url}/api`, apiKey: KEY, maxRetries: 0 })
  for (const limit of [1, 2, 20]) {
    const met: string[] = []
    for await (const { id } of client.models.list({ limit })) met.push(id)
    t.same(met, ['acme/large:free', 'acme/large', 'zeta/small.v1'], `limit ${limit}`)
  }
  const page = await client.models.list({ limit: 2 })
  t.match(page, { has_more: true, first_id: 'acme/large:free', last_id: 'acme/large' })
  const before = await client.models.list({ limit: 1, before_id: 'zeta/small.v1' })
  t.same([before.data.map(({ id }) => id), before.has_more], [['acme/large'], true])
  t.same(await client.models.retrieve('acme/large'), {
    type: 'model',
    id: 'acme/large',
    display_name: 'Acme Large',
    created_at: '2023-11-14T22:13:20.000Z',
    capabilities: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: 128_000,
    max_tokens: 8_000,
    deprecated_at: null,
    retires_at: null,
  })
  t.match((await get('/api/v1/models?after_id=acme%2Fnone')).json, { error: { code: 400 } })
})

const ABSENT = ['acme/nothing', 'Acme/large', 'acme/large:paid', 'constructor/x', 'acme/%ff']

test('11.1: a model that does not exist is 404', async (t) => {
  for (const id of ABSENT) {
    for (const path of [`/api/v1/model/${id}`, `/api/v1/models/${id}/endpoints`]) {
      const reply = await get(path)
      t.equal(reply.status, 404, path)
      t.match(reply.json, {
        error: {
          code: 404,
          message: 'Resource not found: there is no such model',
          metadata: { error_type: 'not_found' },
        },
      })
    }
  }
  t.equal((await get(`/api/v1/model/${'a'.repeat(201)}/x`)).status, 400)
})

test('11.1: the endpoints of a model, in order of preference', async (t) => {
  const { data } = (await get('/api/v1/models/acme/large/endpoints')).json as {
    data: { readonly endpoints: readonly unknown[] }
  }
  t.match(data, { id: 'acme/large', name: 'Acme Large', created: 1_700_000_000, description: 'Big.' })
  t.equal(data.endpoints.length, 2)
  t.same(data.endpoints[0], {
    name: 'Local server | acme/large',
    model_id: 'acme/large',
    model_name: 'Acme Large',
    provider_name: 'Local server',
    tag: 'local/fp8',
    context_length: 128_000,
    max_completion_tokens: 8_000,
    max_prompt_tokens: null,
    quantization: 'fp8',
    pricing: {
      prompt: '0.0000025',
      completion: '0.00001',
      input_cache_read: '0.00000025',
      audio: '0.00004',
    },
    supported_parameters: ['tools', 'tool_choice'],
    supports_implicit_caching: false,
    supports_tool_choice: { none: true, auto: true, required: true, function: true },
    uptime_last_5m: null,
    uptime_last_30m: null,
    uptime_last_1d: null,
    latency_last_30m: null,
    throughput_last_30m: null,
    status: 0,
  })
  t.match(data.endpoints[1], {
    tag: 'private',
    context_length: 32_000,
    supports_tool_choice: { auto: false },
  })
})

test('11.1: endpoints that keep no data are listed over all models', async (t) => {
  const { data } = (await get('/api/v1/endpoints/zdr')).json as { data: readonly { model_id: string }[] }
  t.same(
    data.map(({ model_id }) => model_id),
    ['acme/large', 'acme/large:free', 'acme/painter'],
  )
})

test('11.2: the providers, without anything of their connection', async (t) => {
  t.same((await get('/api/v1/providers')).json, {
    data: [
      {
        name: 'Local server',
        slug: 'local',
        privacy_policy_url: 'https://example.com/privacy',
        terms_of_service_url: null,
        status_page_url: null,
      },
      {
        name: 'private',
        slug: 'private',
        privacy_policy_url: null,
        terms_of_service_url: null,
        status_page_url: null,
      },
    ],
  })
})

const PATHS = [
  '/api/v1/models',
  '/api/v1/models?limit=1',
  '/api/v1/model/acme/large',
  '/api/v1/models/acme/large/endpoints',
  '/api/v1/endpoints/zdr',
  '/api/v1/providers',
]

test('no answer shows an upstream credential, address or model name', async (t) => {
  for (const path of PATHS) t.notMatch((await get(path)).text, /canary|127\.0\.0\.1|large-v1/, path)
})

test('a new catalogue counts from the next call on, in every answer', async (t) => {
  const { get, use } = await serve(t)
  for (const path of PATHS) await get(path)
  use(catalogOf({ simulated_models: false, providers: { p: { kind: 'simulated' } }, models: {} }))
  t.match((await get('/api/v1/models')).json, { data: [], total_count: 0 })
  t.equal((await get('/api/v1/model/acme/large')).status, 404)
  t.equal((await get('/api/v1/models/acme/large/endpoints')).status, 404)
  t.same((await get('/api/v1/models/count')).json, { data: { count: 0 } })
  t.match((await get('/api/v1/providers')).json, { data: [{ slug: 'p' }] })
})

test('every answer is as the OpenAPI document says', async (t) => {
  const document = openApiDocument(
    modelEndpoints(() => catalogOf(FILE), routingState().health),
    { info: { title: 't', version: '1', description: 'd' }, tags: [] },
  ) as unknown as OpenApiDocument
  const rules = new DocumentRules(document)
  for (const [operation, path] of [
    ['list_models', '/api/v1/models'],
    ['list_models', '/api/v1/models?limit=0'],
    ['list_models_of_key', '/api/v1/models/user'],
    ['count_models', '/api/v1/models/count'],
    ['read_model', '/api/v1/model/acme/large'],
    ['read_model', '/api/v1/model/acme/none'],
    ['retrieve_model', '/api/v1/models/acme/large'],
    ['retrieve_model_by_id', '/api/v1/models/acme%2Flarge'],
    ['list_model_endpoints_by_id', '/api/v1/models/acme%2Flarge/endpoints'],
    ['list_model_endpoints', '/api/v1/models/acme/large/endpoints'],
    ['list_zdr_endpoints', '/api/v1/endpoints/zdr'],
    ['list_providers', '/api/v1/providers'],
  ] as const) {
    t.same(rules.replyFaults(operation, await get(path)), [], path)
  }
})

test('12.4: the strictest public client accepts every answer', async (t) => {
  const client = new OpenRouter({
    serverURL: `${url}/api/v1`,
    apiKey: KEY,
    retryConfig: { strategy: 'none' },
  })
  const met: string[] = []
  for await (const page of await client.models.list({ limit: 2 })) {
    met.push(...page.result.data.map(({ id }) => id))
  }
  t.same(met, ['acme/large', 'acme/large:free', 'zeta/small.v1'])
  for await (const { result } of await client.models.listForUser({ bearer: KEY }))
    t.equal(result.totalCount, 3)
  t.equal((await client.models.count()).data.count, 3)
  const { data: model } = await client.models.get({ author: 'acme', slug: 'large:free' })
  t.equal(model.id, 'acme/large:free')
  const { data } = await client.endpoints.list({ author: 'acme', slug: 'large' })
  t.equal(data.endpoints.length, 2)
  t.equal((await client.endpoints.listZdrEndpoints()).data.length, 3)
  t.equal((await client.providers.list()).data.length, 2)
})

test('the commonest public client lists the models', async (t) => {
  const client = new OpenAI({ baseURL: `${url}/api/v1`, apiKey: KEY, maxRetries: 0 })
  const met: string[] = []
  for await (const { id, object, owned_by } of client.models.list()) met.push(`${id} ${object} ${owned_by}`)
  t.same(met, ['acme/large model acme', 'acme/large:free model acme', 'zeta/small.v1 model zeta'])
})
