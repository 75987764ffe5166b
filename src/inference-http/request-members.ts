/**
 * Members that a chat and a messages request have in common (contract/gateway 2.1, 5.1), and rules that join
 * several.
 */
import { z } from 'zod'
import { Fault, ValidationIssue } from '../base/fault.js'
import { QUANTIZATIONS } from '../gateway/catalog/configuration/models.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { STATE_MEMBERS } from '../gateway/formats/extra-members.js'
import {
  boundedInteger,
  boundedNumber,
  boundedString,
  limitOpenValue,
  noteOptions,
  openObject,
  optional,
  safeInteger,
  stringMatching,
  stringWithRule,
} from '../http/fields.js'
import { nameSchema } from '../http/json-schema.js'
import { countCodePoints } from '../http/params.js'
import { plugin } from './plugins.js'

export const SESSION_HEADER = 'x-session-id'

export const cacheControl = nameSchema(
  'CacheControl',
  z.object({ type: z.literal('ephemeral'), ...optional({ ttl: z.enum(['5m', '1h']) }) }),
)

/** How much a model is to think, as chat says it. */
export const effort = z.enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])

const MODEL_ID = /^[~@A-Za-z0-9][\w.:/@~+-]*$/
const LONGEST_MODEL_ID = 256

/** `vendor/name`, also with a `:variant`, or any name of the configuration (contract/decisions 51). */
export const modelId = stringWithRule(
  (id) =>
    id.length <= LONGEST_MODEL_ID && MODEL_ID.test(id)
      ? null
      : 'must be the id of a model: letters, digits and . _ : / @ + ~ -',
  MODEL_ID.source,
).meta({ maxLength: LONGEST_MODEL_ID })

/** Most characters of an end-user or session identifier, in the body and in the header (contract/decisions 7). */
const LONGEST_IDENTIFIER = 256

export const identifier = boundedString(0, LONGEST_IDENTIFIER)

const traceMembers = optional({
  trace_id: identifier,
  trace_name: identifier,
  span_name: identifier,
  generation_name: identifier,
  parent_span_id: identifier,
})

/** Characters of a `trace` as JSON: it stands in the ledger as it is. */
const LONGEST_TRACE = 4096

// The members below stand in bodies in which each of them is optional.

/** Who a call is for, and what it belongs to. */
export const identity = {
  session_id: identifier,
  user: identifier,
  trace: limitOpenValue(z.looseObject(traceMembers)).refine(
    (trace) => JSON.stringify(trace).length <= LONGEST_TRACE,
    noteOptions(`must have at most ${LONGEST_TRACE} characters as JSON`),
  ),
}

const folded = identifier.nullable().meta({ description: 'Goes into the pseudonym of the end user alone.' })

/** Further names of a person or an account that published clients send (contract/decisions 46). */
export const persons = { safety_identifier: folded, user_profile_id: folded, workspace_id: folded }

/** Takes null and what `harmless` says, nothing else. Nothing of it is passed on, so its type says no more. */
export function unsupportedMember(
  note: string,
  harmless: (value: unknown) => boolean = () => false,
): z.ZodType<null> {
  const schema = z.custom<null>((value) => value === null || harmless(value), noteOptions(note))
  return schema.meta({ description: `Not carried out by this version: ${note}.` })
}

const NO_MEMORY = 'is not supported: send the whole conversation in messages'

/** Members that speak of state which a server keeps for the caller (contract/decisions 46). */
export const serverState = {
  container: unservedState('is not supported: containers belong to the account at the provider'),
  previous_response_id: unservedState(NO_MEMORY),
  conversation: unservedState(NO_MEMORY),
  conversation_id: unservedState(NO_MEMORY),
  thread_id: unservedState(NO_MEMORY),
  assistant_id: unservedState('is not supported: assistants belong to the account at the provider'),
  previous_message_id: unservedState(NO_MEMORY),
  cached_content: unservedState('is not supported: caches belong to the account at the provider'),
  background: unservedState('must be false: answers are given on the connection'),
  store: unservedState('must be false: no answer is kept'),
  mcp_servers: unservedState('is not supported unless empty'),
  billing_policy: unservedState('is not supported: calls are billed to the account at the provider'),
  thread: z.unknown().meta({ description: 'Not carried out by this version: is refused unless null.' }),
} satisfies Readonly<Record<(typeof STATE_MEMBERS)[number], z.ZodType>>

