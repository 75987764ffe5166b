/** What the list of models can be asked for (contract/gateway 11.1). */
import { ValidationIssue } from '../../base/fault.js'
import { NANOS_PER_DOLLAR } from '../../base/money.js'
import type { Model } from '../../gateway/catalog/catalog.js'
import type { HealthRegistry } from '../../gateway/health/health-registry.js'
import {
  type FieldValues,
  type IssueLocation,
  integerParam,
  type TextField,
  textField,
  UNDECODABLE,
} from '../../http/params.js'
import { supportedParametersOf } from './wire.js'

/** Orders that clients know and that there are figures for. */
const MODEL_ORDERS = [
  'newest',
  'pricing-low-to-high',
  'pricing-high-to-low',
  'context-high-to-low',
  'throughput-high-to-low',
  'latency-low-to-high',
] as const
type ModelOrder = (typeof MODEL_ORDERS)[number]

const NO_SUCH_ORDER = `must be one of ${MODEL_ORDERS.join(', ')}: how popular or how good a model is, is not measured here`

const LARGEST_PAGE = 1000
const LONGEST_TEXT = 500
/** Page size of a caller that pages without saying one. */
const DEFAULT_PAGE = 500

function optionalParam<T>(
  schema: Readonly<Record<string, unknown>>,
  parse: (text: string) => T | null,
  otherwise?: string,
): TextField<T | null> {
  const read = (text: string | typeof UNDECODABLE, loc: IssueLocation): T | null | ValidationIssue => {
    if (text === '') return null
    if (text === UNDECODABLE) return new ValidationIssue(loc, 'string')
    if (text.length > LONGEST_TEXT) return new ValidationIssue(loc, 'string-too-long', LONGEST_TEXT)
    return parse(text) ?? new ValidationIssue(loc, 'other', undefined, otherwise)
  }
  return textField(schema, read, null)
}

