/** How much of the event loop's time is given to large bodies while they come. Part of the native edge. */
import { FairQueue } from '../base/fair-queue.js'
import type { SmallCalls } from './small-calls.js'

/** A smaller piece belongs to a body that comes slowly. */
const LARGE_PIECE = 16 * 1024
/** What may come in a turn before senders are held back. */
const TURN_BYTES = 2 ** 20
/** What the native side reads at once, and so what one sender brings in a turn at least. */
const PIECE_BYTES = 512 * 1024
/**
 * What is read in a millisecond: half of it is for copying bytes and taking pages for them, the other half for the
 * garbage collector, which is called for every 64 MB of pieces that the native side hands over.
 */
const BYTES_PER_MS = 1_000_000
/** While there are small calls they have so many times the time of large bodies. */
const SHARE_OF_SMALL_CALLS = 20
/**
 * Small calls are given no longer at a time, in milliseconds: new senders, who cannot be held back before they have sent
 * something, would make it ever longer, and whoever is held back would wait for ever.
 */
const MOST_WAIT_MS = 1_000

/** A sender of a large body. */
export interface PacedSender {
  readonly caller: string
  /** Whether there is anybody to let go. */
  isOver(): boolean
  /** False when it is held back for that already. */
  holdForTurn(): boolean
  releaseForTurn(): void
}

/** All senders have as many turns. */
const ONE_TURN = 1

interface HeldSender {
  readonly caller: string
  readonly cost: typeof ONE_TURN
  readonly sender: PacedSender
}

/**
 * Holds senders of large bodies back, so that a turn of the event loop stays short (rule 16). What the network brings
 * is read whole: of a hundred senders 50 MB in one turn. So once a megabyte has come in a turn, whoever sends more is
 * held back, and as many are let go as fill another one, each caller's senders in turn: at once, or while there are
 * small calls after a time that is theirs. A body that comes slower than that is never held back.
 */
export class ReadingBudget {
  readonly #held = new FairQueue<HeldSender>(ONE_TURN)
  readonly #smallCalls: SmallCalls
  /** Bytes of large pieces in this turn. */
  #read = 0
  /** Whether the end of a turn, or the next one, is waited for. */
  #waits = false

  constructor(smallCalls: SmallCalls) {
    this.#smallCalls = smallCalls
  }

  /** A piece of a large body came. Its sender may be held back before this returns, unless it was the last piece. */
  spend(sender: PacedSender, bytes: number, last: boolean): void {
    if (bytes < LARGE_PIECE) return
    this.#read += bytes
    if (!this.#waits) {
      this.#waits = true
      setImmediate(this.#endTurn)
    }
    if (!last && this.#read >= TURN_BYTES && sender.holdForTurn())
      this.#held.add({ caller: sender.caller, cost: ONE_TURN, sender })
  }

  readonly #endTurn = (): void => {
    const ms = (this.#read / BYTES_PER_MS) * SHARE_OF_SMALL_CALLS
    this.#read = 0
    this.#waits = this.#held.size > 0
    if (!this.#waits) return
    if (this.#smallCalls.areComing(performance.now())) setTimeout(this.#letGo, Math.min(ms, MOST_WAIT_MS))
    else this.#letGo()
  }

  readonly #letGo = (): void => {
    for (let room = TURN_BYTES; room > 0; ) {
      const next = this.#held.peek()
      if (next === undefined) break
      this.#held.take(next)
      if (next.sender.isOver()) continue
      room -= PIECE_BYTES
      next.sender.releaseForTurn()
    }
    setImmediate(this.#endTurn)
  }
}
