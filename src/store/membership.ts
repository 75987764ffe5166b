/**
 * The port of membership: the machines of a fleet as the store keeps them. A machine is a row under its name. Every
 * time it joins it gets an epoch, a number that is never given again, and all it does is fenced by that: when another
 * machine has declared it expired, its statements touch nothing.
 */

/**
 * `joining` has its name and catches up; `live` may serve, so barriers wait for it; `expired` was silent for longer than
 * it may serve; `left` has given back all it had.
 */
export type MachineState = 'joining' | 'live' | 'expired' | 'left'

export interface MachineEpoch {
  readonly name: string
  readonly epoch: number
}

/** A place in the change log; the id of the change tells histories apart, after a restored backup say. */
export interface ReplicaPosition {
  readonly version: number
  /** UUID. */
  readonly change: string
}

/** What must be equal on all machines that live. */
export interface FleetTerms {
  /** `''` when not set. */
  readonly publicUrl: string
  /** Hashes of the keys that settings choose; `''` where none does. */
  readonly apiKeyHash: string
  readonly managementKeyHash: string
}

/** What a machine tells of itself, for operators; nothing is decided by it. */
export interface MachineFacts {
  readonly release: string
  readonly node: string
  /** Unix milliseconds by its own clock when it sent the beat. */
  readonly clock_ms: number
  /** Of journals that the ledger has not taken in. */
  readonly journal_bytes: number
}

export interface JoinRequest {
  readonly name: string
  /** UUID of its data folder. */
  readonly folder: string
  /** UUID of the process that joins: whoever asks twice, because an answer was lost, is not taken for another. */
  readonly run: string
  /** Whether this run has joined before: then it gives way to another one that has joined since in a copy of the folder. */
  readonly isRejoining: boolean
  readonly terms: FleetTerms
  /** Whether it goes on when it has no word from the store, and so cannot be counted on to refuse. */
  readonly servesAway: boolean
  /** For how many milliseconds it serves after the beginning of its last confirmed beat. */
  readonly stalenessMs: number
  readonly facts: MachineFacts
  /** A text sealed under its sealing key; the first machine's stays. */
  readonly sealedCheck: string
  /** Whether a check that another machine has sealed can be opened. */
  readonly opensCheck: (sealed: string) => boolean
}

export type JoinOutcome =
  | {
      readonly joined: true
      readonly epoch: number
      /** Epoch of the run before in the same folder that has not left cleanly; its leases are this machine's to settle. */
      readonly formerEpoch: number | null
      readonly storeMs: number
    }
  /** Another folder's machine of this name seems to live: watch its beats. */
  | { readonly joined: false; readonly occupied: PresentMachine }
  /** It must not join; one sentence for the operator. */
  | { readonly joined: false; readonly refusal: string }

/** How far a machine's beats have come. */
export interface MachineBeat extends MachineEpoch {
  readonly beat: number
}

/** A machine that may serve by what it has had confirmed. */
export interface PresentMachine extends MachineBeat {
  /** For how many milliseconds it serves after the beginning of its last confirmed beat: its own setting. */
  readonly stalenessMs: number
}

export interface BeatAnswer {
  /**
   * What the store has of this epoch: less than what was told when that is not of this history, and more when it was told
   * more meanwhile.
   */
  readonly applied: number
  /** Version of the newest change of managed records. */
  readonly head: number
  /** Quotas whose leases other machines ask back. */
  readonly called: readonly string[]
  /** Other machines that join or live. */
  readonly others: readonly PresentMachine[]
  /** Unix milliseconds by the store's clock. */
  readonly storeMs: number
}

/** A machine that has not confirmed a version. */
export interface MachineBehind extends PresentMachine {
  readonly applied: number
  /** Whether barriers wait for it; otherwise it has expired, and serves by what it knows all the same. */
  readonly isAwaited: boolean
}

/** All reject with `unavailable` when the store is away. */
export interface Membership {
  join(request: JoinRequest): Promise<JoinOutcome>
  /** From now on barriers wait for it. Null when its epoch is over. */
  goLive(self: MachineEpoch, applied: ReplicaPosition | null): Promise<BeatAnswer | null>
  /**
   * One statement: it lives and has applied this version. Those of `silent` whose beats have not moved since are
   * expired with it. Null when its own epoch is over; then nothing was changed.
   */
  beat(
    self: MachineEpoch,
    applied: ReplicaPosition | null,
    facts: MachineFacts,
    silent: readonly MachineBeat[],
  ): Promise<BeatAnswer | null>
  /** Tells at once, between beats, what it has applied. False when its epoch is over. */
  confirm(self: MachineEpoch, applied: ReplicaPosition): Promise<boolean>
  /** Who has not confirmed a version, but for one that changes it itself; null for none. */
  behind(version: number, except: MachineEpoch | null): Promise<readonly MachineBehind[]>
  /** Expires those whose beats have not moved since. */
  expire(silent: readonly MachineBeat[]): Promise<void>
  /** Nobody waits for it any more. */
  leave(self: MachineEpoch): Promise<void>
  /**
   * Gives up a machine that does not live: what it holds of limits is void, and its name is free. `live` when it does
   * live, `unknown` when there is none of that name; then nothing was changed.
   */
  forget(name: string): Promise<'forgotten' | 'live' | 'unknown'>
}
