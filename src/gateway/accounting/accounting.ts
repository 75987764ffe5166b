/**
 * Reserve, settle, write down: the two moments at which an inference meets its limits and the ledger. Callers without
 * any limit are never kept waiting, nor is anybody asked about them.
 */
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { isPermit, NO_ANSWER, type QuotaLeases, type QuotaPermit } from '../../limits/quota-leases.js'
import type { AccountStore } from '../../store/account-store.js'
import {
  type ClosedLedgerEntry,
  type LedgerJournal,
  type LedgerOutcome,
  type LedgerRow,
  type LimitCoverage,
  type LostAttemptEntry,
  NO_LIMIT_COVERAGE,
  type OpenLedgerEntry,
} from '../../store/ledger-store.js'
import type { InferenceOutcome, RoutedRequest, Usage } from '../formats/canonical.js'
import { type Reservation, reservationFor } from '../pricing/price.js'
import type { Generation, LostAttempt } from '../run/generation.js'
import type { Admission } from '../run/ports.js'
import {
  limitCoverageFor,
  type QuotaClaim,
  type QuotaClaimKind,
  quotaClaimsFor,
  refusalFault,
} from './claims.js'

type RoutedGeneration = Generation<RoutedRequest>

interface AccountingPorts {
  readonly journal: LedgerJournal
  readonly leases: QuotaLeases
  readonly accounts: Pick<AccountStore, 'organization'>
  readonly clock: Clock
  /** Where callers without credit are sent. */
  readonly creditsUrl: string
}

/** What an admitted inference has taken, until it is settled. */
interface HeldPermits {
  readonly coverage: LimitCoverage
  readonly claims: readonly QuotaClaim[]
  /** One per claim. */
  readonly permits: readonly QuotaPermit[]
}

const NOTHING_HELD: HeldPermits = Object.freeze({ coverage: NO_LIMIT_COVERAGE, claims: [], permits: [] })

/** The ledger takes no rows: nothing may run that could not be written down. */
const JOURNAL_FULL = new Fault('unavailable', {
  retryAfter: 2,
  detail: 'the journal of the ledger takes no rows',
})
const QUOTA_SERVER_SILENT = new Fault('unavailable', {
  retryAfter: 1,
  detail: 'the bank of the limits did not answer',
})

export class Accounting {
  readonly #ports: AccountingPorts
  #openCalls = 0
  /** Of all callers without limits: there is nothing to give back. */
  readonly #unlimited: Admission = this.#admission(NOTHING_HELD)

  constructor(ports: AccountingPorts) {
    this.#ports = ports
  }

  /** Inferences that are admitted and not settled. */
  get open(): number {
    return this.#openCalls
  }

  /**
   * Lets an inference begin, at once or later. Throws, or rejects with, `payment-required`, `rate-limited`
   * with the seconds after which a try makes sense, or `unavailable`; then nothing of it is held.
   */
  admit(generation: RoutedGeneration): Admission | Promise<Admission> {
    const { journal, accounts } = this.#ports
    if (!journal.hasRoomFor(this.#openCalls)) throw JOURNAL_FULL
    const { caller, request, plan, operation } = generation
    const reservation = reservationFor(operation, request, plan.endpoints)
    const organization = accounts.organization(caller.organizationId)
    const credits = organization?.credits ?? null
    if (credits === null && caller.limits === undefined) {
      return this.#recordAdmission(generation, reservation, NOTHING_HELD)
    }
    const claims = quotaClaimsFor(caller, organization, reservation, generation.created * 1000)
    const coverage = limitCoverageFor(caller, credits)
    const permits: QuotaPermit[] = []
    const held = { coverage, claims, permits }
    for (const { quota, amount } of claims) {
      const permit = this.#ports.leases.tryAcquire(quota, amount)
      // The quota server has to be asked. Nothing is kept meanwhile that was taken at once.
      if (permit === null) {
        this.#releaseAll(permits.splice(0))
        return this.#acquireThenAdmit(generation, reservation, held)
      }
      permits.push(permit)
    }
    return this.#recordAdmission(generation, reservation, held)
  }

  #admission(holding: HeldPermits): Admission {
    return {
      recordLost: (generation, attempt) =>
        this.#ports.journal.recordLost(lostAttemptEntry(generation, attempt)),
      settle: (generation, outcome) => this.#settle(generation, outcome, holding),
    }
  }

  /** The promise resolves when the row outlives this process; it never rejects. */
  #settle(generation: RoutedGeneration, outcome: InferenceOutcome, holding: HeldPermits): Promise<void> {
    const row = closedLedgerEntry(generation, outcome, holding.coverage, this.#ports.clock.monotonicMs())
    const written = this.#ports.journal.recordClosed(row)
    const { claims, permits } = holding
    for (let at = 0; at < permits.length; at++) {
      this.#ports.leases.release(permits[at]!, spentAmount(claims[at]!.kind, row))
    }
    this.#openCalls--
    return written
  }

  #recordAdmission(generation: RoutedGeneration, reservation: Reservation, holding: HeldPermits): Admission {
    this.#openCalls++
    this.#ports.journal.recordOpen(openLedgerEntry(generation, reservation.cost, holding.coverage))
    return holding === NOTHING_HELD ? this.#unlimited : this.#admission(holding)
  }

