import { z } from 'zod'
import { Fault } from '../../base/fault.js'
import { mapMaybe } from '../../base/maybe-promise.js'
import { practice } from '../../http/dialects/practice.js'
import { type Endpoint, endpointGroup, type Reply } from '../../http/endpoint.js'
import { boundedNumber, boundedString } from '../../http/fields.js'
import { acceptFast } from '../../http/first-violation.js'
import { nameSchema } from '../../http/json-schema.js'
import { integerParam, textParam } from '../../http/params.js'
import { createdReply, noContentReply, serializedJsonReply } from '../../http/reply.js'
import type { ItemStore, SearchResult } from '../../store/store.js'

/** What a caller sends to create or replace an item. */
const ItemIn = acceptFast(
  nameSchema(
    'ItemIn',
    z.object({
      name: boundedString(1, 100),
      description: boundedString(0, 1000).default(''),
      price: boundedNumber(0, 1_000_000).default(0),
    }),
  ),
)

/** An item as it is answered, members in this order. */
const Item = nameSchema(
  'Item',
  z.object({
    name: z.string(),
    description: z.string(),
    price: z.number(),
    id: z.int().min(1),
    created_at: z.number().meta({ description: 'Unix time in seconds, with a fraction.' }),
  }),
)

const Items = z.array(Item)

const operation = endpointGroup({ tag: 'Practice API', dialect: practice })
const NOT_FOUND = new Fault('item-not-found')
const ItemId = {
  item_id: integerParam({ description: 'Any integer is valid input; one that no item has is not found.' }),
}
const Limit = integerParam({ minimum: 1, maximum: 100, default: 20 })

/** Create, read, update, delete, list and search items (contract/practice 4). */
export const itemEndpoints = (items: ItemStore): Endpoint[] => [
  operation('list_items', 'GET /api/v1/items', {
    summary: 'List items by id',
    query: { limit: Limit, offset: integerParam({ minimum: 0, maximum: 100_000, default: 0 }) },
    replies: { 200: { description: 'A page of items', schema: Items } },
    handle: ({ query }) => mapMaybe(items.list(query.offset, query.limit), jsonBytesReply),
  }),
  operation('create_item', 'POST /api/v1/items', {
    summary: 'Create an item',
    body: ItemIn,
    examples: { lamp: { name: 'Lamp', description: 'Warm light.', price: 12.5 } },
    replies: {
      201: { description: 'The item, on disk', schema: Item, headers: { Location: 'Path of the new item' } },
    },
    faults: ['unavailable'],
    handle: ({ body }) =>
      items.create(body).then(({ id, json }) => createdReply(`/api/v1/items/${id}`, json)),
  }),
  operation('read_item', 'GET /api/v1/items/{item_id}', {
    summary: 'Read one item',
    params: ItemId,
    replies: { 200: { description: 'The item', schema: Item } },
    faults: ['item-not-found'],
    handle: ({ params }) => mapMaybe(items.read(params.item_id), itemReply),
  }),
  operation('update_item', 'PUT /api/v1/items/{item_id}', {
    summary: 'Replace an item',
    params: ItemId,
    body: ItemIn,
    examples: { lamp: { name: 'Lamp', description: 'Warm light.', price: 12.5 } },
    replies: { 200: { description: 'The item as it is now, on disk', schema: Item } },
    faults: ['item-not-found', 'unavailable'],
    handle: ({ params, body }) => items.replace(params.item_id, body).then(itemReply),
  }),
  operation('delete_item', 'DELETE /api/v1/items/{item_id}', {
    summary: 'Delete an item',
    params: ItemId,
    replies: { 204: { description: 'The item is gone, on disk' } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ params }) =>
      (await items.remove(params.item_id)) ? noContentReply() : throwItemNotFound(),
  }),
  operation('search_items', 'GET /api/v1/search', {
    summary: 'Find items by a substring, visiting every item',
    query: { q: textParam({ minLength: 1, maxLength: 50 }), limit: Limit },
    replies: {
      200: {
        description: 'Items whose name or description contains `q`, case-sensitive, ordered by id',
        schema: Items,
        headers: { 'X-Items-Scanned': 'How many items the scan visited' },
      },
    },
    handle: ({ query }, call) => mapMaybe(items.search(Buffer.from(query.q), query.limit, call), searchReply),
  }),
]

function itemReply(json: Uint8Array | null): Reply {
  return jsonBytesReply(json ?? throwItemNotFound())
}

function jsonBytesReply(json: Uint8Array): Reply {
  return serializedJsonReply(200, json)
}

function searchReply({ items, scanned }: SearchResult): Reply {
  return serializedJsonReply(200, items, [['X-Items-Scanned', String(scanned)]])
}

function throwItemNotFound(): never {
  throw NOT_FOUND
}
