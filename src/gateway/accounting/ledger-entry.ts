/** The rows that an inference leaves in the ledger. */
import type {
  ClosedLedgerEntry,
  LedgerOutcome,
  LedgerRow,
  LimitCoverage,
  OpenLedgerEntry,
} from '../../store/ledger-store.js'
import type { InferenceOutcome, RoutedRequest, Usage } from '../formats/canonical.js'
import type { Generation } from '../run/generation.js'

export type RoutedGeneration = Generation<RoutedRequest>

/** Public names of the kinds of work (contract/gateway 11.4). */
const API_NAMES: Readonly<Record<RoutedGeneration['operation'], string>> = {
  chat: 'completions',
  messages: 'completions',
  speech: 'tts',
  transcription: 'stt',
}
const NO_UNITS: LedgerRow['units'] = Object.freeze({})

export function openLedgerEntry(
  generation: RoutedGeneration,
  estimate: number,
  coverage: LimitCoverage,
): OpenLedgerEntry {
  const { id, caller, plan, operation } = generation
  const first = plan.endpoints[0]!
  return {
    id,
    keyHash: caller.keyHash,
    organizationId: caller.organizationId,
    workspaceId: caller.workspaceId,
    estimate,
    coverage,
    model: first.model.id,
    provider: first.provider.slug,
    api: API_NAMES[operation],
  }
}

/** `now`: `performance.now()` */
export function closedLedgerEntry(
  generation: RoutedGeneration,
  outcome: InferenceOutcome,
  coverage: LimitCoverage,
  now: number,
): ClosedLedgerEntry {
  const { id, caller, consumption, request, finish } = generation
  const media = countMedia(request)
  return {
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
      api: API_NAMES[generation.operation],
      streamed: request.stream === true,
      attempts: generation.attempts.length,
      durationMs: Math.round(now - generation.startedAt),
      firstEventMs:
        generation.firstEventAt === 0 ? null : Math.round(generation.firstEventAt - generation.startedAt),
      sessionId: request.session_id ?? null,
      estimated: consumption?.estimated ?? false,
      fault: outcome.kind === 'failed' ? outcome.fault.kind : null,
      finish: finish?.reason ?? null,
      nativeFinish: finish?.native ?? null,
      serviceTier: generation.serviceTier,
      mediaParts: media.all,
      audioParts: media.audio,
    },
  }
}

/** Confirmed is what a provider has said, and that nobody was asked. */
function ledgerOutcome(
  { consumption, attempts }: RoutedGeneration,
  { kind }: InferenceOutcome,
): LedgerOutcome {
  if (kind === 'completed') return 'settled'
  if (kind === 'failed') return 'failed'
  const known = consumption === null ? attempts.length === 0 : !consumption.estimated
  return known ? 'aborted-confirmed' : 'aborted-estimated'
}

/** What the two sums of a usage hold, and what is no token. Most calls have nothing of it. */
function ledgerUnits(usage: Usage): LedgerRow['units'] {
  const {
    cached,
    cacheWrite,
    reasoning,
    promptAudio,
    completionAudio,
    milliseconds = 0,
    characters = 0,
  } = usage
  if (cached + cacheWrite + reasoning + promptAudio + completionAudio + milliseconds + characters === 0) {
    return NO_UNITS
  }
  return {
    ...(cached > 0 && { cached_tokens: cached }),
    ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
    ...(reasoning > 0 && { reasoning_tokens: reasoning }),
    ...(promptAudio > 0 && { prompt_audio_tokens: promptAudio }),
    ...(completionAudio > 0 && { completion_audio_tokens: completionAudio }),
    ...(milliseconds > 0 && { audio_milliseconds: milliseconds }),
    ...(characters > 0 && { input_characters: characters }),
  }
}

/** Parts of a question that are no text. */
interface MediaCounts {
  readonly all: number
  readonly audio: number
}

const NO_MEDIA: MediaCounts = Object.freeze({ all: 0, audio: 0 })

/** The names are the same in all formats. */
interface RequestWithMessages {
  readonly messages?: readonly { readonly content?: unknown }[]
}

function countMedia(request: RoutedRequest): MediaCounts {
  let media: { all: number; audio: number } | null = null
  for (const { content } of (request as RequestWithMessages).messages ?? []) {
    if (!Array.isArray(content)) continue
    for (const { type } of content as readonly { readonly type?: unknown }[]) {
      if (typeof type !== 'string' || !MEDIA_TYPES.has(type)) continue
      media ??= { all: 0, audio: 0 }
      media.all++
      if (type === 'input_audio') media.audio++
    }
  }
  return media ?? NO_MEDIA
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
