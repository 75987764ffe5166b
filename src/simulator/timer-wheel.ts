/** What a wheel needs of time. Tests bring their own. */
export interface WheelClock {
  /** Milliseconds, monotonic, with fractions. */
  now(): number
  /** Calls back after roughly `ms`; an early or a late call does no harm. Returns what stops the timer. */
  setTimer(ms: number, callback: () => void): () => void
  /** Calls back in a later turn of the event loop. */
  onNextTurn(callback: () => void): void
}

const systemClock: WheelClock = {
  now: () => performance.now(),
  setTimer: (ms, callback) => {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
  onNextTurn: (callback) => void setImmediate(callback),
}

/** A link in one of the wheel's rings; an entry is its own link, so scheduling allocates nothing. */
class RingLink {
  /** @internal */ previous: RingLink = this
  /** @internal */ next: RingLink = this
}

/** Something that wants to be woken at a time. One entry waits for one time only. */
export abstract class TimerEntry extends RingLink {
  /** @internal */ isScheduled = false
  /** @internal */ dueAt = 0

  /** Woken, at `now` or later than asked, never earlier. Must not throw. It may schedule itself again. */
  abstract onDue(now: number): void
}

/** Slots of one millisecond. What is due later than one turn of the wheel waits in its slot for its round. */
const SLOTS = 1024
const MASK = SLOTS - 1

/** Entries woken in one turn without a delay; more would keep sockets waiting. */
const MAX_READY_PER_TURN = 64

/** Longest sleep of the timer; keeps it within what timers can count. */
const MAX_SLEEP_MS = 60_000

/**
 * A hashed timing wheel: thousands of paced streams share one timer, which is armed for the next slot in use.
 *
 * Scheduling and cancelling take constant time and allocate nothing. An entry whose time has come already is woken
 * in a later turn of the event loop, never inside `schedule`. An entry goes off once its millisecond has passed
 * whole: a timer that fires early (Node's may, by up to a millisecond) finds no full slot and is armed again.
 */
export class TimerWheel {
  readonly #clock: WheelClock
  readonly #slots: readonly RingLink[] = Array.from({ length: SLOTS }, () => new RingLink())
  readonly #ready = new RingLink()
  readonly #onTimer = () => this.#tick()
  readonly #onTurn = () => this.#turn()
  #turnRequested = false
  /** Every millisecond before this one has been served. */
  #served: number
  #armedFor = Number.POSITIVE_INFINITY
  #stopTimer: (() => void) | null = null
  #ticking = false
  #size = 0

  constructor(clock: WheelClock = systemClock) {
    this.#clock = clock
    this.#served = Math.floor(clock.now())
  }

  now(): number {
    return this.#clock.now()
  }

  /** Entries waiting. */
  size(): number {
    return this.#size
  }

  /** Wakes the entry at `dueAt`. An entry that waits already is moved. */
  schedule(entry: TimerEntry, dueAt: number): void {
    if (entry.isScheduled) this.cancel(entry)
    this.#size++
    entry.isScheduled = true
    entry.dueAt = dueAt
    if (dueAt <= this.#clock.now()) {
      moveToRing(this.#ready, entry)
      this.#requestTurn()
      return
    }
    const millisecond = Math.floor(dueAt)
    moveToRing(this.#slots[millisecond & MASK]!, entry)
    if (!this.#ticking && millisecond + 1 < this.#armedFor) this.#arm(millisecond + 1)
  }

  /** Forgets the entry at once. Idempotent. */
  cancel(entry: TimerEntry): void {
    if (!entry.isScheduled) return
    this.#remove(entry)
    // With nothing left the timer must not keep the process alive.
    if (this.#size === 0 && !this.#ticking) this.#disarm()
  }

  #remove(entry: TimerEntry): void {
    unlink(entry)
    entry.isScheduled = false
    this.#size--
  }

  #requestTurn(): void {
    if (this.#turnRequested) return
    this.#turnRequested = true
    this.#clock.onNextTurn(this.#onTurn)
  }

  /** Wakes the entries that are ready; those that become ready meanwhile wait for the next turn. */
  #turn(): void {
    this.#turnRequested = false
    const batch = new RingLink()
    for (let n = 0; n < MAX_READY_PER_TURN && !isEmpty(this.#ready); n++) moveToRing(batch, this.#ready.next)
    this.#wakeAll(batch, this.#clock.now())
    if (!isEmpty(this.#ready)) this.#requestTurn()
  }

  #tick(): void {
    this.#disarm()
    const now = this.#clock.now()
    const current = Math.floor(now)
    // Beyond a whole turn every slot has been passed, and each is visited once.
    const first = Math.max(this.#served, current - SLOTS)
    this.#served = current
    this.#ticking = true
    for (let ms = first; ms < current; ms++) this.#serve(this.#slots[ms & MASK]!, now, current)
    this.#ticking = false
    this.#armForNext()
  }

  /** Wakes the slot's entries of this round; those of later rounds stay. */
  #serve(slot: RingLink, now: number, current: number): void {
    if (isEmpty(slot)) return
    const batch = new RingLink()
    for (let link = slot.next; link !== slot; ) {
      const { next } = link
      if ((link as TimerEntry).dueAt < current) moveToRing(batch, link)
      link = next
    }
    this.#wakeAll(batch, now)
  }

  #wakeAll(batch: RingLink, now: number): void {
    while (!isEmpty(batch)) {
      const entry = batch.next as TimerEntry
      this.#remove(entry)
      entry.onDue(now)
    }
  }

  #armForNext(): void {
    if (this.#size === 0) return
    for (let ms = this.#served; ms < this.#served + SLOTS; ms++) {
      if (isEmpty(this.#slots[ms & MASK]!)) continue
      this.#arm(ms + 1)
      return
    }
  }

  /** `at` is the end of a slot. */
  #arm(at: number): void {
    this.#disarm()
    this.#armedFor = at
    const sleep = Math.min(MAX_SLEEP_MS, Math.max(1, Math.ceil(at - this.#clock.now())))
    this.#stopTimer = this.#clock.setTimer(sleep, this.#onTimer)
  }

  #disarm(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#armedFor = Number.POSITIVE_INFINITY
  }
}

function isEmpty(ring: RingLink): boolean {
  return ring.next === ring
}

/** To the end of the ring, out of the one it is in. */
function moveToRing(ring: RingLink, link: RingLink): void {
  unlink(link)
  const last = ring.previous
  last.next = link
  link.previous = last
  link.next = ring
  ring.previous = link
}

function unlink(link: RingLink): void {
  link.previous.next = link.next
  link.next.previous = link.previous
  link.previous = link
  link.next = link
}
