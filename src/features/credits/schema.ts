/** Credits of an organization on the wire (contract/gateway 11.2). Money is in dollars. */
import { z } from 'zod'
import { boundedNumber, boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'

/** Largest amount in dollars whose nano-dollars are still an exact integer. */
export const LARGEST_CREDITS = 9_000_000

export const Credits = nameSchema(
  'Credits',
  z.object({
    total_credits: z.number().meta({
      description: `All credits there ever were; ${LARGEST_CREDITS} when they are unlimited.`,
    }),
    total_usage: z.number(),
    unlimited: z.boolean(),
  }),
)

export const CreditsAnswer = z.object({ data: Credits })

export const CreditsIn = nameSchema(
  'CreditsIn',
  z.object({
    amount: boundedNumber(0, LARGEST_CREDITS).meta({ description: 'Dollars to add.' }),
    organization_id: boundedString(1, 256)
      .optional()
      .meta({ description: 'Whose credits; those of the calling organization when absent.' }),
  }),
)
