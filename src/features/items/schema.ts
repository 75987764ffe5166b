import { z } from 'zod'
import { number, string } from '../../http/fields.js'
import { named } from '../../http/named-schema.js'

/** What a caller sends to create or replace an item. */
export const ItemIn = named(
  'ItemIn',
  z.object({
    name: string(1, 100),
    description: string(0, 1000).default(''),
    price: number(0, 1_000_000).default(0),
  }),
)

/** An item as it is answered, members in this order. */
export const Item = named(
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
