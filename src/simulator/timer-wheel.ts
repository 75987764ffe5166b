/** What a wheel needs of time. Tests bring their own. */
export interface WheelClock {
  /** Milliseconds, monotonic, with fractions. */
  now(): number
  /** Calls back after at least roughly `ms`; the wheel bears with early and late ones. Returns what stops it. */
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

const IDLE = -1
const READY = -2

/** Something that wants to be woken at a time. One entry waits for one time only. */
export abstract class TimerEntry extends RingLink {
  /** @internal Slot it waits in, or one of the states above. */ slot = IDLE
  /** @internal */ dueAt = 0

  /** Woken, at `now` or later than asked, never earlier. Must not throw. It may schedule itself again. */
  abstract onDue(now: number): void
}

/** Slots of one millisecond. What is due later than one turn of the wheel waits in its slot for its round. */
const SLOTS = 1024
const MASK = SLOTS - 1

/** Entries woken in one turn without a delay; more would keep sockets waiting. */
const READY_PER_TURN = 64

/** Longest sleep of the timer; keeps it within what timers can count. */
const LONGEST_SLEEP_MS = 60_000

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
  /** One bit for each slot that holds an entry. */
  readonly #used = new Uint32Array(SLOTS / 32)
  readonly #ready = new RingLink()
  readonly #onTimer = () => this.#tick()
  readonly #onTurn = () => this.#turn()
  #turnAsked = false
  /** Every millisecond before this one has been served. */
  #served: number
  #armedFor = Number.POSITIVE_INFINITY
  #disarm: (() => void) | null = null
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
    if (entry.slot !== IDLE) this.cancel(entry)
    this.#size++
    entry.dueAt = dueAt
    if (dueAt <= this.#clock.now()) {
      this.#makeReady(entry)
      return
    }
    const millisecond = Math.floor(dueAt)
    this.#place(entry, millisecond)
    if (!this.#ticking && millisecond + 1 < this.#armedFor) this.#arm(millisecond + 1)
  }

  /** Forgets the entry at once. Idempotent. */
  cancel(entry: TimerEntry): void {
    const { slot } = entry
    if (slot === IDLE) return
    unlinkFromRing(entry)
    entry.slot = IDLE
    this.#size--
    if (slot >= 0) this.#clearIfEmpty(slot)
    // With nothing left the timer must not keep the process alive.
    if (this.#size === 0 && !this.#ticking) this.#stopTimer()
  }

  #makeReady(entry: TimerEntry): void {
    entry.slot = READY
    appendToRing(this.#ready, entry)
    if (this.#turnAsked) return
    this.#turnAsked = true
    this.#clock.onNextTurn(this.#onTurn)
  }

  #place(entry: TimerEntry, millisecond: number): void {
    const slot = millisecond & MASK
    entry.slot = slot
    appendToRing(this.#slots[slot]!, entry)
    this.#used[slot >>> 5]! |= 1 << (slot & 31)
  }

  #clearIfEmpty(slot: number): void {
    const ring = this.#slots[slot]!
    if (ring.next === ring) this.#used[slot >>> 5]! &= ~(1 << (slot & 31))
  }

  /** Wakes what is ready; whatever becomes ready meanwhile waits for the next turn. */
  #turn(): void {
    this.#turnAsked = false
    const batch = new RingLink()
    for (let n = 0; n < READY_PER_TURN && this.#ready.next !== this.#ready; n++) {
      const entry = this.#ready.next
      unlinkFromRing(entry)
      appendToRing(batch, entry)
    }
    const now = this.#clock.now()
    while (batch.next !== batch) this.#wake(batch.next as TimerEntry, now)
    if (this.#ready.next !== this.#ready && !this.#turnAsked) {
      this.#turnAsked = true
      this.#clock.onNextTurn(this.#onTurn)
    }
  }

  #tick(): void {
    this.#disarm = null
    this.#armedFor = Number.POSITIVE_INFINITY
    const now = this.#clock.now()
    const current = Math.floor(now)
    // Beyond a whole turn every slot has been passed, and each is visited once.
    const first = Math.max(this.#served, current - SLOTS)
    this.#served = current
    this.#ticking = true
    for (let ms = this.#nextUsed(first, current); ms < current; ms = this.#nextUsed(ms + 1, current)) {
      this.#serve(ms & MASK, now, current)
    }
    this.#ticking = false
    this.#armForNext()
  }

  /** Wakes the slot's entries of this round; those of later rounds stay. */
  #serve(slot: number, now: number, current: number): void {
    const ring = this.#slots[slot]!
    const firing = new RingLink()
    for (let link = ring.next; link !== ring; ) {
      const { next } = link
      if ((link as TimerEntry).dueAt < current) {
        unlinkFromRing(link)
        appendToRing(firing, link)
      }
      link = next
    }
    this.#clearIfEmpty(slot)
    while (firing.next !== firing) this.#wake(firing.next as TimerEntry, now)
  }

  #wake(entry: TimerEntry, now: number): void {
    unlinkFromRing(entry)
    entry.slot = IDLE
    this.#size--
    entry.onDue(now)
  }

  /** First millisecond in use of [from, to), to when there is none. The span is at most one turn of the wheel. */
  #nextUsed(from: number, to: number): number {
    for (let ms = from; ms < to; ) {
      const slot = ms & MASK
      const rest = this.#used[slot >>> 5]! >>> (slot & 31)
      if (rest !== 0) return Math.min(to, ms + 31 - Math.clz32(rest & -rest))
      ms += 32 - (slot & 31)
    }
    return to
  }

  #armForNext(): void {
    if (this.#size === 0) return
    const from = this.#served
    const next = this.#nextUsed(from, from + SLOTS)
    if (next < from + SLOTS) this.#arm(next + 1)
  }

  /** `at` is the end of a slot. */
  #arm(at: number): void {
    this.#stopTimer()
    this.#armedFor = at
    const sleep = Math.min(LONGEST_SLEEP_MS, Math.max(1, Math.ceil(at - this.#clock.now())))
    this.#disarm = this.#clock.setTimer(sleep, this.#onTimer)
  }

  #stopTimer(): void {
    this.#disarm?.()
    this.#disarm = null
    this.#armedFor = Number.POSITIVE_INFINITY
  }
}

function appendToRing(ring: RingLink, link: RingLink): void {
  const last = ring.previous
  last.next = link
  link.previous = last
  link.next = ring
  ring.previous = link
}

function unlinkFromRing(link: RingLink): void {
  link.previous.next = link.next
  link.next.previous = link.previous
  link.previous = link
  link.next = link
}
