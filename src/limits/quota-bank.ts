/**
 * The bank of all machines of a fleet, as the quota server of a machine sees it: the protocol between quota server and
 * process (quota.ts) once more, one level higher. A machine says what it holds of a quota and what it wants beyond
 * that, for any number of quotas in one statement; the bank grants out of what neither is spent nor leased. What a
 * machine holds is counted in all from the beginning, so that an answer that is lost does no harm: the next statement
 * says again what is held, and the bank takes back the rest.
 */
import type { Quota } from './quota.js'

export interface BankClaim extends Omit<Quota, 'refillPerMs'> {
  /**
   * The version of the limit that all machines had when they brought in what they had answered, as the bank has asked
   * for it; 0 when it has not.
   */
  readonly flushed: number
  /** All that was drawn and not given back, spent or not; -1 when nothing is known of the quota. */
  readonly held: number
  /** Used beyond that, because calls came to more than was set aside for them. */
  readonly owed: number
  /** The window that `held` belongs to; 0 where there are none. */
  readonly window: number
  /** 0 when it needs nothing at the moment. */
  readonly wanted: number
  /** Less than that is of no use. */
  readonly least: number
  /** What it would like instead; it is not waited for, nor are others called in for its sake. */
  readonly target: number
  /** The call-in that it waits for, as the bank has told it; 0 at first. */
  readonly call: number
  /** The call-in that it answers; 0 for none. */
  readonly answered: number
}

export interface BankReply {
  readonly name: string
  /**
   * `ok`: what was wanted is held. `called`: others hold some and were asked to give back; ask again with `call`.
   * `short`: nobody can give back more. `flush`: the limit has just been changed; have all machines bring in what they
   * have answered, and ask again with `flushed`. `void`: nothing of what was held is known. `stale`: a later statement
   * has been there before.
   */
  readonly state: 'ok' | 'called' | 'short' | 'flush' | 'void' | 'stale'
  readonly held: number
  /** What is left for anybody; below 0 when more is out than the limit. */
  readonly room: number
  readonly window: number
  /** By the clock of the bank; 0 where there are no windows. */
  readonly endsInMs: number
  readonly call: number
  /** Of the limit; null where no record sets it. */
  readonly version: number | null
}

/** Tokens of a bucket. */
export interface BankTokens {
  readonly name: string
  readonly granted: number
  /** What is left in it; may be negative by less than 1, and has a fraction. */
  readonly level: number
}

export interface BankTokenClaim {
  readonly name: string
  readonly capacity: number
  readonly refillPerMs: number
  readonly wanted: number
}

/** A call-in that has not been answered. */
export interface BankCall {
  readonly name: string
  readonly call: number
}

/** All of it rejects with `unavailable` when the bank cannot be reached, or does not answer in time. */
export interface QuotaBank {
  /** Null when this machine does not count as live; it has to join again. */
  exchange(claims: readonly BankClaim[]): Promise<readonly BankReply[] | null>
  takeTokens(claims: readonly BankTokenClaim[]): Promise<readonly BankTokens[]>
  /** Call-ins for this machine. */
  calls(): Promise<readonly BankCall[]>
  /** Before the first exchange of a run: what earlier runs of this machine hold waits for their journals. */
  retire(): Promise<void>
  /** All journals of earlier runs are in the ledger: what they hold beyond what they have spent is free. */
  freeEarlier(): Promise<void>
  /**
   * This machine has joined anew, in the same run, and draws under that epoch from now on. Resolves with the names of the
   * quotas that it still holds.
   */
  adopt(epoch: number): Promise<readonly string[]>
  /** Removes some of what nothing reads any more. */
  prune(): Promise<void>
}
