/** What a scenario of the fleet drill says: what fails and for how long, and what callers may see of it. */
import type { FleetCall } from './load.js'
import type { FleetStage, Payer } from './stage.js'

/** All machines of the drill. */
export const DRILL_MACHINES = 3
/** Without a confirmed heartbeat a machine of the drill refuses after so long. */
export const STALENESS_MS = 5_000
/** So long calls are served at least when nobody reaches the store: the last heartbeat may be a second old. */
export const SERVING_MS = STALENESS_MS - 1_500
/** What others grant on top before they go on without it. */
export const GRANTED_MS = STALENESS_MS * 1.2

/** Settings of its machines. */
export const DRILL_ENVIRONMENT: Readonly<Record<string, string>> = {
  SLUICE_FLEET_STALENESS_MS: String(STALENESS_MS),
  SLUICE_LOG_LEVEL: 'error',
  SLUICE_METRICS: 'off',
  SLUICE_DRAIN_DEADLINE_MS: '1000',
}

export interface FleetScenario {
  /** `F01`. */
  readonly id: string
  /** Of the failure table. */
  readonly row: string
  readonly name: string
  /** What fails, and what is asked of the fleet then. */
  readonly about: string
  readonly lastsMs: number
  /** Makes it fail; resolves with what mends it. */
  strike(stage: FleetStage): Promise<() => void | Promise<void>>
  /** Places of machines whose calls all have to be served while it lasts, or in its first milliseconds. */
  readonly serving: readonly number[]
  readonly servingMs?: number
  /** Of the machine whose calls may break off, or stand still for as long as it lasts. */
  readonly struck?: number
  /** All connections of callers may break. */
  readonly breaksAll?: true
  /** Something that is asked of the fleet while it lasts: sentences for what was not as it has to be. */
  meanwhile?(stage: FleetStage, payer: Payer, spare: SpareKey): Promise<readonly string[]>
}

/** A key of the payer that nothing else uses. */
export type SpareKey = Pick<Payer, 'key' | 'keyHash'>

/** When it failed and when it was mended, by `performance.now()`. */
interface Outage {
  readonly from: number
  readonly to: number
}

/** Everything that was seen of one scenario. */
export interface FleetObservation {
  readonly calls: readonly FleetCall[]
  readonly outage: Outage
  /** From the mending until all machines served again, in milliseconds; null when they did not. */
  readonly recoveryMs: number | null
  /** Sentences of `meanwhile`, and of the books. */
  readonly meanwhile: readonly string[]
  readonly books: readonly string[]
}

/** Calls that were sent within a time. */
export function sentBetween(calls: readonly FleetCall[], { from, to }: Outage): FleetCall[] {
  return calls.filter(({ sentAt }) => sentAt >= from && sentAt < to)
}
