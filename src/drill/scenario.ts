/** What a scenario says: what the provider does, and what the contract asks of the gateway then; and what was seen. */
import type { ProviderBehaviour } from './behaviours.js'
import type { GatewayResponse } from './gateway-client.js'
import type { JsonMembers, ParsedAnswer } from './parse-answer.js'
import type { EndpointRole } from './roles.js'

export type DeliveryMode = 'whole' | 'streamed'
export const DELIVERY_MODES: readonly DeliveryMode[] = ['whole', 'streamed']

/** One try at an endpoint: whom, and the status it came to; 0 when there was none. */
export type ProviderAttempt = readonly [role: EndpointRole, status: number]

/** A model of the scenario; the caller names the first and gives the others as `models`. */
export interface DrillModel {
  /** `drill/<scenario>` or `drill/<scenario>-<what it is>`. */
  readonly id: string
  /** In order of trial. */
  readonly endpoints: readonly EndpointRole[]
  readonly contextLength?: number
}

/** The answer is complete. */
export interface ServedEnding {
  readonly kind: 'served'
  readonly text: string
  readonly finish: string
}

/** There is no answer, and the status says so. */
export interface RefusedEnding {
  readonly kind: 'refused'
  readonly status: number
  readonly errorType: string
  /** The provider's own words, which the caller needs in order to mend the request. */
  readonly reason?: string
  /** The answer says when to come again. */
  readonly retryAfter?: true
}

/** A stream that had begun ends with an error. */
export interface BrokenEnding {
  readonly kind: 'broken'
  readonly code: number
  readonly errorType: string
  /** What had been said. */
  readonly textSoFar: string
  /** Whether the provider had counted before it failed; otherwise the gateway has to. */
  readonly counted: boolean
}

export type ExpectedEnding = ServedEnding | RefusedEnding | BrokenEnding

/** One call of the gateway, and what has to become of it. */
export interface ScenarioStep {
  /** The attempts in order; several where the contract leaves the choice. */
  readonly paths: readonly (readonly ProviderAttempt[])[]
  readonly ending: ExpectedEnding
  /** Milliseconds from the request to the end of the answer. */
  readonly ms: { readonly least: number; readonly most: number }
  /** The silence has to be broken with comments before the first event of a stream. */
  readonly comments?: true
  /** The connection to the provider has to be closed, for it would stay open for ever. */
  readonly closesConnection?: true
}

export interface DrillScenario {
  /** `S01`. */
  readonly id: string
  readonly name: string
  /** What the provider does, and what is asked of the gateway. */
  readonly about: string
  readonly models: readonly DrillModel[]
  /** What each endpoint does with its first call, its second and so on; then from the begin again. */
  readonly behaviours: Readonly<Partial<Record<EndpointRole, readonly ProviderBehaviour[]>>>
  readonly steps: Readonly<Record<DeliveryMode, readonly ScenarioStep[]>>
}

/** The model by which the gateway asks for an endpoint of the scenario. */
export function modelOfRole({ models }: DrillScenario, role: EndpointRole): string {
  return models.find(({ endpoints }) => endpoints.includes(role))!.id
}

/** What was seen of one call, at both ends. */
export interface CallObservation {
  readonly mode: DeliveryMode
  readonly response: GatewayResponse
  readonly answer: ParsedAnswer
  /** What the faulty provider was asked meanwhile, in order. */
  readonly attempts: readonly ProviderAttempt[]
  /** Connections that the gateway still held open towards a provider that it had given up. */
  readonly heldConnections: number
  /** The ledger's row; null when there is none. */
  readonly ledgerRow: JsonMembers | null
}

/** The ways that agree with what the provider has seen; it sees nothing of connections that are refused. */
export function matchingPaths(
  { paths }: ScenarioStep,
  attempts: readonly ProviderAttempt[],
): readonly (readonly ProviderAttempt[])[] {
  return paths.filter(
    (way) => describeAttempts(way.filter(([role]) => role !== 'dead')) === describeAttempts(attempts),
  )
}

/** `first 429, second 200`; `''` for none. */
export function describeAttempts(attempts: readonly (readonly [who: string, status: number])[]): string {
  return attempts.map(([who, status]) => `${who} ${status === 0 ? 'without a status' : status}`).join(', ')
}

export function quoteValue(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 300)) : String(value)
}

/** A sentence for each fact that is not what it should be. */
export function disagreements(
  facts: readonly (readonly [what: string, found: unknown, expected: unknown])[],
): string[] {
  return facts.flatMap(([what, found, expected]) =>
    Object.is(found, expected) ? [] : [`${what} is ${quoteValue(found)} instead of ${quoteValue(expected)}`],
  )
}
