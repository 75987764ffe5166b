import { z } from 'zod'
import { boundedNumber, boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'

/** What a caller sends to create or replace an item. */
export const ItemIn = nameSchema(
  'ItemIn',
  z.object({
    name: boundedString(1, 100),
    description: boundedString(0, 1000).default(''),
    price: boundedNumber(0, 1_000_000).default(0),
  }),
)

/** An item as it is answered, members in this order. */
export const Item = nameSchema(
  'Item',
  z.object({
    name: z.string(),
    description: z.string(),
    price: z.number(),
    id: z.int().min(1),
    created_at: z.number().meta({ description: 'Unix time in seconds, with a fraction.' }),
  }),
)

export const Items = z.array(Item)
