/** Whether a call that has got no answer is tried again, elsewhere or later (contract/decisions 41). */
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutingConfig } from '../catalog/configuration.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { StreamTotals } from '../metering/format.js'
import { upstreamCost } from '../pricing/price.js'
import { guessLoss } from '../pricing/reservation.js'
import type { ProviderFailure } from '../providers/port/provider.js'
import { reportedConsumption } from './consumption.js'
import type { Generation, LostCost } from './generation.js'

/** Faults of the request itself: every other endpoint would say the same, and a refusal is not routed around. */
const CALLER_FAULTS: ReadonlySet<string> = new Set([
  'bad-request',
  'invalid-input',
  'payload-too-large',
  'unprocessable',
])

/** Statuses from 500 on with which a server turns a call away before it works on it. */
const TURNED_AWAY: ReadonlySet<number> = new Set([503, 529])

/**
 * Whether another endpoint may be asked after this failure. `rescue`: with `unanswered` also where one may have worked
 * on the call, and may bill it; otherwise only what never arrived, or was refused, is sent again. `harmless`: the call
 * changes nothing at a provider; another one goes on only where no provider can have begun it. `onOwnAccount`: it was made
 * with a key of the caller's.
 */
export function isRescuable(
  { class: kind, fault, status }: ProviderFailure,
  rescue: RoutingConfig['rescue'],
  harmless: boolean,
  onOwnAccount = false,
): boolean {
  // What one endpoint's format cannot say, another's may.
  if (kind === 'not-sent') return true
  if (kind === 'maybe-processed' && (rescue === 'unsent' || !harmless)) return false
  if (status >= 500 && !harmless && !TURNED_AWAY.has(status)) return false
  if (onOwnAccount && isOfAccount(fault)) return true
  return !CALLER_FAULTS.has(fault.kind) || isContextTooLong(fault)
}

/** Some providers say with a 400 what is wrong with the account or its key, which another credential does not share. */
function isOfAccount({ kind, metadata }: ProviderFailure['fault']): boolean {
  if (kind !== 'bad-request') return false
  const said = `${metadata?.provider_code ?? ''} ${typeof metadata?.raw === 'string' ? metadata.raw : ''}`
  return /api.?key|credit balance|billing|quota|insufficient.(funds|credit|balance)/i.test(said)
}

/** The prompt outgrew the model; another one may take it, if it is made for more. */
export function isContextTooLong({ metadata }: ProviderFailure['fault']): boolean {
  return metadata?.error_type === 'context_length_exceeded'
}

/** Kinds of tools that the caller runs, or that only read what is public. */
const HARMLESS_TOOLS =
  /^(custom|bash_\d+|text_editor_\d+|(service:)?web_(search|fetch)(_\d+)?|advisor_\d+|tool_search_tool_\w+)$/

interface RequestWithTools extends RoutedRequest {
  readonly tools?: readonly { readonly type?: string | null }[]
}

/**
 * Whether a call changes nothing at a provider but its bill, so that it may be made twice. A tool that the provider
 * itself runs, or may run, may do anything; a kind that nobody here knows counts as one.
 */
export function changesNothing({ tools }: RequestWithTools): boolean {
  if (tools === undefined) return true
  for (const { type } of tools) {
    if (type !== 'function' && !HARMLESS_TOOLS.test(type ?? 'custom')) return false
  }
  return true
}

/**
 * What an attempt that answered nothing may cost upstream: what its provider has counted (`usage`), else a guess where
 * it may have worked on the call. `isWhole`: the answer comes whole, so that nothing of it has been heard.
 */
export function lostCostOf(
  { operation, request }: Generation<RoutedRequest>,
  endpoint: ModelEndpoint,
  { class: failureClass }: Pick<ProviderFailure, 'class'>,
  totals: StreamTotals,
  isWhole: boolean,
): LostCost | null {
  const counted = reportedConsumption(request, endpoint, totals)
  if (counted !== null) {
    const { prompt: promptTokens, completion: completionTokens } = counted.usage
    return { cost: upstreamCost(counted.cost), promptTokens, completionTokens, estimated: false }
  }
  if (failureClass !== 'maybe-processed') return null
  return guessLoss(operation, request, endpoint, isWhole ? null : totals.sample)
}

/** What passes: a limit, a server that is down for a moment, a connection that failed. */
const TRANSIENT_FAULTS: ReadonlySet<string> = new Set([
  'rate-limited',
  'unavailable',
  'provider-overloaded',
  'provider-timeout',
  'provider-failed',
])
/** Our credential, our credit, our path: a second later they are no better. Nor is a redirect. */
const PERMANENT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308, 401, 402, 403, 404, 405])

const FIRST_PAUSE_MS = 100
/** A quiet worker may still try again now and then. */
const LEAST_BUDGET = 10

/**
 * The retries of a process: for each organization a share of its calls, so that an outage is not multiplied, and one
 * that provokes failures uses up its own.
 */
export class RetryBudget {
  readonly #config: () => RoutingConfig
  readonly #random: () => number
  /** What is left to organizations that have used some. */
  readonly #left = new Map<string, number>()

  constructor(config: () => RoutingConfig, random: () => number) {
    this.#config = config
    this.#random = random
  }

  /** Which calls are rescued, as configured now. */
  get rescue(): RoutingConfig['rescue'] {
    return this.#config().rescue
  }

  /** A call of the organization has begun. */
  recordCall(organizationId: string): void {
    const left = this.#left.get(organizationId)
    if (left === undefined) return
    const more = left + this.#config().retryBudget
    if (more < LEAST_BUDGET) this.#left.set(organizationId, more)
    else this.#left.delete(organizationId)
  }

  /**
   * Milliseconds to wait before a call that may be rescued and has failed everywhere is tried again, `retries` times
   * so far; null when it is not. A provider's Retry-After is the least wait, and one beyond the configured longest
   * ends the trying. Takes one out of the organization's budget unless it is null.
   */
  pauseAfter(failure: ProviderFailure, retries: number, organizationId: string): number | null {
    const { retries: most, retryWaitMs, retryBudget } = this.#config()
    const left = this.#left.get(organizationId) ?? LEAST_BUDGET
    if (retries >= most || retryBudget === 0 || left < 1) return null
    if (!TRANSIENT_FAULTS.has(failure.fault.kind) || PERMANENT_STATUSES.has(failure.status)) return null
    const asked = retryAfterMs(failure)
    const backoff = FIRST_PAUSE_MS * 2 ** retries * (0.5 + this.#random())
    if (Math.max(asked, backoff) > retryWaitMs) return null
    this.#left.set(organizationId, left - 1)
    // A little later than asked: all who were turned away together would come back together.
    return asked > 0 ? asked + backoff * this.#random() : backoff
  }
}

/** A provider that is at its limit says when to come again; without a word it means soon. */
function retryAfterMs({ fault, status }: ProviderFailure): number {
  return status === 0 ? 0 : (fault.retryAfter ?? 0) * 1000
}
