import { z } from 'zod'
import { Fault, invalidInput } from '../../base/fault.js'
import type { Catalog, ListedModel, Model } from '../../gateway/catalog/catalog.js'
import type { HealthRegistry } from '../../gateway/health/health-registry.js'
import { findModel } from '../../gateway/routing/variants.js'
import { gateway } from '../../http/dialects/gateway.js'
import {
  type Endpoint,
  endpointGroup,
  type HeaderList,
  type HttpCall,
  type Reply,
} from '../../http/endpoint.js'
import { type FieldValues, textParam } from '../../http/params.js'
import { jsonReply, serializedJsonReply } from '../../http/reply.js'
import { MessagesModel, MessagesModelList, messagesModelBody, messagesModelPage } from './messages-list.js'
import {
  FilterQuery,
  filterModels,
  ListQuery,
  type ModelListQuery,
  sliceModelPage,
  sortModels,
} from './query.js'
import {
  EndpointList,
  encodeProvider,
  endpointBody,
  ModelBody,
  ModelCount,
  ModelEndpoints,
  ModelList,
  modelBody,
  modelEndpointsBody,
  OneModel,
  ProviderList,
} from './wire.js'

const operation = endpointGroup({ tag: 'Models and routing', dialect: gateway })
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

const IdPath = {
  id: textParam({
    minLength: 1,
    maxLength: 256,
    description: 'Id of the model, with its slashes as `%2F`.',
  }),
}

/** Callers that send it read the messages format. */
const FORMAT_HEADER = 'anthropic-version'
const IN_EITHER_FORMAT = { headers: [FORMAT_HEADER] } as const
const VARY: HeaderList = [['Vary', FORMAT_HEADER]]

function readsMessages(call: HttpCall): boolean {
  return call.header(FORMAT_HEADER) !== ''
}

const NOT_FOUND = new Fault('item-not-found', {
  note: 'there is no such model',
  metadata: { error_type: 'not_found' },
})

/**
 * Which models and providers there are (contract/gateway 11.1 and 11.2). `catalog` is asked on every call, so that
 * a reload counts from the next call on.
 */
