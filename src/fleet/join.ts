/** How a machine becomes one of its fleet: it takes its name, or hears in one sentence why it must not. */
import { type Clock, sleep } from '../base/clock.js'
import type { JoinRequest, Membership, PresentMachine } from '../store/membership.js'
import { EXPIRY_FACTOR } from './silence-watch.js'

/** A reason not to start that a restart does not cure; the message is one sentence for the operator. */
export class RefusedStart extends Error {
  constructor(sentence: string) {
    super(sentence)
    this.name = 'RefusedStart'
  }
}

interface JoinOptions {
  readonly membership: Pick<Membership, 'join' | 'expire'>
  readonly clock: Clock
  /** The name is taken by a machine that may be dead: it is watched for so many milliseconds at most. */
  readonly onOccupied: (waitMs: number) => void
}

const LOOK_MS = 500

interface JoinedMachine {
  readonly epoch: number
  /** Of the run before, when that has not left cleanly. */
  readonly formerEpoch: number | null
  /** Unix milliseconds by the store's clock. */
  readonly storeMs: number
}

/**
 * Takes the name, as soon as a dead machine that has it is known to be dead. Rejects with `RefusedStart` when another
 * machine lives under it or a rule forbids it, and with `unavailable` when the store goes away meanwhile.
 */
export async function joinFleet(
  request: JoinRequest,
  { membership, clock, onOccupied }: JoinOptions,
): Promise<JoinedMachine> {
  let watched: (PresentMachine & { readonly since: number }) | null = null
  for (;;) {
    const outcome = await membership.join(request)
    if (outcome.joined) return outcome
    if ('refusal' in outcome) throw new RefusedStart(outcome.refusal)
    const now = clock.monotonicMs()
    const { name, epoch, beat, stalenessMs } = outcome.occupied
    const patienceMs = stalenessMs * EXPIRY_FACTOR
    if (watched === null) {
      watched = { ...outcome.occupied, since: now }
      onOccupied(patienceMs)
    } else if (watched.epoch !== epoch || watched.beat !== beat) {
      throw new RefusedStart(
        `a machine of the name "${name}" is running with another data folder: give this one a name of its own (SLUICE_MACHINE)`,
      )
    } else if (now - watched.since >= patienceMs) {
      await membership.expire([outcome.occupied])
    }
    await sleep(LOOK_MS, clock)
  }
}
