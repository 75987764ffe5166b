/** Members that a chat and a messages request have in common (contract/gateway 2.1, 5.1). */
import { z } from 'zod'
import {
  boundedNumber,
  boundedString,
  limitDepth,
  noteOptions,
  safeInteger,
  stringWithRule,
} from '../http/fields.js'
import { nameSchema } from '../http/json-schema.js'
import { LONGEST_IDENTIFIER } from './body-rules.js'
import { providerPreferences } from './provider-preferences.js'

export const cacheControl = nameSchema(
  'CacheControl',
  z.object({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).exactOptional() }),
)

const MODEL_ID = /^[~@A-Za-z0-9][\w.@~+-]*\/[A-Za-z0-9][\w.@~+-]*(?::[\w.-]+)?$/
const LONGEST_MODEL_ID = 256

/** `vendor/name` with an optional `:variant`. */
export const modelId = stringWithRule(
  (id) =>
    id.length <= LONGEST_MODEL_ID && MODEL_ID.test(id)
      ? null
      : 'must be a model id of the form vendor/name or vendor/name:variant',
  MODEL_ID.source,
).meta({ maxLength: LONGEST_MODEL_ID })

/** Most models of a fallback list; each is looked up, and each of its endpoints may be tried. */
const MOST_NAMES = 32

/** Who serves a call. */
export const routing = {
  models: z.array(modelId).max(MOST_NAMES).exactOptional(),
  provider: providerPreferences.nullable().exactOptional(),
  route: z.enum(['fallback', 'sort']).nullable().exactOptional(),
}

export const identifier = boundedString(0, LONGEST_IDENTIFIER)

/** Who a call is for, and what it belongs to. */
export const identity = {
  session_id: identifier.exactOptional(),
  user: identifier.exactOptional(),
  trace: limitDepth(
    z.looseObject({
      trace_id: z.string().exactOptional(),
      trace_name: z.string().exactOptional(),
      span_name: z.string().exactOptional(),
      generation_name: z.string().exactOptional(),
      parent_span_id: z.string().exactOptional(),
    }),
  ).exactOptional(),
}

/** Takes null and what `harmless` says, nothing else. Nothing of it is passed on, so its type says no more. */
export function unsupportedMember(
  note: string,
  harmless: (value: unknown) => boolean = () => false,
): z.ZodExactOptional<z.ZodType<null>> {
  const schema = z.custom<null>((value) => value === null || harmless(value), noteOptions(note))
  return schema.meta({ description: `Not carried out by this version: ${note}.` }).exactOptional()
}

/**
 * Members that speak of state which a server keeps for the caller (contract/decisions 46). This one keeps none, and at a provider
 * it would be the operator's account.
 */
export const serverState = {
  container: unsupportedMember('is not supported: containers belong to the account at the provider'),
  previous_response_id: unsupportedMember('is not supported: send the whole conversation in messages'),
  conversation: unsupportedMember('is not supported: send the whole conversation in messages'),
  thread: z
    .unknown()
    .meta({ description: 'Not carried out by this version: is refused unless null.' })
    .exactOptional(),
}

export const stopCondition = nameSchema(
  'StopCondition',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('step_count_is'), step_count: safeInteger() }),
    z.object({ type: z.literal('has_tool_call'), tool_name: boundedString(1, 256) }),
    z.object({ type: z.literal('max_tokens_used'), max_tokens: safeInteger() }),
    z.object({ type: z.literal('max_cost'), max_cost_in_dollars: boundedNumber(0, Number.MAX_VALUE) }),
    z.object({ type: z.literal('finish_reason_is'), reason: boundedString(1, 256) }),
  ]),
)
