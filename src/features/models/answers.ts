/** The answers of the models operations for one catalogue. What does not depend on a query is serialised once. */
import type { Catalog, Model } from '../../gateway/catalog/catalog.js'
import type { HealthRegistry } from '../../gateway/health/health-registry.js'
import { filterModels, type ModelFilter, type ModelListQuery, sliceModelPage, sortModels } from './query.js'
import { endpointBody, modelBody, modelEndpointsBody, providerBody } from './wire.js'

export interface ModelAnswers {
  readonly catalog: Catalog
  /** @param raw the query as sent, for the link to the next page */
  list(path: string, query: ModelListQuery, raw: string): string | Uint8Array
  count(filter: ModelFilter): string
  /** Null when there is no such model. */
  model(id: string): string | null
  endpoints(id: string): string | null
  zdr(): string
  readonly providers: string
}

/** Serialises every model of a catalogue. What is known of endpoints is told as it is at the time of the question. */
export function buildModelAnswers(catalog: Catalog, health: HealthRegistry): ModelAnswers {
  const bodies = new Map(catalog.models.map((model) => [model, JSON.stringify(modelBody(model))]))
  const zdr = catalog.models.flatMap((model) => model.endpoints).filter((each) => each.zeroDataRetention)
  const textOf = (models: readonly Model[], total: number, next: string | null): string => {
    const data = models.map((model) => bodies.get(model)).join(',')
    return `{"object":"list","data":[${data}],"links":${JSON.stringify({ next })},"total_count":${total}}`
  }
  let plain: Uint8Array | null = null
  return {
    catalog,
    list: (path, query, raw) => {
      if (raw === '' && plain !== null) return plain
      const found = sortModels(filterModels(catalog.models, query), query.sort)
      const page = sliceModelPage(found, query)
      const text = textOf(page.models, found.length, nextPageLink(path, raw, page.next, page.limit))
      return raw === '' ? (plain = Buffer.from(text)) : text
    },
    count: (filter) => JSON.stringify({ data: { count: filterModels(catalog.models, filter).length } }),
    model: (id) => {
      const model = catalog.model(id)
      return model === null ? null : `{"data":${bodies.get(model)}}`
    },
    endpoints: (id) => {
      const model = catalog.model(id)
      if (model === null) return null
      return JSON.stringify({ data: modelEndpointsBody(model, health) })
    },
    zdr: () => JSON.stringify({ data: zdr.map((endpoint) => endpointBody(endpoint, health)) }),
    providers: JSON.stringify({ data: catalog.providers.map(providerBody) }),
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
