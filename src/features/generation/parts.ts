/** A request whose turns and tools have rows of their own, as one row: their figures together (contract/tools 2.1). */
import { z } from 'zod'
import { nanosToDollars } from '../../base/money.js'
import type { LedgerRow } from '../../store/ledger-store.js'

export const Phases = z
  .object({
    admit: z.int(),
    queue: z.int(),
    connect: z.int(),
    first_event: z.int().nullable(),
    total: z.int(),
  })
  .meta({
    description:
      'Milliseconds: for limits and credit, for a connection, to make one, from arrival to the first event, in all.',
  })

export function encodePhases({ detail }: LedgerRow): z.infer<typeof Phases> {
  const { why, firstEventMs, durationMs } = detail
  const waits = { admit: why.admitMs, queue: why.queueMs, connect: why.connectMs }
  return { ...waits, first_event: firstEventMs, total: durationMs }
}

export const Part = z.object({
  id: z.string(),
  kind: z.string().meta({
    description: '`turn`, `tool`, `plugin`, or what a nested run was for: `advisor`, `panel`, `judge`.',
  }),
  name: z.string().meta({ description: 'The model of a turn, the name of a tool.' }),
  provider_name: z.string().meta({ description: 'Who has answered, or what has run the tool.' }),
  outcome: z.string(),
  fault: z.string().nullable(),
  attempts: z.int().meta({ description: 'Endpoints that were called; 0 for tools and plugins.' }),
  phases: Phases,
  charged: z.number(),
  upstream_cost: z.number().nullable().meta({
    description: 'What its provider is reckoned to ask; null for tools, whose bills are not known here.',
  }),
  is_byok: z.boolean(),
  tokens_prompt: z.int(),
  tokens_completion: z.int(),
  generation_time: z.int(),
})

/** Work of the gateway itself, which no model has answered. */
const FEES: ReadonlySet<string> = new Set(['tool', 'plugin'])

export function isFee({ detail }: LedgerRow): boolean {
  return FEES.has(detail.api)
}

export function encodePart(row: LedgerRow): z.infer<typeof Part> {
  const { id, detail, outcome, cost, promptTokens, completionTokens } = row
  return {
    id,
    kind: detail.api,
    name: detail.model,
    provider_name: detail.provider,
    outcome,
    fault: detail.fault,
    attempts: isFee(row) ? 0 : detail.attempts,
    phases: encodePhases(row),
    charged: nanosToDollars(cost),
    upstream_cost: isFee(row) ? null : nanosToDollars(row.byokCost ?? cost),
    is_byok: row.byokCost !== undefined,
    tokens_prompt: promptTokens,
    tokens_completion: completionTokens,
    generation_time: detail.durationMs,
  }
}

/** The row with the sums of its parts; the very row where it has none. */
export function sumParts(row: LedgerRow): LedgerRow {
  if (row.parts.length === 0) return row
  const { parts, detail } = row
  const turns = parts.filter((part) => !isFee(part))
  const sum = (figure: (part: LedgerRow) => number): number =>
    parts.reduce((before, part) => before + figure(part), 0)
  const onOwnAccounts = parts.some(({ byokCost }) => byokCost !== undefined)
  return {
    ...row,
    cost: sum(({ cost }) => cost),
    ...(onOwnAccounts && { byokCost: sum(({ byokCost = 0 }) => byokCost) }),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    units: sumUnits(row),
    detail: {
      ...detail,
      attempts: turns.reduce((before, turn) => before + turn.detail.attempts, 0),
      estimated: parts.some((part) => part.detail.estimated),
      guessed: parts.some((part) => part.detail.guessed),
      why: { ...detail.why, cacheDiscount: sum((part) => part.detail.why.cacheDiscount) },
    },
  }
}

/** What only the root counts (tools asked for and executed) beside what its parts do. */
function sumUnits({ units, parts }: LedgerRow): LedgerRow['units'] {
  const sums: Record<string, number> = { ...units }
  for (const part of parts)
    for (const [name, amount] of Object.entries(part.units)) sums[name] = (sums[name] ?? 0) + amount
  return sums
}

/** What has searched: the backend of our own search, or `native`; null where nothing was searched. */
export function searchEngineOf(row: LedgerRow): string | null {
  const searches = (part: LedgerRow): boolean => part.units.web_searches !== undefined
  const parts = row.parts.length === 0 ? [row] : row.parts
  const ours = parts.find((part) => isFee(part) && searches(part))
  if (ours !== undefined) return ours.detail.provider
  return parts.some(searches) ? 'native' : null
}