function unservedState(note: string): z.ZodType<null> {
  return unsupportedMember(note, saysNoState)
}

/** Clients send these for what they do not want. */
function saysNoState(value: unknown): boolean {
  return value === false || isEmptyList(value)
}

export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

const stopCondition = nameSchema(
  'StopCondition',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('step_count_is'), step_count: safeInteger() }),
    z.object({ type: z.literal('has_tool_call'), tool_name: boundedString(1, 256) }),
    z.object({ type: z.literal('max_tokens_used'), max_tokens: safeInteger() }),
    z.object({ type: z.literal('max_cost'), max_cost_in_dollars: boundedNumber(0, Number.MAX_VALUE) }),
    z.object({ type: z.literal('finish_reason_is'), reason: boundedString(1, 256) }),
  ]),
)

/** Members of a loop of tools that the gateway runs, and of plugins (contract/tools 1.2, 4). */
export const loopMembers = {
  plugins: z.array(plugin).meta({
    description:
      'What the gateway does once per request; one with `enabled: false` is switched off, one that is not configured is refused with 400.',
  }),
  stop_server_tools_when: z.array(stopCondition).min(1).meta({
    description: 'What ends the loop of server tools, whichever holds first; replaces `max_tool_calls`.',
  }),
  max_tool_calls: boundedInteger(1, 30).meta({
    description: 'Calls of server tools after which the loop ends; 30 where absent.',
  }),
}

// ── Who serves a call (contract/gateway 2.7) ──────────────────────────────────

const slugs = z.array(boundedString(1, 256)).max(64).nullable()
const flag = z.boolean().nullable()
const sortKey = z.enum(['price', 'throughput', 'latency', 'exacto'])
const partition = z.enum(['model', 'none'])
const notNegative = boundedNumber(0, Number.MAX_VALUE)

/** Dollars, as a number or as decimal text. */
const price = z.union([
  notNegative,
  stringMatching(/^(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})$/, 'must be a decimal number'),
])

const percentile = notNegative.nullable()
const percentiles = optional({ p50: percentile, p75: percentile, p90: percentile, p99: percentile })
const cutoff = z.union([notNegative, z.object(percentiles)]).nullable()

const providerWishes = optional({
  order: slugs,
  only: slugs,
  ignore: slugs,
  allow_fallbacks: flag,
  hedge: z.boolean().nullable().meta({
    description:
      'Of an answer that is late, to ask another endpoint as well. `true` has an effect where `routing.hedge` of the configuration is `requested` or `always`, and is named in `untranslated` where it has none; `false` where it is `always`.',
  }),
  require_parameters: flag,
  data_collection: z.enum(['allow', 'deny']).nullable(),
  zdr: flag,
  enforce_distillable_text: flag,
  quantizations: z.array(z.enum(QUANTIZATIONS)).nullable(),
  sort: z
    .union([sortKey, z.object(optional({ by: sortKey.nullable(), partition: partition.nullable() }))])
    .nullable(),
  max_price: z.object(
    optional({ prompt: price, completion: price, request: price, image: price, audio: price }),
  ),
  preferred_min_throughput: cutoff,
  preferred_max_latency: cutoff,
})

/** Most models of a fallback list, each of which is looked up and may be tried; and most providers with options. */
const MOST_NAMES = 32

const providerOptions = z
  .record(boundedString(1, 256), openObject())
  .refine((options) => Object.keys(options).length <= MOST_NAMES, noteOptions('must have at most 32 entries'))
  .nullable()

