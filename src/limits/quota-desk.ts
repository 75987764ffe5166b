/** The desk of a process: takes amounts out of the leases it holds, and asks the bank when they do not suffice. */
import type { Clock } from '../base/clock.js'
import type { Amount, Draw, Drawn, Quota } from './quota.js'

/** The way to the bank. Both are false when there is none. */
interface BankLine {
  /** A question; its answer comes to `answered`. */
  readonly draw: (id: number, draw: Draw) => boolean
  readonly tell: (kind: 'gave-back' | 'owes', amount: Amount) => boolean
  /**
   * Makes what has been spent so far outlive this process; false when that cannot be done now. Nobody may be told
   * that something is free again while the row that has used the rest can still be lost.
   */
  readonly secure: () => boolean
}

/** Taken from a quota, to be brought back with what has become of it. */
export interface Ticket {
  readonly tab: Tab
  readonly epoch: number
  readonly amount: number
}

/** Why there is no ticket. */
export interface Shortage {
  /** What is left for a single call; 0 and more. */
  readonly left: number
  /** Until the window ends; 0 where there are none. */
  readonly resetInMs: number
}

/** The bank did not answer. */
export const NO_ANSWER = 'no answer'

interface Waiter {
  readonly amount: number
  readonly resolve: (came: Ticket | Shortage | typeof NO_ANSWER) => void
}

/** What this process knows of one quota. */
export class Tab {
  capacity: number
  free = 0
  epoch = 0
  /** The lease is void from then on; of the monotonic clock. */
  goodUntil = Number.POSITIVE_INFINITY
  /** Until then the bank need not be asked again for more than `free`. */
  shortUntil = Number.NEGATIVE_INFINITY
  asking = false
  /** Not in the books of the desk any more. */
  closed = false
  readonly waiting: Waiter[] = []

  constructor(
    readonly name: string,
    capacity: number,
  ) {
    this.capacity = capacity
  }
}

/** A bank that is this late is busy or gone. */
const ANSWER_MS = 2_000
/** How old a refusal may be that is given without asking again, so that a flood of them costs little. */
const SHORT_MS = 20
/** Quotas known at a time; beyond it the one that came first goes. */
const MOST_TABS = 20_000

export function isTicket(came: Ticket | Shortage | typeof NO_ANSWER): came is Ticket {
  return typeof came === 'object' && 'tab' in came
}

export class QuotaDesk {
  readonly #clock: Clock
  readonly #line: BankLine
  readonly #tabs = new Map<string, Tab>()
  readonly #questions = new Map<number, (drawn: Drawn | null) => void>()
  #next = 0

  constructor(clock: Clock, line: BankLine) {
    this.#clock = clock
    this.#line = line
  }

