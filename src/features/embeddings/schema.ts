/** Bodies of the embeddings operation (contract/gateway 13). */
import { z } from 'zod'
import { boundedInteger, boundedString, limitOpenValue, optional, safeInteger } from '../../http/fields.js'
import { failFast } from '../../http/first-violation.js'
import { nameSchema } from '../../http/json-schema.js'
import * as shared from '../../inference-http/request-members.js'

/** Of one text, in characters. */
const LONGEST_TEXT = 1_000_000

const token = safeInteger()
const text = boundedString(1, LONGEST_TEXT)

const fields = z.object({
  model: shared.modelId,
  input: z.union([text, z.array(z.union([text, token, z.array(token).min(1)])).min(1)]).meta({
    description: 'A text, at most 2,048 texts, the tokens of a text, or at most 2,048 lists of them.',
  }),
  ...optional({
    encoding_format: z.enum(['float', 'base64']),
    dimensions: boundedInteger(1, 65_536),
    provider: shared.routing.provider,
    providers: shared.routing.providers,
    ...shared.identity,
    ...shared.persons,
    ...shared.serverState,
  }),
})

export type EmbeddingsBody = z.output<typeof fields>

/** The members that are of the contract. */
export const embeddingsMembers = fields

export const embeddingsBody: z.ZodType<EmbeddingsBody> = failFast(
  nameSchema('EmbeddingsRequest', z.looseObject(fields.shape)),
)

export const EmbeddingsReply = nameSchema(
  'Embeddings',
  z.object({
    id: z.string(),
    object: z.literal('list'),
    data: z.array(
      z.object({
        object: z.literal('embedding'),
        index: z.int(),
        embedding: z.union([z.string(), z.array(z.number())]),
      }),
    ),
    model: z.string(),
    provider: z.string(),
    usage: limitOpenValue(z.looseObject({ prompt_tokens: z.int(), total_tokens: z.int(), cost: z.number() })),
    service_metadata: limitOpenValue(z.looseObject({})).optional(),
  }),
)
