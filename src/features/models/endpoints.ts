import { Fault } from '../../base/fault.js'
import type { Catalog, Model } from '../../gateway/catalog/catalog.js'
import type { HealthRegistry } from '../../gateway/health/health-registry.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type Reply } from '../../http/endpoint.js'
import { textParam } from '../../http/params.js'
import { serializedJsonReply } from '../../http/reply.js'
import {
  FilterQuery,
  filterModels,
  ListQuery,
  type ModelFilter,
  type ModelListQuery,
  sliceModelPage,
  sortModels,
} from './query.js'
import {
  EndpointList,
  encodeProvider,
  endpointBody,
  ModelCount,
  ModelEndpoints,
  ModelList,
  modelBody,
  modelEndpointsBody,
  OneModel,
  ProviderList,
} from './wire.js'

const operation = endpointGroup({ tag: 'models', dialect: gateway })
const LIST = '/api/v1/models'
const USER_LIST = '/api/v1/models/user'

const ModelPath = {
  author: textParam({ minLength: 1, maxLength: 200, description: 'Vendor of the model.' }),
  slug: textParam({
    minLength: 1,
    maxLength: 200,
    description: 'Name of the model, with its variant after a colon.',
  }),
}

/**
 * Which models and providers there are (contract/gateway 11.1 and 11.2). `catalog` is asked on every call, so that
 * a reload counts from the next call on.
 */
export const modelEndpoints = (catalog: () => Catalog, health: HealthRegistry): Endpoint[] => {
  const answers = answersOfCatalog(catalog, health)
  return [
    operation('list_models', `GET ${LIST}`, {
      summary: 'List the models',
      query: ListQuery,
      replies: { 200: { description: 'A page of models, by id', schema: ModelList } },
      handle: ({ query }, call) => serializedJsonReply(200, answers().list(LIST, query, call.query)),
    }),
    operation('list_models_of_key', `GET ${USER_LIST}`, {
      summary: 'List the models that the calling key may use',
      access: 'key',
      query: ListQuery,
      replies: { 200: { description: 'A page of models, by id', schema: ModelList } },
      faults: ['unauthenticated'],
      handle: ({ query }, call) => serializedJsonReply(200, answers().list(USER_LIST, query, call.query)),
    }),
    operation('count_models', 'GET /api/v1/models/count', {
      summary: 'Count the models',
      query: FilterQuery,
      replies: { 200: { description: 'How many models there are', schema: ModelCount } },
      handle: ({ query }) => serializedJsonReply(200, answers().count(query)),
    }),
    operation('read_model', 'GET /api/v1/model/{author}/{slug}', {
      summary: 'Read one model',
      params: ModelPath,
      replies: { 200: { description: 'The model', schema: OneModel } },
      faults: ['item-not-found'],
      handle: ({ params }) => replyOrNotFound(answers().model(modelIdOf(params))),
    }),
    operation('list_model_endpoints', 'GET /api/v1/models/{author}/{slug}/endpoints', {
      summary: 'List who serves a model',
      params: ModelPath,
      replies: { 200: { description: 'The model with its endpoints', schema: ModelEndpoints } },
      faults: ['item-not-found'],
      handle: ({ params }) => replyOrNotFound(answers().endpoints(modelIdOf(params))),
    }),
    operation('list_zdr_endpoints', 'GET /api/v1/endpoints/zdr', {
      summary: 'List the endpoints that keep no data',
      replies: { 200: { description: 'Endpoints of all models', schema: EndpointList } },
      handle: () => serializedJsonReply(200, answers().zdr()),
    }),
    operation('list_providers', 'GET /api/v1/providers', {
      summary: 'List the providers',
      replies: { 200: { description: 'The providers, by short name', schema: ProviderList } },
      handle: () => serializedJsonReply(200, answers().providers),
    }),
  ]
}

/** The answers of the present catalogue; made anew when it has changed. */
function answersOfCatalog(catalog: () => Catalog, health: HealthRegistry): () => ModelAnswers {
  let current: ModelAnswers | null = null
  return () => {
    const now = catalog()
    if (current === null || current.catalog !== now) current = buildModelAnswers(now, health)
    return current
  }
}

type ModelAnswers = ReturnType<typeof buildModelAnswers>

/** Serialises every model of a catalogue. What is known of endpoints is told as it is at the time of the question. */
function buildModelAnswers(catalog: Catalog, health: HealthRegistry) {
  const bodies = new Map(catalog.models.map((model) => [model, JSON.stringify(modelBody(model))]))
  const zdr = catalog.models.flatMap((model) => model.endpoints).filter((each) => each.zeroDataRetention)
  const textOf = (models: readonly Model[], total: number, next: string | null): string => {
    const data = models.map((model) => bodies.get(model)).join(',')
    return `{"object":"list","data":[${data}],"links":${JSON.stringify({ next })},"total_count":${total}}`
  }
  let plain: Uint8Array | null = null
  return {
    catalog,
    /** @param raw the query as sent, for the link to the next page */
    list: (path: string, query: ModelListQuery, raw: string): string | Uint8Array => {
      if (raw === '' && plain !== null) return plain
      const found = sortModels(filterModels(catalog.models, query), query.sort)
      const page = sliceModelPage(found, query)
      const text = textOf(page.models, found.length, nextPageLink(path, raw, page.next, page.limit))
      return raw === '' ? (plain = Buffer.from(text)) : text
    },
    count: (filter: ModelFilter) =>
      JSON.stringify({ data: { count: filterModels(catalog.models, filter).length } }),
    /** Null when there is no such model. */
    model: (id: string) => {
      const model = catalog.model(id)
      return model === null ? null : `{"data":${bodies.get(model)}}`
    },
    endpoints: (id: string) => {
      const model = catalog.model(id)
      if (model === null) return null
      return JSON.stringify({ data: modelEndpointsBody(model, health) })
    },
    zdr: () => JSON.stringify({ data: zdr.map((endpoint) => endpointBody(endpoint, health)) }),
    providers: JSON.stringify({ data: catalog.providers.map(encodeProvider) }),
  }
}

/** The same question for the next page. */
function nextPageLink(path: string, raw: string, next: number | null, limit: number): string | null {
  if (next === null) return null
  const query = new URLSearchParams(raw)
  query.set('offset', String(next))
  query.set('limit', String(limit))
  return `${path}?${query}`
}

const NOT_FOUND = new Fault('item-not-found', {
  note: 'Model not found',
  metadata: { error_type: 'not_found' },
})

function modelIdOf({ author, slug }: { readonly author: string; readonly slug: string }): string {
  return `${author}/${slug}`
}

function replyOrNotFound(body: string | null): Reply {
  if (body === null) throw NOT_FOUND
  return serializedJsonReply(200, body)
}
