/** The answers of the models operations for one catalogue. What does not depend on a query is serialised once. */
import type { Catalog, Model } from '../../gateway/catalog/catalog.js'
import type { Health } from '../../gateway/health/health.js'
import { type Filter, filtered, type List, pageOf, sorted } from './query.js'
import { wireEndpoint, wireEndpoints, wireModel, wireProvider } from './wire.js'

export interface Answers {
  readonly catalog: Catalog
  /** @param raw the query as sent, for the link to the next page */
  list(path: string, query: List, raw: string): string | Uint8Array
  count(filter: Filter): string
  /** Null when there is no such model. */
  model(id: string): string | null
  endpoints(id: string): string | null
  zdr(): string
  readonly providers: string
}

/** Serialises every model of a catalogue. What is known of endpoints is told as it is at the time of the question. */
export function answersFor(catalog: Catalog, health: Health): Answers {
  const bodies = new Map(catalog.models.map((model) => [model, JSON.stringify(wireModel(model))]))
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
      const found = sorted(filtered(catalog.models, query), query.sort)
      const page = pageOf(found, query)
      const text = textOf(page.models, found.length, nextOf(path, raw, page.next, page.limit))
      return raw === '' ? (plain = Buffer.from(text)) : text
    },
    count: (filter) => JSON.stringify({ data: { count: filtered(catalog.models, filter).length } }),
    model: (id) => {
      const model = catalog.model(id)
      return model === null ? null : `{"data":${bodies.get(model)}}`
    },
    endpoints: (id) => {
      const model = catalog.model(id)
      if (model === null) return null
      return JSON.stringify({ data: wireEndpoints(model, health) })
    },
    zdr: () => JSON.stringify({ data: zdr.map((endpoint) => wireEndpoint(endpoint, health)) }),
    providers: JSON.stringify({ data: catalog.providers.map(wireProvider) }),
  }
}

/** The same question for the next page. */
function nextOf(path: string, raw: string, next: number | null, limit: number): string | null {
  if (next === null) return null
  const query = new URLSearchParams(raw)
  query.set('offset', String(next))
  query.set('limit', String(limit))
  return `${path}?${query}`
}
