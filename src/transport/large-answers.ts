/** When large bodies that are complete are read and answered. Part of the native edge. */
import { chargeTurn, runInLargeTurn } from '../base/large-turns.js'
import type { SmallCalls } from './small-calls.js'

/**
 * A turn of the event loop up to the first length is no burden for others, in milliseconds. What is beyond it is owed
 * twentyfold, and beyond the second a hundredfold: so less than one small call in a hundred finds the loop at it.
 */
const SHORT_TURN_MS = 5
const OWED_BEYOND_SHORT = 20
const LONG_TURN_MS = 15
const OWED_BEYOND_LONG = 100
/** What a fast sender brings is read in one turn, whatever the native side is told. */
const READ_BYTES_PER_MS = 1_000_000
/** Nobody waits longer for what it owes, in milliseconds. */
const MOST_OWED_MS = 10_000
/** How often it is looked whether small calls still come, in milliseconds. */
const LOOK_AGAIN_MS = 100

/** What others are owed for a turn of so many milliseconds. */
function burdenOf(ms: number): number {
  const long = Math.max(0, ms - LONG_TURN_MS)
  return OWED_BEYOND_SHORT * (Math.max(0, ms - SHORT_TURN_MS) - long) + OWED_BEYOND_LONG * long
}

/** A call whose large body is complete. */
export interface LargeCall {
  /** Bytes of its body. */
  readonly bytesIn: number
  /** Whether nobody waits for an answer any more. */
  isOver(): boolean
  /** Reads the body and answers; what it does in large turns is measured. */
  answerNow(): void
}

/**
 * One large body is read in a turn of the event loop, and while there are small calls each caller waits after one of its
 * own for the time that those are owed for it (rule 17, contract/decisions 64). Reading JSON of 20 MB takes 40 ms in
 * one piece, in which nothing else runs.
 */
export class LargeAnswers {
  readonly #waiting = new Map<string, LargeCall[]>()
  /** Until when a caller waits, of those who owe time. */
  readonly #owedUntil = new Map<string, number>()
  readonly #smallCalls: SmallCalls
  #scheduled = false
  /** Until the next look at callers who all owe time. */
  #timer: NodeJS.Timeout | null = null

  constructor(smallCalls: SmallCalls) {
    this.#smallCalls = smallCalls
  }

  /** Answers the call when it is its caller's turn, in a turn of the event loop of its own. */
  add(caller: string, call: LargeCall): void {
    const line = this.#waiting.get(caller)
    if (line === undefined) this.#waiting.set(caller, [call])
    else line.push(call)
    // This one may owe nothing.
    if (line === undefined && this.#timer !== null) this.#unschedule(this.#timer)
    this.#schedule()
  }

  readonly #step = (): void => {
    this.#scheduled = false
    const now = performance.now()
    const isShared = this.#smallCalls.areComing(now)
    // Who is answered goes behind the others.
    for (const [caller, line] of this.#waiting) {
      if (isShared && (this.#owedUntil.get(caller) ?? 0) > now) continue
      this.#waiting.delete(caller)
      const call = line.shift()
      if (line.length > 0) this.#waiting.set(caller, line)
      if (call === undefined || call.isOver()) continue
      this.#answer(caller, call)
      break
    }
    this.#schedule()
  }

  #answer(caller: string, call: LargeCall): void {
    chargeTurn((ms) => this.#owe(caller, ms + burdenOf(ms)))
    call.answerNow()
    this.#owe(caller, burdenOf(call.bytesIn / READ_BYTES_PER_MS))
  }

  #owe(caller: string, ms: number): void {
    const now = performance.now()
    for (const [other, until] of this.#owedUntil) if (until <= now) this.#owedUntil.delete(other)
    const since = this.#owedUntil.get(caller) ?? now
    this.#owedUntil.set(caller, Math.min(since + ms, now + MOST_OWED_MS))
  }

  /** The next one in the turn that follows, or when its caller owes nothing any more. */
  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return
    this.#scheduled = true
    const now = performance.now()
    const until = Math.min(...[...this.#waiting.keys()].map((caller) => this.#owedUntil.get(caller) ?? 0))
    if (until <= now || !this.#smallCalls.areComing(now)) runInLargeTurn(this.#step)
    else this.#timer = setTimeout(this.#lookAgain, Math.min(until - now, LOOK_AGAIN_MS))
  }

  /** What a timer began would be on nobody's account, and what others do behind it on that of this caller. */
  readonly #lookAgain = (): void => {
    this.#timer = null
    runInLargeTurn(this.#step)
  }

  #unschedule(timer: NodeJS.Timeout): void {
    clearTimeout(timer)
    this.#timer = null
    this.#scheduled = false
  }
}