function optionalListParam(description: string): TextField<readonly string[] | null> {
  return optionalParam({ type: 'string', description }, (text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
}

/** Absent, or a whole number. Clients write null as nothing. */
function optionalIntegerParam(
  minimum: number,
  maximum: number,
  description: string,
): TextField<number | null> {
  const { schema, read } = integerParam({ minimum, maximum, description })
  return textField(schema, (text, loc) => (text === '' ? null : read(text, loc)), null)
}

const DECIMAL = /^[0-9]{1,9}(?:\.[0-9]{1,9})?$/

function optionalDecimalParam(description: string): TextField<number | null> {
  return optionalParam({ type: 'number', minimum: 0, description }, (text) =>
    DECIMAL.test(text) ? Number(text) : null,
  )
}

/** Which models. */
export const FilterQuery = {
  q: optionalParam({ type: 'string', description: 'Part of the name or the id.' }, (text) =>
    text.toLowerCase(),
  ),
  supported_parameters: optionalListParam('Parameters all of which a model supports, with commas.'),
  input_modalities: optionalListParam('Modalities all of which a model takes, with commas.'),
  output_modalities: optionalListParam(
    'Modalities any of which a model answers in, with commas; `text` when absent, or `all`.',
  ),
  category: optionalParam(
    { type: 'string', description: 'A category that the configuration gives the model.' },
    (text) => text,
  ),
  context: optionalIntegerParam(0, Number.MAX_SAFE_INTEGER, 'Least context length in tokens.'),
  min_price: optionalDecimalParam('Least price of the prompt in dollars per million tokens.'),
  max_price: optionalDecimalParam('Highest price of the prompt in dollars per million tokens.'),
} as const

/** Which models, in what order, and which page of them. */
export const ListQuery = {
  ...FilterQuery,
  sort: optionalParam(
    { type: 'string', enum: MODEL_ORDERS },
    (text) => MODEL_ORDERS.find((known) => known === text) ?? null,
    NO_SUCH_ORDER,
  ),
  limit: optionalIntegerParam(
    1,
    LARGEST_PAGE,
    'Most models of a page. Without limit and offset all are answered.',
  ),
  offset: optionalIntegerParam(0, Number.MAX_SAFE_INTEGER, 'How many models stand before the page.'),
  after_id: optionalParam(
    { type: 'string', description: 'With `anthropic-version`: the page behind this model.' },
    (text) => text,
  ),
  before_id: optionalParam(
    { type: 'string', description: 'With `anthropic-version`: the page before this model.' },
    (text) => text,
  ),
} as const

type ModelFilter = FieldValues<typeof FilterQuery>
export type ModelListQuery = FieldValues<typeof ListQuery>

/** Models that pass all that is asked, in the catalogue's order. */
export function filterModels(models: readonly Model[], filter: ModelFilter): readonly Model[] {
  const { q, context, category, supported_parameters: parameters, input_modalities: inputs } = filter
  const outputs = filter.output_modalities ?? ['text']
  const least = nanosPerMillion(filter.min_price ?? 0)
  const most = nanosPerMillion(filter.max_price ?? Number.POSITIVE_INFINITY)
  return models.filter((model) => {
    // That of the endpoint that is tried first.
    const price = model.endpoints[0]?.prices.prompt ?? 0
    return (
      (outputs.includes('all') || outputs.some((name) => model.outputModalities.includes(name))) &&
      (q === null || model.id.toLowerCase().includes(q) || model.name.toLowerCase().includes(q)) &&
      (inputs ?? []).every((name) => model.inputModalities.includes(name)) &&
      (parameters === null || isSubset(parameters, supportedParametersOf(model))) &&
      (context === null || contextOf(model) >= context) &&
      (category === null || model.categories.includes(category)) &&
      price >= least &&
      price <= most
    )
  })
}

function isSubset(some: readonly string[], all: readonly string[]): boolean {
  return some.every((name) => all.includes(name))
}

export function contextOf(model: Model): number {
  return model.contextLength ?? model.endpoints[0]?.contextLength ?? 0
}

/** Prices are kept in nano-dollars per million tokens. */
function nanosPerMillion(dollars: number): number {
  return Math.round(dollars * NANOS_PER_DOLLAR)
}

function meanPrice({ endpoints }: Model): number {
  const prices = endpoints[0]?.prices
  return prices === undefined ? 0 : prices.prompt + prices.completion
}

const COMPARATORS: Readonly<
  Record<ModelOrder, (health: HealthRegistry) => (one: Model, other: Model) => number>
> = {
  newest: () => (one, other) => other.created - one.created,
  'pricing-low-to-high': () => (one, other) => meanPrice(one) - meanPrice(other),
  'pricing-high-to-low': () => (one, other) => meanPrice(other) - meanPrice(one),
  'context-high-to-low': () => (one, other) => contextOf(other) - contextOf(one),
  'throughput-high-to-low': (health) =>
    byRank((model) => -(bestMedian(model, 'throughput', health) ?? -Infinity)),
  'latency-low-to-high': (health) => byRank((model) => bestMedian(model, 'latency', health) ?? Infinity),
}

/** Lowest first. Each rank is asked for once. */
function byRank(rankOf: (model: Model) => number): (one: Model, other: Model) => number {
  const ranks = new Map<Model, number>()
  const rank = (model: Model): number => {
    const known = ranks.get(model)
    if (known !== undefined) return known
    const found = rankOf(model)
    ranks.set(model, found)
    return found
  }
  // Not by their difference: of two infinite ones there is none.
  return (one, other) => (rank(one) < rank(other) ? -1 : rank(one) > rank(other) ? 1 : 0)
}

/** The median of the endpoint that is best at it; null when nothing was measured of any. */
function bestMedian(
  { endpoints }: Model,
  figure: 'throughput' | 'latency',
  health: HealthRegistry,
): number | null {
  const now = health.now()
  const medians = endpoints
    .map((endpoint) => health.of(endpoint)[figure].quantile(0.5, now))
    .filter((median) => median !== null)
  if (medians.length === 0) return null
  return figure === 'latency' ? Math.min(...medians) : Math.max(...medians)
}

/** By the asked order; equals stay in the catalogue's. What was never measured stands behind. */
export function sortModels(
  models: readonly Model[],
  sort: ModelOrder | null,
  health: HealthRegistry,
): readonly Model[] {
  return sort === null ? models : models.toSorted(COMPARATORS[sort](health))
}

/** One page, and the offset of the next or null; all of them when neither limit nor offset is asked. */
export function sliceModelPage(models: readonly Model[], { limit, offset }: ModelListQuery) {
  if (limit === null && offset === null) return { models, next: null, limit: models.length }
  const first = offset ?? 0
  const size = limit ?? DEFAULT_PAGE
  const end = first + size
  return { models: models.slice(first, end), next: end < models.length ? end : null, limit: size }
}
