/** What the variant behind a model's id asks for (contract/gateway 2.1). */
import { invalidInput } from '../../base/fault.js'
import type { Catalog, Model, ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'

/** A model as a request names it. */
export interface NamedModel extends Model {
  /** By what its variant sorts the endpoints. */
  readonly sort?: string
}

/** Variants that are another word for `provider.sort`; `context` has no such word. */
const SORTS: Readonly<Record<string, string>> = {
  nitro: 'throughput',
  floor: 'price',
  extended: 'context',
}

const REFUSED: Readonly<Record<string, string>> = {
  exacto: 'asks for quality, about which nothing is known here',
  thinking: 'is not served: ask with `reasoning`, on messages with `thinking`',
}

/**
 * The model of that name; null when there is none. What the catalogue has wins over a variant, as `acme/large:free` may
 * have an entry of its own. A prefix comes last: there all that stands in the place of the `*` is the provider's name,
 * but a variant of a model with an entry of its own is that model's, at its prices. Throws `invalid-input` for a variant
 * that is known and not served.
 */
export function findModel(catalog: Catalog, name: string): NamedModel | null {
  const model = catalog.model(name)
  if (model !== null && !isUnderPrefix(model, name)) return model
  return findVariant(catalog, name) ?? model
}

/** A further name leads to a model of another id. */
function isUnderPrefix({ id, entryId }: Model, name: string): boolean {
  return id === name && entryId !== name
}

function findVariant(catalog: Catalog, name: string): NamedModel | null {
  const colon = name.lastIndexOf(':')
  const variant = name.slice(colon + 1)
  const base = name.slice(0, colon)
  const model = colon < 0 ? null : catalog.model(base)
  if (model === null || isUnderPrefix(model, base)) return null
  if (Object.hasOwn(REFUSED, variant))
    throw invalidInput(['body', 'model'], `the variant :${variant} ${REFUSED[variant]}`)
  // What it asks for is done by a plugin (contract/tools 4.1).
  if (variant === 'online') return model
  if (variant === 'free') return { ...model, endpoints: model.endpoints.filter(isFree) }
  return Object.hasOwn(SORTS, variant) ? { ...model, sort: SORTS[variant]! } : null
}

function isFree({ prices: { tiers: _, version: __, ...prices } }: ModelEndpoint): boolean {
  return Object.values(prices).every((price) => price === null || price === 0)
}

/** The request with the order that a variant asks for. Throws `invalid-input` when the request asks for another one. */
export function withVariantSort(request: RoutedRequest, sort: string | undefined): RoutedRequest {
  if (sort === undefined) return request
  const asked = request.provider?.sort
  const by = typeof asked === 'string' ? asked : asked?.by
  if (by !== undefined && by !== null && by !== sort)
    throw invalidInput(['body', 'model'], 'its variant contradicts provider.sort')
  return { ...request, provider: { ...request.provider, sort } }
}