const providerPreferences = nameSchema('ProviderPreferences', limitOpenValue(z.looseObject(providerWishes)))

/** Where what one provider alone understands reaches it, its entry by short name. */
export const providerPreferencesWithOptions = nameSchema(
  'ProviderPreferencesWithOptions',
  limitOpenValue(z.looseObject({ ...providerWishes, ...optional({ options: providerOptions }) })),
)

export const routing = {
  models: z.array(modelId).max(MOST_NAMES),
  provider: providerPreferences.nullable(),
  providers: providerPreferences.nullable().meta({ description: 'Another word for provider.' }),
  route: z.enum(['fallback', 'sort']).nullable(),
}

// ── Rules that join several fields of a body ──────────────────────────────────

/** What is wrong with a body whose fields are valid one by one, or null. */
export type BodyRule<B> = (body: B) => ValidationIssue | null

export function bodyIssue(path: readonly (string | number)[], note: string): ValidationIssue {
  return new ValidationIssue(['body', ...path], 'other', undefined, note)
}

/** The body without these members, which say nothing to a provider; the body itself where it has none of them. */
export function withoutMembers<B extends object, K extends keyof B>(
  body: B,
  names: readonly K[],
): Omit<B, K> {
  let copy: B | null = null
  for (const name of names) {
    if (body[name] === undefined) continue
    copy ??= { ...body }
    delete copy[name]
  }
  return copy ?? body
}

/** Throws `invalid-input` for the first rule that the body breaks, then for the session header, then for a thread. */
export function requireRules<B extends { readonly thread?: unknown }>(
  body: B,
  rules: readonly BodyRule<B>[],
  sessionId: string,
): void {
  for (const rule of rules) {
    const issue = rule(body)
    if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  }
  const issue = sessionIdIssue(sessionId)
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  refuseThread(body.thread)
}

/** Throws for a thread. The newest public helpers read `details`, and go on without one by themselves. */
function refuseThread(thread: unknown): void {
  if (thread === undefined || thread === null || saysNoState(thread)) return
  throw new Fault('invalid-input', {
    issues: [bodyIssue(['thread'], 'is not supported: send the whole conversation in messages')],
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
}

/** What is wrong with a session id in the header, or null. */
export function sessionIdIssue(sessionId: string): ValidationIssue | null {
  if (sessionId.length <= LONGEST_IDENTIFIER || countCodePoints(sessionId) <= LONGEST_IDENTIFIER) return null
  return new ValidationIssue(['header', SESSION_HEADER], 'string-too-long', LONGEST_IDENTIFIER)
}

/** What routing reads of a body as it came. */
interface RoutedBody extends Pick<RoutedRequest, 'provider' | 'route'> {
  /** Another word for `provider` (contract/decisions 58). */
  readonly providers?: RoutedRequest['provider']
}

/** The first contradiction among the wishes about who serves a call, or null. */
export function routingContradiction(body: RoutedBody): ValidationIssue | null {
  const { route, providers } = body
  if (providers != null && body.provider != null)
    return bodyIssue(['providers'], 'is another word for provider: send one of them')
  const provider = body.provider ?? providers
  if (provider === undefined || provider === null) return null
  const { only, ignore, sort } = provider
  if (only?.some((slug) => ignore?.includes(slug)) === true) {
    return bodyIssue(['provider', 'only'], 'must not name a provider that provider.ignore names')
  }
  const { by, partition } = typeof sort === 'object' && sort !== null ? sort : { by: sort }
  if (by === 'exacto') {
    const place = typeof sort === 'string' ? ['provider', 'sort'] : ['provider', 'sort', 'by']
    return bodyIssue(place, 'cannot be exacto: nothing is known here of the quality of answers')
  }
  const opposite = route === 'fallback' ? 'none' : route === 'sort' ? 'model' : undefined
  if (opposite === undefined || partition !== opposite) return null
  return bodyIssue(['route'], `${route} says the opposite of provider.sort.partition: ${partition}`)
}
