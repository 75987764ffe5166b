/** What was seen of one call, and how it is put into words. */

import type { GatewayResponse } from './gateway-client.js'
import type { JsonMembers } from './json-members.js'
import type { ParsedAnswer } from './parse-answer.js'
import type { DeliveryMode, ProviderAttempt, ScenarioStep } from './scenario.js'

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
