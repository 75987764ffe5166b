/** What a generation came to, on the wire (contract/gateway 11.4). Money is in dollars, times in milliseconds. */
import { z } from 'zod'
import { isoTime } from '../../base/clock.js'
import { nanosToDollars } from '../../base/money.js'
import type { Principal } from '../../base/principal.js'
import { dataAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { idParam } from '../../http/params.js'
import { resourceReply } from '../../http/reply.js'
import { isCalledByMember, type People } from '../../identity/people.js'
import { reachOf, roleIn } from '../../identity/reach.js'
import type { AccountStore } from '../../store/account-store.js'
import type { LedgerRow, RowCandidate, UsageLedger } from '../../store/ledger-store.js'
import { Attempt, basis, basisOf, encodeAttempts, encodeLostAttempt, LostAttempt } from './attempts.js'
import { encodePart, encodePhases, isFee, Part, Phases, searchEngineOf, sumParts } from './parts.js'

const text = z.string().nullable()
const count = z.int().nullable()

const Candidate = z.object({
  provider_name: z.string(),
  model: z.string(),
  place: z
    .int()
    .nullable()
    .meta({ description: 'In the order of trial, from 1; null when it was excluded.' }),
  probability: z
    .number()
    .nullable()
    .meta({ description: 'That the draw put it first among its like; null where no draw decided.' }),
  why: z.array(z.string()),
})

const freeObject = z.record(z.string(), z.unknown()).nullable()

const Generation = nameSchema(
  'Generation',
  z.object({
    id: z.string(),
    model: z.string(),
    requested: z.string().meta({ description: 'The model as the caller named it.' }),
    key_hash: z.string().meta({ description: 'Hash of the key that asked.' }),
    fault: text.meta({ description: 'Kind of the fault that ended it; null when none did.' }),
    created_at: z.string(),
    origin: z.string(),
    total_cost: z.number(),
    usage: z.number(),
    is_byok: z.boolean(),
    data_region: z.string(),
    api_type: text,
    app_id: count,
    cache_discount: z.number().nullable(),
    cancelled: z.boolean().nullable(),
    external_user: text,
    finish_reason: text,
    native_finish_reason: text,
    generation_time: z.number().nullable(),
    latency: z.number().nullable(),
    moderation_latency: z.number().nullable(),
    http_referer: text,
    user_agent: text,
    provider_name: text,
    provider_responses: z
      .array(Attempt)
      .nullable()
      .meta({ description: 'Each call of an endpoint, turn by turn.' }),
    upstream_id: text,
    upstream_inference_cost: z.number().nullable(),
    router: text,
    preset_id: text,
    workspace_id: text,
    service_tier: text,
    streamed: z.boolean().nullable(),
    tokens_prompt: count,
    tokens_completion: count,
    native_tokens_prompt: count,
    native_tokens_completion: count,
    native_tokens_completion_images: count,
    native_tokens_reasoning: count,
    native_tokens_cached: count,
    num_media_prompt: count,
    num_media_completion: count,
    num_input_audio_prompt: count,
    num_search_results: count,
    num_fetches: count,
    web_search_engine: text,
    session_id: text,
    outcome: z.string().meta({
      description:
        '`settled`, `failed`, `aborted-confirmed` (figures of the provider) or `aborted-estimated`.',
    }),
    attempts: z.int().meta({ description: 'Endpoints that were called.' }),
    estimated: z.boolean().meta({ description: 'The provider sent no figures; they were counted here.' }),
    guessed: z.boolean().meta({ description: 'Nor could they be counted: they follow from lengths.' }),
    units: z.record(z.string(), z.number()).meta({ description: 'What else was counted, by name.' }),
    charged: z.number().meta({ description: 'What the caller has paid; equal to `total_cost`.' }),
    upstream_cost: z.number().meta({ description: 'What the provider that answered is reckoned to ask.' }),
    upstream_cost_basis: basis,
    config_version: text,
    price_version: text,
    region: text,
    candidates: z.array(Candidate).meta({
      description:
        'Endpoints that could have answered, and why each was or was not asked; empty where there was one.',
    }),
    unlisted_candidates: z.int(),
    phases: Phases,
    title: text,
    metadata: freeObject,
    trace: freeObject,
    lost_attempts: z.array(LostAttempt).meta({
      description:
        'Calls of providers that came to nothing and may cost something there, each a row of its own.',
    }),
    rows: z.array(Part).meta({
      description: 'Turns, tools and plugins of a request that ran a loop; empty where it was one turn.',
    }),
  }),
)

export type GenerationAnswer = z.infer<typeof Generation>

/** Members for which nothing is known here. */
const NOTHING_KNOWN = Object.fromEntries(Object.keys(Generation.shape).map((name) => [name, null]))

function encodeGeneration(found: LedgerRow): z.infer<typeof Generation> {
  const row = sumParts(found)
  const { id, createdAt, cost, promptTokens, completionTokens, units, outcome, detail, workspaceId } = row
  const { why } = detail
  const upstream = upstreamCost(row)
  const known = {
    id,
    model: detail.model,
    requested: detail.requested,
    key_hash: row.keyHash,
    fault: detail.fault,
    created_at: isoTime(createdAt),
    origin: why.referer ?? '',
    total_cost: nanosToDollars(cost),
    usage: nanosToDollars(cost),
    is_byok: row.byokCost !== undefined,
    data_region: dataRegion(why.region),
    external_user: why.user,
    cache_discount: why.cacheDiscount === 0 ? null : nanosToDollars(why.cacheDiscount),
    http_referer: why.referer,
    user_agent: why.agent,
    api_type: detail.api === '' ? null : detail.api,
    finish_reason: detail.finish,
    native_finish_reason: detail.nativeFinish,
    service_tier: detail.serviceTier,
    num_media_prompt: detail.mediaParts,
    num_input_audio_prompt: detail.audioParts,
    cancelled: outcome === 'aborted-confirmed' || outcome === 'aborted-estimated',
    generation_time: detail.durationMs,
    latency: detail.firstEventMs ?? detail.durationMs,
    provider_name: detail.provider,
    provider_responses: encodeAttempts(row),
    upstream_inference_cost: nanosToDollars(upstream),
    workspace_id: workspaceId,
    streamed: detail.streamed,
    tokens_prompt: promptTokens,
    tokens_completion: completionTokens,
    native_tokens_prompt: promptTokens,
    native_tokens_completion: completionTokens,
    native_tokens_reasoning: units.reasoning_tokens ?? 0,
    native_tokens_cached: units.cached_tokens ?? 0,
    native_tokens_completion_images: units.completion_image_tokens ?? 0,
    num_media_completion: units.output_images ?? 0,
    num_fetches: units.web_fetches ?? 0,
    num_search_results: units.search_results ?? null,
    web_search_engine: searchEngineOf(row),
    session_id: detail.sessionId,
    outcome,
    attempts: detail.attempts,
    estimated: detail.estimated,
    guessed: detail.guessed,
    units,
    charged: nanosToDollars(cost),
    upstream_cost: nanosToDollars(upstream),
    upstream_cost_basis: basisOf(detail),
    config_version: why.configVersion,
    price_version: why.priceVersion,
    region: why.region,
    candidates: why.candidates.map(encodeCandidate),
    unlisted_candidates: why.unlisted,
    phases: encodePhases(row),
    title: why.title,
    metadata: why.metadata,
    trace: why.trace,
    lost_attempts: row.lost.map(encodeLostAttempt),
    rows: row.parts.map(encodePart),
  } satisfies Partial<z.infer<typeof Generation>>
  return { ...NOTHING_KNOWN, ...known } as z.infer<typeof Generation>
}

/** Without what is paid for tools of the gateway: nobody upstream asks for that. */
function upstreamCost(row: LedgerRow): number {
  if (row.parts.length === 0) return isFee(row) ? 0 : (row.byokCost ?? row.cost)
  return row.parts.reduce((sum, part) => sum + (isFee(part) ? 0 : (part.byokCost ?? part.cost)), 0)
}

/** One of three words: anything but Europe and the United States is `global`. */
function dataRegion(region: string | null): 'global' | 'europe' | 'us' {
  if (region === null) return 'global'
  return /^eu/i.test(region) ? 'europe' : /^us/i.test(region) ? 'us' : 'global'
}

function encodeCandidate({ provider, model, place, chance, why }: RowCandidate): z.infer<typeof Candidate> {
  return {
    provider_name: provider,
    model,
    place: place === 0 ? null : place,
    probability: chance,
    why: [...why],
  }
}

// ── The operation ───────────────────────────────────────────────────────────

const operation = endpointGroup({ tag: 'Credits and usage', dialect: gateway })

/** What became of one inference (contract/gateway 11.4). */
export const generationEndpoints = (
  ledger: UsageLedger,
  accounts: Pick<AccountStore, 'key'>,
  people: People,
): Endpoint[] => [
  operation('read_generation', 'GET /api/v1/generation', {
    summary: 'Read what a generation came to',
    access: 'caller',
    query: { id: { ...idParam('Id of the generation, from its answer.'), required: true } },
    replies: { 200: { description: 'The generation', schema: dataAnswer(Generation) } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, query }) => {
      const mayRead = (row: LedgerRow): boolean => mayReadRow(caller, row, accounts, people)
      const row =
        (await readableRow(ledger, query.id, mayRead)) ?? (await findAfterSync(ledger, query.id, mayRead))
      return resourceReply(row, encodeGeneration)
    },
  }),
]

