/** The rows that an inference leaves in the ledger. */
import {
  type ClosedLedgerEntry,
  type LedgerOutcome,
  type LedgerRow,
  type LimitCoverage,
  type LostAttemptEntry,
  NO_LIMIT_COVERAGE,
  NOTHING_TOLD,
  type OpenLedgerEntry,
} from '../../store/ledger-store.js'
import type {
  InferenceOperation,
  InferenceOutcome,
  RoutedRequest,
  Usage,
  UsageDetails,
} from '../formats/canonical.js'
import { NO_USAGE } from '../formats/usage.js'
import type { ToolRow, ToolSpending } from '../loop/ports.js'
import type { Reservation } from '../pricing/reservation.js'
import type { Generation, LostAttempt } from '../run/generation.js'
import { rowWhy } from './row-why.js'

/** Public names of the kinds of work (contract/gateway 11.4). */
const API_NAMES: Readonly<Record<InferenceOperation, string>> = {
  chat: 'completions',
  messages: 'completions',
  speech: 'tts',
  transcription: 'stt',
  embeddings: 'embeddings',
}

/** A row beneath another is known by its part. */
function apiName({ parent, operation }: Generation<RoutedRequest>): string {
  return parent === null ? API_NAMES[operation] : parent.purpose
}

const NO_UNITS: LedgerRow['units'] = Object.freeze({})

export function openLedgerEntry(
  generation: Generation<RoutedRequest>,
  { cost, byok }: Pick<Reservation, 'cost' | 'byok'>,
  coverage: LimitCoverage,
): OpenLedgerEntry {
  const { id, caller, plan } = generation
  const first = plan.endpoints[0]!
  const entry = {
    id,
    keyHash: caller.keyHash,
    organizationId: caller.organizationId,
    workspaceId: caller.workspaceId,
    estimate: cost,
    coverage,
    model: first.model.id,
    provider: first.provider.slug,
    api: apiName(generation),
  }
  // It is the account that is asked first that a process which dies has most likely used.
  return byok === undefined ? entry : { ...entry, estimate: 0, byokEstimate: byok }
}

export function lostAttemptEntry(
  { id, caller }: Generation<RoutedRequest>,
  attempt: LostAttempt,
): LostAttemptEntry {
  const { endpoint, status, error, startedAt, endedAt, lost } = attempt
  return {
    id,
    keyHash: caller.keyHash,
    organizationId: caller.organizationId,
    workspaceId: caller.workspaceId,
    model: endpoint.model.id,
    provider: endpoint.provider.name,
    status,
    fault: error ?? '',
    upstreamCost: lost.cost,
    promptTokens: lost.promptTokens,
    completionTokens: lost.completionTokens,
    estimated: lost.estimated,
    durationMs: Math.round(endedAt - startedAt),
    ...(endpoint.own !== undefined && { byok: true }),
  }
}

/** `now`: `performance.now()` */
export function closedLedgerEntry(
  generation: Generation<RoutedRequest>,
  outcome: InferenceOutcome,
  coverage: LimitCoverage,
  now: number,
): ClosedLedgerEntry {
  const { id, caller, consumption, request, finish } = generation
  const media = countMedia(request)
  const byokCost = consumption?.cost.byok
  const entry = {
    id,
    keyHash: caller.keyHash,
    organizationId: caller.organizationId,
    workspaceId: caller.workspaceId,
    coverage,
    outcome: ledgerOutcome(generation, outcome),
    cost: consumption?.cost.total ?? 0,
    promptTokens: consumption?.usage.prompt ?? 0,
    completionTokens: consumption?.usage.completion ?? 0,
    units: consumption === null ? NO_UNITS : ledgerUnits(consumption.usage),
    detail: {
      model: generation.model,
      requested: generation.plan.requested,
      provider: generation.providerName,
      api: apiName(generation),
      streamed: request.stream === true,
      attempts: generation.attempts.length,
      durationMs: Math.round(now - generation.startedAt),
      firstEventMs:
        generation.firstEventAt === 0 ? null : Math.round(generation.firstEventAt - generation.startedAt),
      sessionId: request.session_id ?? null,
      estimated: consumption?.estimated ?? false,
      guessed: consumption?.guessed ?? false,
      fault: outcome.kind === 'failed' ? outcome.fault.kind : null,
      finish: finish?.reason ?? null,
      nativeFinish: finish?.native ?? null,
      serviceTier: generation.serviceTier,
      mediaParts: media.all,
      audioParts: media.audio,
      why: rowWhy(generation),
    },
  }
  return byokCost === undefined ? entry : { ...entry, byokCost }
}

/** The row of a request whose turns and tools have rows of their own: how it ended, and no money. */
export function closedRootEntry(
  root: Generation<RoutedRequest>,
  outcome: InferenceOutcome,
  now: number,
): ClosedLedgerEntry {
  const { byokCost: _, ...row } = closedLedgerEntry(root, outcome, NO_LIMIT_COVERAGE, now)
  const { requested = 0, executed = 0 } = root.loop ?? {}
  const units = {
    ...(requested > 0 && { tool_calls_requested: requested }),
    ...(executed > 0 && { tool_calls_executed: executed }),
  }
  const { why } = row.detail
  return {
    ...row,
    ...{ cost: 0, promptTokens: 0, completionTokens: 0, units },
    detail: { ...row.detail, why: { ...why, cacheDiscount: 0 } },
  }
}

