/** The models in the third-party messages format, for callers that send `anthropic-version` (contract/decisions 50). */
import { z } from 'zod'
import { invalidInput } from '../../base/fault.js'
import type { Model } from '../../gateway/catalog/catalog.js'
import { nameSchema } from '../../http/json-schema.js'
import { contextOf, type ModelListQuery } from './query.js'

const tokens = z.int().min(0).nullable()

export const MessagesModel = nameSchema(
  'MessagesModel',
  z.object({
    type: z.literal('model'),
    id: z.string(),
    display_name: z.string(),
    created_at: z.string().meta({ description: 'The epoch where it is not known.' }),
    capabilities: z.null(),
    lifecycle: z.literal('active'),
    line: z.null(),
    max_input_tokens: tokens,
    max_tokens: tokens,
    deprecated_at: z.null(),
    retires_at: z.null(),
  }),
)

export const MessagesModelList = nameSchema(
  'MessagesModelList',
  z.object({
    data: z.array(MessagesModel),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  }),
)

export function messagesModelBody(model: Model): z.output<typeof MessagesModel> {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name,
    created_at: new Date(model.created * 1000).toISOString(),
    capabilities: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: contextOf(model) || null,
    max_tokens: model.endpoints[0]!.maxCompletionTokens,
    deprecated_at: null,
    retires_at: null,
  }
}

/** Page size of that format. */
const DEFAULT_PAGE = 20

/** The models behind `after_id` or right before `before_id`. Throws `invalid-input` for an id that is not among them. */
export function messagesModelPage(
  models: readonly Model[],
  { limit, offset, after_id, before_id }: ModelListQuery,
): z.output<typeof MessagesModelList> {
  const size = limit ?? DEFAULT_PAGE
  const end = before_id === null ? models.length : placeOf(models, 'before_id', before_id)
  const begin = after_id === null ? (offset ?? 0) : placeOf(models, 'after_id', after_id) + 1
  const [from, to] = before_id === null ? [begin, begin + size] : [Math.max(begin, end - size), end]
  const data = models.slice(from, to).map(messagesModelBody)
  const hasMore = before_id === null ? to < models.length : from > begin
  return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
}

function placeOf(models: readonly Model[], name: string, id: string): number {
  const place = models.findIndex((model) => model.id === id)
  if (place < 0) throw invalidInput(['query', name], 'is not the id of a model of this list')
  return place
}
