/** What the list of models can be asked for (contract/gateway 11.1). */
import { Issue } from '../../base/fault.js'
import { NANOS_PER_DOLLAR } from '../../base/money.js'
import type { Model } from '../../gateway/catalog/catalog.js'
import { intText, type Read, type TextField, UNDECODABLE } from '../../http/params.js'
import { parametersOf } from './wire.js'

/** Orders that clients know. Those without a row in `ORDERS` need figures nobody has measured: the order stays. */
const SORTS = [
  'most-popular',
  'newest',
  'top-weekly',
  'pricing-low-to-high',
  'pricing-high-to-low',
  'context-high-to-low',
  'throughput-high-to-low',
  'latency-low-to-high',
  'intelligence-high-to-low',
  'coding-high-to-low',
  'agentic-high-to-low',
  'design-arena-elo-high-to-low',
] as const
type Sort = (typeof SORTS)[number]

const MOST = 1000
const LONGEST = 500
/** Page size of a caller that pages without saying one. */
const PAGE = 500

function optionalText<T>(
  schema: Readonly<Record<string, unknown>>,
  parse: (text: string) => T | null,
): TextField<T | null> {
  return {
    required: false,
    schema,
    read: (raw, loc) => {
      if (raw === undefined || raw === '') return null
      if (raw === UNDECODABLE) return new Issue(loc, 'string')
      if (raw.length > LONGEST) return new Issue(loc, 'string-too-long', LONGEST)
      return parse(raw) ?? new Issue(loc, 'other')
    },
  }
}

function commaList(description: string): TextField<readonly string[] | null> {
  return optionalText({ type: 'string', description }, (text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
}

/** Absent, or a whole number. Clients write null as nothing. */
function optionalInt(min: number, max: number, description: string): TextField<number | null> {
  const field = intText({ min, max })
  return {
    required: false,
    schema: { ...field.schema, description },
    read: (raw, loc) => (raw === undefined || raw === '' ? null : field.read(raw, loc)),
  }
}

const DECIMAL = /^[0-9]{1,9}(?:\.[0-9]{1,9})?$/

function optionalDecimal(description: string): TextField<number | null> {
  return optionalText({ type: 'number', minimum: 0, description }, (text) =>
    DECIMAL.test(text) ? Number(text) : null,
  )
}

/** Which models. */
export const FilterQuery = {
  q: optionalText({ type: 'string', description: 'Part of the name or the id.' }, (text) =>
    text.toLowerCase(),
  ),
  supported_parameters: commaList('Parameters all of which a model supports, with commas.'),
  input_modalities: commaList('Modalities all of which a model takes, with commas.'),
  output_modalities: commaList(
    'Modalities any of which a model answers in, with commas; `text` when absent, or `all`.',
  ),
  category: optionalText(
    { type: 'string', description: 'Accepted; models have no categories here.' },
    (text) => text,
  ),
  context: optionalInt(0, Number.MAX_SAFE_INTEGER, 'Least context length in tokens.'),
  min_price: optionalDecimal('Least price of the prompt in dollars per million tokens.'),
  max_price: optionalDecimal('Highest price of the prompt in dollars per million tokens.'),
} as const

/** Which models, in what order, and which page of them. */
export const ListQuery = {
  ...FilterQuery,
  sort: optionalText(
    { type: 'string', enum: SORTS },
    (text) => SORTS.find((known) => known === text) ?? null,
  ),
  limit: optionalInt(1, MOST, 'Most models of a page. Without limit and offset all are answered.'),
  offset: optionalInt(0, Number.MAX_SAFE_INTEGER, 'How many models stand before the page.'),
} as const

export type Filter = Read<typeof FilterQuery>
export type List = Read<typeof ListQuery>

/** Models that pass all that is asked, in the catalogue's order. */
export function filtered(models: readonly Model[], filter: Filter): readonly Model[] {
  return models.filter((model) => passes(model, filter))
}

function passes(model: Model, filter: Filter): boolean {
  const { q, context, supported_parameters: parameters, input_modalities: inputs } = filter
  return (
    answersIn(model, filter.output_modalities ?? ['text']) &&
    (q === null || model.id.toLowerCase().includes(q) || model.name.toLowerCase().includes(q)) &&
    (inputs === null || inputs.every((name) => model.inputModalities.includes(name))) &&
    (parameters === null || includesAll(parametersOf(model), parameters)) &&
    (context === null || contextOf(model) >= context) &&
    (filter.min_price === null || promptPrice(model) >= nanosPerMillion(filter.min_price)) &&
    (filter.max_price === null || promptPrice(model) <= nanosPerMillion(filter.max_price))
  )
}

function answersIn({ outputModalities }: Model, asked: readonly string[]): boolean {
  return asked.includes('all') || asked.some((name) => outputModalities.includes(name))
}

function includesAll(list: readonly string[], asked: readonly string[]): boolean {
  return asked.every((name) => list.includes(name))
}

function contextOf(model: Model): number {
  return model.contextLength ?? model.endpoints[0]?.contextLength ?? 0
}

/** Nano-dollars per million tokens at the endpoint that is tried first. */
function promptPrice({ endpoints }: Model): number {
  return endpoints[0]?.prices.prompt ?? 0
}

function nanosPerMillion(dollars: number): number {
  return Math.round(dollars * NANOS_PER_DOLLAR)
}

function meanPrice({ endpoints }: Model): number {
  const prices = endpoints[0]?.prices
  return prices === undefined ? 0 : prices.prompt + prices.completion
}

const ORDERS: Readonly<Partial<Record<Sort, (one: Model, other: Model) => number>>> = {
  newest: (one, other) => other.created - one.created,
  'pricing-low-to-high': (one, other) => meanPrice(one) - meanPrice(other),
  'pricing-high-to-low': (one, other) => meanPrice(other) - meanPrice(one),
  'context-high-to-low': (one, other) => contextOf(other) - contextOf(one),
}

/** By the asked order; equals, and everything when there is no figure to go by, stay in the catalogue's order. */
export function sorted(models: readonly Model[], sort: Sort | null): readonly Model[] {
  const by = sort === null ? undefined : ORDERS[sort]
  return by === undefined ? models : models.toSorted(by)
}

interface Page {
  readonly models: readonly Model[]
  /** Offset of the next page; null on the last. */
  readonly next: number | null
  readonly limit: number
}

/** One page; all of them when neither limit nor offset is asked. */
export function pageOf(models: readonly Model[], { limit, offset }: Pick<List, 'limit' | 'offset'>): Page {
  if (limit === null && offset === null) return { models, next: null, limit: models.length }
  const first = offset ?? 0
  const size = limit ?? PAGE
  const end = first + size
  return { models: models.slice(first, end), next: end < models.length ? end : null, limit: size }
}
