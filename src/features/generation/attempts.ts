/** The calls of endpoints that a generation was made by, each with its money (contract/decisions 61). */
import { z } from 'zod'
import { nanosToDollars } from '../../base/money.js'
import type { LedgerRow, LostAttemptOfRow, RowAttempt } from '../../store/ledger-store.js'
import { isFee } from './parts.js'

export const basis = z
  .enum(['exact', 'estimated'])
  .meta({ description: 'Whose figures: the provider’s or ours.' })

const status = z.int().meta({ description: 'What the provider answered with; 0 when it did not.' })

const rowId = z.string().meta({
  description: 'Id of the row that it was made for: of a turn, or of the generation where that was one turn.',
})

export const LostAttempt = z.object({
  row: rowId,
  provider_name: z.string(),
  model: z.string(),
  status,
  error: z.string(),
  charged: z.literal(0),
  upstream_cost: z.number(),
  upstream_cost_basis: basis,
  is_byok: z.boolean(),
  tokens_prompt: z.int(),
  tokens_completion: z.int(),
  generation_time: z.int(),
})

const wait = (what: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${what}; null where it is not kept.` })

export const Attempt = z.object({
  row: rowId,
  kind: z.string().meta({ description: '`turn`, or what a nested run was for, as in `rows`.' }),
  turn: z.int().meta({ description: 'Which of its kind, from 1.' }),
  provider_name: z.string(),
  model: z.string(),
  status,
  error: z.string().nullable(),
  latency: z.int().meta({ description: 'Milliseconds to its answer, or to its failure.' }),
  queue: wait('Milliseconds of these for a connection'),
  connect: wait('Milliseconds of these to make a connection'),
  charged: z
    .number()
    .meta({ description: 'What the caller has paid: nothing for one that came to nothing.' }),
  upstream_cost: z.number().meta({ description: 'What its provider is reckoned to ask.' }),
  upstream_cost_basis: basis,
})

/** Every attempt of a generation, turn by turn. */
export function encodeAttempts(whole: LedgerRow): z.infer<typeof Attempt>[] {
  const rows = whole.parts.length === 0 ? [whole] : whole.parts.filter((part) => !isFee(part))
  const turns = new Map<string, number>()
  return rows.flatMap((row) => {
    const kind = row === whole ? 'turn' : row.detail.api
    const turn = (turns.get(kind) ?? 0) + 1
    turns.set(kind, turn)
    const lost = whole.lost.filter(({ id }) => id === row.id)
    return attemptsOf(row, lost).map((attempt) => ({ row: row.id, kind, turn, ...attempt }))
  })
}

function attemptsOf(row: LedgerRow, lost: readonly LostAttemptOfRow[]) {
  const { attempts: made, why, estimated } = row.detail
  const unseen = [...lost]
  const listed = listedAttempts(row, lost).map((attempt) => ({ attempt, loss: takeLoss(unseen, attempt) }))
  // The list has an end, and a process that died has left none: what was lost beyond it stands in rows of its own.
  const all = [...listed, ...unseen.map((loss) => ({ attempt: loss, loss }))]
  const isWhole = all.length >= made
  const kept = listed.filter(({ loss }) => loss === undefined)
  const paid = kept.findLast(({ attempt }) => attempt.fault === null) ?? (isWhole ? kept.at(-1) : undefined)
  return all.map((each) => {
    const { attempt, loss } = each
    const isPaid = each === paid
    const upstream = isPaid ? (row.byokCost ?? row.cost) : (loss?.upstreamCost ?? 0)
    const isAnswer = isPaid && attempt.fault === null
    return {
      ...{ provider_name: attempt.provider, model: attempt.model, status: attempt.status },
      ...{ error: attempt.fault, latency: attempt.durationMs },
      ...{ queue: isAnswer ? why.queueMs : null, connect: isAnswer ? why.connectMs : null },
      charged: isPaid ? nanosToDollars(row.cost) : 0,
      upstream_cost: nanosToDollars(upstream),
      upstream_cost_basis: basisOf({ estimated: isPaid ? estimated : (loss?.estimated ?? false) }),
    }
  })
}

/** A row that lists none had one attempt, which answered, or none at all. */
function listedAttempts(
  { detail, outcome }: LedgerRow,
  lost: readonly LostAttemptOfRow[],
): readonly RowAttempt[] {
  const { model, provider, attempts, why, firstEventMs, durationMs } = detail
  if (why.attempts.length > 0) return why.attempts
  if (attempts !== 1 || outcome === 'failed' || lost.length > 0) return []
  return [{ provider, model, status: 200, fault: null, durationMs: firstEventMs ?? durationMs }]
}

/** Takes what the attempt has lost out of the list; undefined where it has lost nothing. */
function takeLoss(lost: LostAttemptOfRow[], attempt: RowAttempt): LostAttemptOfRow | undefined {
  const isOf = (loss: LostAttemptOfRow): boolean =>
    loss.fault === attempt.fault &&
    loss.durationMs === attempt.durationMs &&
    loss.provider === attempt.provider &&
    loss.model === attempt.model
  const at = lost.findIndex(isOf)
  return at < 0 ? undefined : lost.splice(at, 1)[0]
}

export function encodeLostAttempt(lost: LostAttemptOfRow): z.infer<typeof LostAttempt> {
  return {
    row: lost.id,
    provider_name: lost.provider,
    model: lost.model,
    status: lost.status,
    error: lost.fault,
    charged: 0,
    upstream_cost: nanosToDollars(lost.upstreamCost),
    upstream_cost_basis: basisOf(lost),
    is_byok: lost.byok === true,
    tokens_prompt: lost.promptTokens,
    tokens_completion: lost.completionTokens,
    generation_time: lost.durationMs,
  }
}

export function basisOf({ estimated }: { readonly estimated: boolean }): z.infer<typeof basis> {
  return estimated ? 'estimated' : 'exact'
}