export const modelEndpoints = (catalog: () => Catalog, health: HealthRegistry): Endpoint[] => {
  const lists = new ModelLists(health)
  const listAt = (path: string) => ({
    query: ListQuery,
    ...IN_EITHER_FORMAT,
    replies: {
      200: {
        description: 'A page of models, by id; with `anthropic-version` in the messages format, newest first',
        schema: z.union([ModelList, MessagesModelList]),
      },
    },
    handle: ({ query }: { readonly query: ModelListQuery }, call: HttpCall) =>
      readsMessages(call)
        ? jsonReply(200, lists.messagesPage(catalog(), query), VARY)
        : serializedJsonReply(200, lists.page(catalog(), path, query, call.query), VARY),
  })
  /** As calls find it; a variant is shown as the model that it is of. */
  const find = (id: string): ListedModel => {
    const known = catalog()
    const model = findModel(known, id)
    if (model === null || model.endpoints.length === 0) throw NOT_FOUND
    const listed = known.listed(id)
    return listed?.entryId === model.entryId ? listed : model
  }
  const idOf = ({ author, slug }: FieldValues<typeof ModelPath>): string => `${author}/${slug}`
  const ofEitherFormat = {
    summary: 'Read one model, as clients of either format retrieve it',
    ...IN_EITHER_FORMAT,
    replies: {
      200: {
        description: 'The model; with `anthropic-version` in the messages format',
        schema: z.union([ModelBody, MessagesModel]),
      },
    },
    faults: ['item-not-found'],
  } as const
  const retrieve = (id: string, call: HttpCall): Reply => {
    const model = find(id)
    return jsonReply(200, readsMessages(call) ? messagesModelBody(model) : modelBody(model), VARY)
  }
  const endpointsOf = {
    summary: 'List who serves a model',
    replies: { 200: { description: 'The model with its endpoints', schema: ModelEndpoints } },
    faults: ['item-not-found'],
  } as const
  return [
    operation('list_models', `GET ${LIST}`, { summary: 'List the models', ...listAt(LIST) }),
    operation('list_models_of_key', `GET ${USER_LIST}`, {
      summary: 'List the models that the calling key may use',
      access: 'key',
      faults: ['unauthenticated'],
      ...listAt(USER_LIST),
    }),
    operation('count_models', 'GET /api/v1/models/count', {
      summary: 'Count the models',
      query: FilterQuery,
      replies: { 200: { description: 'How many models there are', schema: ModelCount } },
      handle: ({ query }) => jsonReply(200, { data: { count: filterModels(catalog().list, query).length } }),
    }),
    operation('read_model', 'GET /api/v1/model/{author}/{slug}', {
      summary: 'Read one model',
      params: ModelPath,
      replies: { 200: { description: 'The model', schema: OneModel } },
      faults: ['item-not-found'],
      handle: ({ params }) => jsonReply(200, { data: modelBody(find(idOf(params))) }),
    }),
    operation('retrieve_model', `GET ${LIST}/{author}/{slug}`, {
      ...ofEitherFormat,
      params: ModelPath,
      handle: ({ params }, call) => retrieve(idOf(params), call),
    }),
    operation('retrieve_model_by_id', `GET ${LIST}/{id}`, {
      ...ofEitherFormat,
      params: IdPath,
      handle: ({ params }, call) => retrieve(params.id, call),
    }),
    operation('list_model_endpoints', 'GET /api/v1/models/{author}/{slug}/endpoints', {
      ...endpointsOf,
      params: ModelPath,
      handle: ({ params }) => jsonReply(200, { data: modelEndpointsBody(find(idOf(params)), health) }),
    }),
    operation('list_model_endpoints_by_id', `GET ${LIST}/{id}/endpoints`, {
      ...endpointsOf,
      params: IdPath,
      handle: ({ params }) => jsonReply(200, { data: modelEndpointsBody(find(params.id), health) }),
    }),
    operation('list_zdr_endpoints', 'GET /api/v1/endpoints/zdr', {
      summary: 'List the endpoints that keep no data',
      replies: { 200: { description: 'Endpoints of all models', schema: EndpointList } },
      handle: () => {
        const endpoints = catalog().models.flatMap((model) => model.endpoints)
        const zdr = endpoints.filter(({ zeroDataRetention }) => zeroDataRetention)
        return jsonReply(200, { data: zdr.map((endpoint) => endpointBody(endpoint, health)) })
      },
    }),
    operation('list_providers', 'GET /api/v1/providers', {
      summary: 'List the providers',
      replies: { 200: { description: 'The providers, by short name', schema: ProviderList } },
      handle: () => jsonReply(200, { data: catalog().providers.map(encodeProvider) }),
    }),
  ]
}

const NEEDS_FORMAT = `needs the header ${FORMAT_HEADER}; this list has limit and offset`

/** Lists of models as JSON. Each model is serialised once per catalogue, and so is the list without a question. */
class ModelLists {
  readonly #models = new WeakMap<Model, string>()
  readonly #whole = new WeakMap<Catalog, Uint8Array>()
  readonly #health: HealthRegistry

  constructor(health: HealthRegistry) {
    this.#health = health
  }

  /** The newest first where nothing else is asked, as that format promises. */
  messagesPage(catalog: Catalog, query: ModelListQuery): object {
    return messagesModelPage(this.#found(catalog, { ...query, sort: query.sort ?? 'newest' }), query)
  }

  #found({ list }: Catalog, query: ModelListQuery): readonly Model[] {
    return sortModels(filterModels(list, query), query.sort, this.#health)
  }

  /** @param raw the query as sent, for the link to the next page */
  page(catalog: Catalog, path: string, query: ModelListQuery, raw: string): string | Uint8Array {
    const kept = raw === '' ? this.#whole.get(catalog) : undefined
    if (kept !== undefined) return kept
    if (query.after_id !== null) throw invalidInput(['query', 'after_id'], NEEDS_FORMAT)
    if (query.before_id !== null) throw invalidInput(['query', 'before_id'], NEEDS_FORMAT)
    const found = this.#found(catalog, query)
    const { models, next, limit } = sliceModelPage(found, query)
    const data = models.map((model) => this.#textOf(model)).join(',')
    const links = JSON.stringify({ next: nextPageLink(path, raw, next, limit) })
    const text = `{"object":"list","data":[${data}],"links":${links},"total_count":${found.length}}`
    if (raw === '') this.#whole.set(catalog, Buffer.from(text))
    return text
  }

  #textOf(model: Model): string {
    let text = this.#models.get(model)
    if (text === undefined) {
      text = JSON.stringify(modelBody(model))
      this.#models.set(model, text)
    }
    return text
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
