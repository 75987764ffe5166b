/** The port of what operators see of the machines that are one server. With an embedded store there is one. */
import type { MaybePromise } from '../base/maybe-promise.js'

/**
 * `joining`: it catches up and serves nobody yet. `live`: it beats, and its word counts. `expired`: it was not heard for
 * longer than the staleness limit; it serves nobody who needs a key, and its leases stay counted. `left`: it ended by
 * itself and gave its leases back.
 */
export const MACHINE_STATES = ['joining', 'live', 'expired', 'left'] as const
export type MachineState = (typeof MACHINE_STATES)[number]

/** Money is in nano-dollars, times are in milliseconds. */
export interface FleetMachine {
  readonly name: string
  readonly state: MachineState
  /** Counted up each time it joins; what an earlier one of the same name still sends is void. */
  readonly epoch: number
  /** Release of Sluice that it runs; null when it has not said. */
  readonly release: string | null
  /** Version of the change log that it has applied. */
  readonly applied: number
  /** Since its last beat, by the clock of the store; null where none is needed. */
  readonly beatAgeMs: number | null
  /** How many leases it holds. */
  readonly leases: number
  /**
   * Money in its leases: set aside, not spent yet as far as the store knows. Over all limits: the same dollar counts for
   * a key and for its organization.
   */
  readonly leased: number
  /** The part of it that nobody can spend: all of it when the machine is not live. */
  readonly frozen: number
  /** Bytes of its journals that are not in the ledger yet, as it said last. */
  readonly journalBytes: number
  /** How far its clock is ahead of the store's, at its last beat and with the way there; null where it is the clock. */
  readonly clockDifferenceMs: number | null
}

export interface FleetOverview {
  readonly store: 'embedded' | 'postgresql'
  /** Newest version of the change log; 0 where there is none. */
  readonly version: number
  /** By name. */
  readonly machines: readonly FleetMachine[]
}

/** Fails with `unavailable` when the store cannot be asked. */
export interface FleetView {
  read(): MaybePromise<FleetOverview>
}

/** The one machine of an embedded store: it holds all limits itself, so nothing of them is out on lease. */
export function embeddedFleetView(name: string, release: string): FleetView {
  const machine: FleetMachine = Object.freeze({
    ...{ name, state: 'live', epoch: 1, release, applied: 0, beatAgeMs: null },
    ...{ leases: 0, leased: 0, frozen: 0, journalBytes: 0, clockDifferenceMs: null },
  } as const)
  const overview: FleetOverview = Object.freeze({ store: 'embedded', version: 0, machines: [machine] })
  return { read: () => overview }
}
