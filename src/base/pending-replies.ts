import type { Clock } from './clock.js'

/** Questions to another process, told apart by numbers. Each is given up at its deadline. */
export class PendingReplies<T> {
  readonly #clock: Clock
  readonly #takesLate: boolean
  readonly #pending = new Map<number, (reply: T) => void>()
  #nextId = 0

  /** With `takesLate` replies after the deadline are handed on too, for what they grant; otherwise they are dropped. */
  constructor(clock: Clock, { takesLate = false } = {}) {
    this.#clock = clock
    this.#takesLate = takesLate
  }

  /**
   * Sends a question with an id for its reply; `send` returns false when there is nobody to ask. `onReply` is called in
   * the turn in which `receive` gets the reply, or with null at the deadline, or with null in a later turn when nobody
   * could be asked. It is called once more, with `late`, for a reply after the deadline where those are taken.
   */
  ask(
    deadlineMs: number,
    send: (id: number) => boolean,
    onReply: (reply: T | null, late: boolean) => void,
  ): void {
    const id = this.#nextId++
    let late = false
    const giveUp = (): void => {
      late = true
      if (!this.#takesLate) this.#pending.delete(id)
      onReply(null, false)
    }
    const cancel = this.#clock.runAfter(deadlineMs, giveUp)
    this.#pending.set(id, (reply) => {
      cancel()
      this.#pending.delete(id)
      onReply(reply, late)
    })
    if (send(id)) return
    cancel()
    this.#pending.delete(id)
    this.#clock.runAfter(0, giveUp)
  }

  /** Hands a reply to whoever asked; a second one with the same id is dropped. */
  receive(id: number, reply: T): void {
    this.#pending.get(id)?.(reply)
  }
}