  /** A ticket at once, or null when the bank has to be asked. */
  tryTake(quota: Quota, amount: number): Ticket | null {
    const tab = this.#tabOf(quota)
    if (this.#free(tab) < amount) return null
    tab.free -= amount
    return { tab, epoch: tab.epoch, amount }
  }

  /** Asks the bank. Never rejects. */
  take(quota: Quota, amount: number): Promise<Ticket | Shortage | typeof NO_ANSWER> {
    const tab = this.#tabOf(quota)
    const now = this.#clock.monotonicMs()
    if (!tab.asking && now < tab.shortUntil && this.#free(tab) < amount) {
      return Promise.resolve(this.#shortage(tab))
    }
    return new Promise((resolve) => {
      tab.waiting.push({ amount, resolve })
      if (!tab.asking) this.#ask(tab, quota.windowMs)
    })
  }

  /** Brings a ticket back. `spent` of its amount is gone; it may be more than that. */
  bring({ tab, epoch, amount }: Ticket, spent: number): void {
    // A window that has ended took everything with it.
    if (epoch !== tab.epoch || this.#clock.monotonicMs() >= tab.goodUntil) return
    tab.free += amount - spent
    if (tab.free < 0) {
      this.#line.tell('owes', { name: tab.name, epoch, amount: -tab.free })
      tab.free = 0
    } else if (tab.closed) this.#giveBack(tab)
    else if (amount > spent) tab.shortUntil = Number.NEGATIVE_INFINITY
  }

  /** Takes the bank's answer. Null: it cannot tell. */
  answered(id: number, drawn: Drawn | null): void {
    this.#questions.get(id)?.(drawn)
  }

  /** The bank wants back what is not needed. It is answered, be it with nothing. */
  recalled(name: string): void {
    const tab = this.#tabs.get(name)
    if (tab === undefined) this.#line.tell('gave-back', { name, epoch: 0, amount: 0 })
    else this.#giveBack(tab)
  }

  #giveBack(tab: Tab): void {
    const amount = this.#line.secure() ? tab.free : 0
    tab.free -= amount
    this.#line.tell('gave-back', { name: tab.name, epoch: tab.epoch, amount })
  }

  #free(tab: Tab): number {
    if (this.#clock.monotonicMs() >= tab.goodUntil) tab.free = 0
    return tab.free
  }

  #shortage(tab: Tab): Shortage {
    const left = this.#free(tab)
    const resetInMs =
      tab.goodUntil === Number.POSITIVE_INFINITY ? 0 : tab.goodUntil - this.#clock.monotonicMs()
    return { left, resetInMs: Math.max(0, resetInMs) }
  }

  /** Asks until nobody waits; those who come meanwhile are part of the next question. */
  #ask(tab: Tab, windowMs: number): void {
    const batch = tab.waiting.splice(0)
    const all = batch.reduce((sum, { amount }) => sum + amount, 0)
    const wanted = Math.max(1, all - this.#free(tab))
    tab.asking = true
    // Served in the turn of the answer: a recall that comes right behind it would take what was drawn for these.
    this.#draw(tab, { name: tab.name, capacity: tab.capacity, windowMs, wanted }, (drawn) => {
      if (drawn === null) for (const { resolve } of batch) resolve(NO_ANSWER)
      else this.#distribute(tab, batch, drawn.granted < wanted)
      tab.asking = false
      if (tab.waiting.length > 0) this.#ask(tab, windowMs)
    })
  }

  /** In order; one that does not fit makes room for a smaller one behind it. */
  #distribute(tab: Tab, batch: readonly Waiter[], short: boolean): void {
    const again: Waiter[] = []
    for (const waiter of batch) {
      const { amount, resolve } = waiter
      if (amount <= this.#free(tab)) {
        tab.free -= amount
        resolve({ tab, epoch: tab.epoch, amount })
      } else if (short) {
        tab.shortUntil = this.#clock.monotonicMs() + SHORT_MS
        resolve(this.#shortage(tab))
      } else again.push(waiter)
    }
    // Calls that came meanwhile have taken what was drawn for these.
    tab.waiting.unshift(...again)
  }

  /** `then` is called once, with null when no answer comes in time. */
  #draw(tab: Tab, draw: Draw, then: (drawn: Drawn | null) => void): void {
    const id = this.#next++
    let late = false
    const giveUp = (): void => {
      late = true
      then(null)
    }
    const cancel = this.#clock.runAfter(ANSWER_MS, giveUp)
    this.#questions.set(id, (drawn) => {
      cancel()
      this.#questions.delete(id)
      // Also when it comes too late for those who waited: nothing that was granted is lost.
      if (drawn !== null) this.#received(tab, drawn)
      if (!late) then(drawn)
      if (tab.closed && !tab.asking && tab.free > 0) this.#giveBack(tab)
    })
    if (this.#line.draw(id, draw)) return
    cancel()
    this.#questions.delete(id)
    // Not in this turn: whoever asks has not said yet what it waits for.
    this.#clock.runAfter(0, giveUp)
  }

  #received(tab: Tab, { granted, epoch, resetInMs }: Drawn): void {
    if (epoch !== tab.epoch) {
      tab.free = 0
      tab.epoch = epoch
    }
    tab.free += granted
    tab.goodUntil = resetInMs > 0 ? this.#clock.monotonicMs() + resetInMs : Number.POSITIVE_INFINITY
  }

  #tabOf({ name, capacity }: Quota): Tab {
    let tab = this.#tabs.get(name)
    if (tab === undefined) {
      tab = new Tab(name, capacity)
      if (this.#tabs.size >= MOST_TABS) this.#forgetFirst()
      this.#tabs.set(name, tab)
    } else if (tab.capacity !== capacity) {
      // Somebody has changed the limit: what was drawn under the old one goes back, and the bank hears of the new.
      tab.capacity = capacity
      tab.shortUntil = Number.NEGATIVE_INFINITY
      if (tab.free > 0) this.#giveBack(tab)
    }
    return tab
  }

  #forgetFirst(): void {
    const [first] = this.#tabs.values()
    if (first === undefined) return
    this.#tabs.delete(first.name)
    first.closed = true
    if (first.free > 0) this.#giveBack(first)
  }
}
