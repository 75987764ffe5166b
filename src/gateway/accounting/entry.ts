/** The rows that an inference leaves in the ledger. */
import type { Coverage, LedgerOutcome, LedgerRow, OpenEntry } from '../../store/ledger-store.js'
import type { RoutedRequest, Usage } from '../canonical.js'
import type { Generation } from '../generation.js'
import type { Outcome } from '../run.js'

type AnyGeneration = Generation<RoutedRequest>

/** Public name of what this gateway does; audio will have others. */
const API = 'completions'
const NO_UNITS: LedgerRow['units'] = Object.freeze({})

export function openEntry(generation: AnyGeneration, estimate: number, coverage: Coverage): OpenEntry {
  const { id, caller, created, plan } = generation
  const first = plan.endpoints[0]!
  return {
    id,
    keyHash: caller.keyHash,
    organizationId: caller.organizationId,
    createdAt: created * 1000,
    estimate,
    coverage,
    model: first.model.id,
    provider: first.provider.slug,
  }
}

/** `now`: `performance.now()` */
export function ledgerRow(
  generation: AnyGeneration,
  outcome: Outcome,
  coverage: Coverage,
  now: number,
): LedgerRow {
  const { id, caller, created, consumption, request } = generation
  return {
    id,
    keyHash: caller.keyHash,
    organizationId: caller.organizationId,
    createdAt: created * 1000,
    coverage,
    outcome: ledgerOutcome(generation, outcome),
    cost: consumption?.cost.total ?? 0,
    promptTokens: consumption?.usage.prompt ?? 0,
    completionTokens: consumption?.usage.completion ?? 0,
    units: consumption === null ? NO_UNITS : unitsOf(consumption.usage),
    detail: {
      model: generation.model,
      requested: generation.plan.requested,
      provider: generation.providerName,
      workspaceId: caller.workspaceId,
      api: API,
      streamed: request.stream === true,
      attempts: generation.attempts.length,
      durationMs: Math.round(now - generation.startedAt),
      firstEventMs:
        generation.firstEventAt === 0 ? null : Math.round(generation.firstEventAt - generation.startedAt),
      sessionId: request.session_id ?? null,
      estimated: consumption?.estimated ?? false,
      fault: outcome.kind === 'failed' ? outcome.fault.kind : null,
    },
  }
}

/** Confirmed is what a provider has said, and that nobody was asked. */
function ledgerOutcome({ consumption, attempts }: AnyGeneration, { kind }: Outcome): LedgerOutcome {
  if (kind === 'completed') return 'settled'
  if (kind === 'failed') return 'failed'
  const known = consumption === null ? attempts.length === 0 : !consumption.estimated
  return known ? 'aborted-confirmed' : 'aborted-estimated'
}

/** What the two sums of a usage hold. Most calls have nothing of it. */
function unitsOf(usage: Usage): LedgerRow['units'] {
  const { cached, cacheWrite, reasoning, promptAudio, completionAudio } = usage
  if (cached + cacheWrite + reasoning + promptAudio + completionAudio === 0) return NO_UNITS
  return {
    ...(cached > 0 && { cached_tokens: cached }),
    ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
    ...(reasoning > 0 && { reasoning_tokens: reasoning }),
    ...(promptAudio > 0 && { prompt_audio_tokens: promptAudio }),
    ...(completionAudio > 0 && { completion_audio_tokens: completionAudio }),
  }
}
