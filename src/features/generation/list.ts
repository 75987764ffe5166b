/** Generations of the ledger in pages, the newest first, and what they come to by day, hour, key, model and provider. */
import { z } from 'zod'
import { isoTime } from '../../base/clock.js'
import { invalidInput } from '../../base/fault.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { choiceParam, integerParam, optionalTextParam } from '../../http/params.js'
import { jsonReply } from '../../http/reply.js'
import type { People } from '../../identity/people.js'
import { LEDGER_OUTCOMES, type LedgerRow, type UsageLedger } from '../../store/ledger-store.js'
import { sumParts } from './parts.js'
import { END_OF_TIME, filterOf, ROW_FILTER, rowTextParam, type ScopeAccounts, scopeOf } from './scope.js'
import { encodeSummary } from './summary.js'

const text = z.string().nullable()

const ListedGeneration = nameSchema(
  'ListedGeneration',
  z.object({
    id: z.string(),
    created_at: z.string(),
    key_hash: z.string(),
    key_name: text.meta({ description: 'What the key is called now; null where there is no record of it.' }),
    organization_id: z.string(),
    workspace_id: text,
    model: z.string(),
    requested: z.string().meta({ description: 'The model as the caller named it.' }),
    provider: z.string(),
    api: z.string(),
    streamed: z.boolean(),
    outcome: z.enum(LEDGER_OUTCOMES),
    fault: text,
    finish: text,
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    cost: z.number().meta({ description: 'Dollars that the caller has paid.' }),
    byok_cost: z
      .number()
      .meta({ description: 'Dollars that went on the caller’s own account at a provider.' }),
    duration_ms: z.int(),
    first_event_ms: z.int().nullable(),
    session_id: text,
    attempts: z.int(),
  }),
)

const GenerationPage = nameSchema(
  'GenerationPage',
  z.object({
    data: z.array(ListedGeneration),
    next_cursor: text.meta({
      description:
        '`cursor` of the next page; null when there is none. A page that is not full may have one.',
    }),
    scanned_to: text.meta({
      description: 'All that was dispatched later has been gone through; null when everything has.',
    }),
  }),
)

const MOST_ROWS = 200
const operation = endpointGroup({ tag: 'Credits and usage', dialect: gateway, access: 'member' })

/** The list of generations; a single one is read by `generationEndpoints`. */
export const generationListEndpoints = (
  ledger: UsageLedger,
  accounts: ScopeAccounts,
  people: People,
): Endpoint[] => [
  operation('list_generations', 'GET /api/v1/generations', {
    summary: 'List generations, the newest first',
    query: {
      ...ROW_FILTER,
      outcome: choiceParam(LEDGER_OUTCOMES, null, 'How it ended.'),
      session: rowTextParam('`session_id` of the request.'),
      limit: integerParam({ minimum: 1, maximum: MOST_ROWS, default: 50, description: 'Rows of a page.' }),
      cursor: optionalTextParam('`next_cursor` of the page before.'),
    },
    replies: { 200: { description: 'A page, without what was said', schema: GenerationPage } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, query }) => {
      const { outcome, session, limit, cursor } = query
      const scope = await scopeOf(caller, query.organization_id, accounts, people)
      // What has come since the first page stands before it.
      if (cursor === null) await ledger.sync()
      const page = await ledger.list({
        ...filterOf(query, scope, { from: query.from ?? 0, to: query.to ?? END_OF_TIME }),
        ...{ outcome, sessionId: session, before: cursor, limit },
      })
      if (page === null) throw invalidInput(['query', 'cursor'], 'must be the next_cursor of a page')
      const nameOf = (hash: string): string | null => accounts.key(hash)?.name ?? null
      return jsonReply(200, {
        data: page.rows.map((row) => encodeRow(sumParts(row), nameOf(row.keyHash))),
        next_cursor: page.next?.before ?? null,
        scanned_to: page.next === null ? null : isoTime(page.next.at),
      })
    },
  }),
]

function encodeRow(row: LedgerRow, keyName: string | null): z.infer<typeof ListedGeneration> {
  const { organizationId, workspaceId } = row
  return { ...encodeSummary(row, keyName), organization_id: organizationId, workspace_id: workspaceId }
}