  async #acquireThenAdmit(
    generation: RoutedGeneration,
    reservation: Reservation,
    held: HeldPermits & { readonly permits: QuotaPermit[] },
  ): Promise<Admission> {
    const { leases, clock, creditsUrl } = this.#ports
    for (const claim of held.claims) {
      const { quota, amount } = claim
      const outcome = leases.tryAcquire(quota, amount) ?? (await leases.acquire(quota, amount))
      if (outcome !== NO_ANSWER && isPermit(outcome)) {
        held.permits.push(outcome)
        continue
      }
      this.#releaseAll(held.permits)
      if (outcome === NO_ANSWER) throw QUOTA_SERVER_SILENT
      const unixMs = clock.unixSeconds() * 1000
      throw refusalFault(claim, outcome, { caller: generation.caller, reservation, creditsUrl, unixMs })
    }
    return this.#recordAdmission(generation, reservation, held)
  }

  #releaseAll(permits: readonly QuotaPermit[]): void {
    for (const permit of permits) this.#ports.leases.release(permit, 0)
  }
}

/** What is gone of a claim. A place among the calls at a time is always given back. */
function spentAmount(kind: QuotaClaimKind, row: ClosedLedgerEntry): number {
  switch (kind) {
    case 'concurrent':
      return 0
    case 'requests':
      return 1
    case 'tokens':
      return row.promptTokens + row.completionTokens
    case 'key-money':
    case 'organization-money':
      return row.cost
  }
}

// ── The rows that an inference leaves in the ledger ───────────────────────────

/** Public names of the kinds of work (contract/gateway 11.4). */
const API_NAMES: Readonly<Record<RoutedGeneration['operation'], string>> = {
  chat: 'completions',
  messages: 'completions',
  speech: 'tts',
  transcription: 'stt',
}
const NO_UNITS: LedgerRow['units'] = Object.freeze({})

function openLedgerEntry(
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

function lostAttemptEntry({ id, caller }: RoutedGeneration, attempt: LostAttempt): LostAttemptEntry {
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
  }
}

/** `now`: `performance.now()` */
function closedLedgerEntry(
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

/** What the two sums of a usage hold and what is no token, each with its name in the ledger. */
const UNITS = [
  ['cached', 'cached_tokens'],
  ['cacheWrite', 'cache_write_tokens'],
  ['reasoning', 'reasoning_tokens'],
  ['promptAudio', 'prompt_audio_tokens'],
  ['completionAudio', 'completion_audio_tokens'],
  ['milliseconds', 'audio_milliseconds'],
  ['characters', 'input_characters'],
] as const satisfies readonly (readonly [kind: keyof Usage, name: string])[]

/** Most calls have nothing of it. */
function ledgerUnits(usage: Usage): LedgerRow['units'] {
  let units: Record<string, number> | null = null
  for (const [kind, name] of UNITS) {
    const amount = usage[kind] ?? 0
    if (amount === 0) continue
    units ??= {}
    units[name] = amount
  }
  return units ?? NO_UNITS
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