type RowCheck = (row: LedgerRow) => boolean

/**
 * A row that is not there yet may stand in the journal of any worker. Another organization's row takes the same way:
 * the time of the answer must not tell that it exists.
 */
async function findAfterSync(ledger: UsageLedger, id: string, mayRead: RowCheck): Promise<LedgerRow | null> {
  if (!id.startsWith('gen-')) return null
  await ledger.sync()
  return readableRow(ledger, id, mayRead)
}

async function readableRow(ledger: UsageLedger, id: string, mayRead: RowCheck): Promise<LedgerRow | null> {
  const row = await ledger.row(id)
  return row !== null && mayRead(row) ? row : null
}

/**
 * The operator, who lists the rows of all; the organization's management, admins and keys of the workspace it ran in, and
 * the member whose key made it. Others do not learn that it exists.
 */
function mayReadRow(
  caller: Principal,
  { organizationId, keyHash, workspaceId }: LedgerRow,
  accounts: Pick<AccountStore, 'key'>,
  people: People,
): boolean {
  if (caller.operator) return true
  if (caller.organizationId !== organizationId) return false
  if (caller.kind === 'management' || caller.keyHash === keyHash) return true
  if (!isCalledByMember(caller, people)) return caller.workspaceId === workspaceId
  if (workspaceId === null) return false
  const role = roleIn(reachOf(caller, people.roles), workspaceId)
  return role === 'admin' || (role === 'member' && accounts.key(keyHash)?.creatorUserId === caller.userId)
}