export function openToolEntry(
  { caller }: Generation<RoutedRequest>,
  { id, kind, name, backend, fee }: ToolRow,
  coverage: LimitCoverage,
): OpenLedgerEntry {
  const { keyHash, organizationId, workspaceId } = caller
  const named = { model: name, provider: backend, api: kind }
  return { id, keyHash, organizationId, workspaceId, estimate: fee, coverage, ...named }
}

/** The row of a call of a tool: its name stands in the place of the model, what has run it in that of the provider. */
export function closedToolEntry(
  { caller }: Generation<RoutedRequest>,
  { id, kind, name, backend }: ToolRow,
  { charged, isError, units = NO_UNITS, durationMs }: ToolSpending,
  coverage: LimitCoverage,
): ClosedLedgerEntry {
  const { keyHash, organizationId, workspaceId } = caller
  return {
    ...{ id, keyHash, organizationId, workspaceId, coverage, units },
    outcome: isError ? 'failed' : 'settled',
    ...{ cost: charged, promptTokens: 0, completionTokens: 0 },
    detail: {
      ...{ model: name, requested: name, provider: backend, api: kind, streamed: false, attempts: 0 },
      ...{ durationMs: Math.round(durationMs), firstEventMs: null, sessionId: null },
      ...{ estimated: false, guessed: false, fault: null, finish: null, nativeFinish: null },
      ...{ serviceTier: null, mediaParts: 0, audioParts: 0, why: NOTHING_TOLD },
    },
  }
}

/** Confirmed is what a provider has said, and that nobody was asked. */
function ledgerOutcome(
  { consumption, attempts }: Generation<RoutedRequest>,
  { kind }: InferenceOutcome,
): LedgerOutcome {
  if (kind === 'completed') return 'settled'
  if (kind === 'failed') return 'failed'
  const known = consumption === null ? attempts.length === 0 : !consumption.estimated
  return known ? 'aborted-confirmed' : 'aborted-estimated'
}

/** What the two sums of a usage hold and what is no token, each with its name in the ledger. */
const UNITS = [
  ['cached', 'cached_tokens'],
  ['cacheWrite', 'cache_write_tokens'],
  ['reasoning', 'reasoning_tokens'],
  ['promptAudio', 'prompt_audio_tokens'],
  ['completionAudio', 'completion_audio_tokens'],
  ['milliseconds', 'audio_milliseconds'],
  ['characters', 'input_characters'],
] as const satisfies readonly (readonly [kind: Exclude<keyof Usage, 'details'>, name: string])[]

const DETAIL_UNITS: Readonly<Record<keyof UsageDetails, string>> = {
  cacheWrite1h: 'cache_write_1h_tokens',
  promptImage: 'prompt_image_tokens',
  promptVideo: 'prompt_video_tokens',
  completionImage: 'completion_image_tokens',
  acceptedPrediction: 'accepted_prediction_tokens',
  rejectedPrediction: 'rejected_prediction_tokens',
  webSearches: 'web_searches',
  webFetches: 'web_fetches',
  toolCallsRequested: 'tool_calls_requested',
  toolCallsExecuted: 'tool_calls_executed',
  imagesIn: 'input_images',
  imagesOut: 'output_images',
}

/** Most calls have nothing of it, which is seen without a look at each kind by its name. */
function ledgerUnits(usage: Usage): LedgerRow['units'] {
  const { cached, cacheWrite, reasoning, promptAudio, completionAudio, milliseconds, characters } = usage
  const sounds = promptAudio + completionAudio + (milliseconds ?? 0) + (characters ?? 0)
  if (cached + cacheWrite + reasoning + sounds === 0 && usage.details === undefined) return NO_UNITS
  let units: Record<string, number> | null = null
  for (const [kind, name] of UNITS) {
    const amount = usage[kind] ?? 0
    if (amount === 0) continue
    units ??= {}
    units[name] = amount
  }
  const { details } = usage
  if (details === undefined) return units ?? NO_UNITS
  units ??= {}
  for (const kind in details) {
    const name = kind as keyof UsageDetails
    units[DETAIL_UNITS[name]] = details[name]!
  }
  return units
}

/** What a row says was consumed. */
export function usageOfRow({
  promptTokens,
  completionTokens,
  units,
}: Pick<LedgerRow, 'promptTokens' | 'completionTokens' | 'units'>): Usage {
  const counted = UNITS.flatMap(([kind, name]) => (units[name] === undefined ? [] : [[kind, units[name]]]))
  const details = Object.entries(DETAIL_UNITS).flatMap(([kind, name]) =>
    units[name] === undefined ? [] : [[kind, units[name]] as const],
  )
  return {
    ...NO_USAGE,
    ...{ prompt: promptTokens, completion: completionTokens },
    ...Object.fromEntries(counted),
    ...(details.length > 0 && { details: Object.fromEntries(details) }),
  }
}

/** The names are the same in all formats. */
interface RequestWithMessages {
  readonly messages?: readonly { readonly content?: unknown }[]
}

/** Parts of a question that are no text: all of them, and those that are sound. */
function countMedia(request: RoutedRequest): { all: number; audio: number } {
  const media = { all: 0, audio: 0 }
  for (const { content } of (request as RequestWithMessages).messages ?? []) {
    if (!Array.isArray(content)) continue
    for (const { type } of content as readonly { readonly type?: unknown }[]) {
      if (typeof type !== 'string' || !MEDIA_TYPES.has(type)) continue
      media.all++
      if (type === 'input_audio') media.audio++
    }
  }
  return media
}

const MEDIA_TYPES = new Set([
  'image_url',
  'input_audio',
  'video_url',
  'input_video',
  'file',
  'image',
  'document',
])
