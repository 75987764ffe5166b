/**
 * Asks all machines to bring in what they have answered, for one that is about to read what all of them have. Only who
 * is silent is not waited for: within a second everybody brings it in unasked. Who was silent is asked again, and only
 * waited for once it has been heard of.
 */
import { type Clock, sleep } from '../base/clock.js'
import { shareRounds } from '../base/shared-rounds.js'

interface SharedFlushPorts {
  /** Name of this machine. */
  readonly machine: string
  /** Machines that live, this one included. */
  readonly live: () => number
  /** Whether hints can be heard; through a pooler nobody hears any. */
  readonly hears: () => boolean
  /** Sends a hint to all machines. */
  readonly send: (payload: string) => Promise<unknown>
  /** Brings in what this machine has answered; false when that cannot be done now. */
  readonly flush: () => Promise<boolean>
  readonly clock: Clock
}

/** A question to all that is under way. */
interface AskedRound {
  readonly id: string
  readonly answered: Set<string>
  readonly awaited: number
  /** Those that are enough; null when all are awaited. */
  readonly enough: ReadonlySet<string> | null
  readonly done: () => void
}

/** From one question to all machines to the next. */
const PERIOD_MS = 100
const WAIT_MS = 1_000
/** From one answer to the next: whatever asks how often, a machine answers so often. */
const ANSWER_PERIOD_MS = 20
/** Questions answered in one hint, which has a bounded length. */
const ANSWERED_AT_ONCE = 40

export class SharedFlush {
  /** Resolves when what any machine has answered before can be read; false when this one's cannot. Never rejects. */
  readonly flushAll: () => Promise<boolean>
  readonly #ports: SharedFlushPorts
  #rounds = 0
  #asked: AskedRound | null = null
  /** Who was heard of since a round ended without all; null when all answer. */
  #heard: Set<string> | null = null
  /** Numbers of questions and who has asked them, to be answered. */
  readonly #questions = new Set<string>()
  readonly #answerAll: () => Promise<void>

  constructor(ports: SharedFlushPorts) {
    this.#ports = ports
    this.flushAll = shareRounds(() => this.#playRound(), PERIOD_MS, ports.clock)
    this.#answerAll = shareRounds(() => this.#answer(), ANSWER_PERIOD_MS, ports.clock)
  }

  /** Takes a hint; false when it is about something else. */
  receive(payload: string): boolean {
    const [word, machine, ...rest] = payload.split(' ')
    if (word === 'flush' && machine !== this.#ports.machine) {
      this.#questions.add(`${rest[0]}@${machine}`)
      void this.#answerAll().catch(() => {})
    }
    if (word === 'flushed') this.#onAnswer(machine!, rest)
    return word === 'flush' || word === 'flushed'
  }

  async #playRound(): Promise<boolean> {
    const [isDone] = await Promise.all([this.#ports.flush(), this.#askOthers()])
    return isDone
  }

  async #askOthers(): Promise<void> {
    const { live, hears, send, clock, machine } = this.#ports
    const awaited = live() - 1
    if (awaited <= 0) return
    if (!hears()) return sleep(WAIT_MS, clock)
    if (this.#heard !== null && this.#heard.size >= awaited) this.#heard = null
    const enough = this.#heard === null ? null : new Set(this.#heard)
    const id = String(++this.#rounds)
    await new Promise<void>((resolve) => {
      const answered = new Set<string>()
      const cancel = clock.runAfter(WAIT_MS, () => {
        this.#heard = answered
        resolve()
      })
      const done = (): void => {
        cancel()
        resolve()
      }
      this.#asked = { id, awaited, answered, enough, done }
      send(`flush ${machine} ${id}`).then(() => enough?.size === 0 && done(), done)
    })
    this.#asked = null
  }

  async #answer(): Promise<void> {
    const { flush, send, machine } = this.#ports
    const questions = [...this.#questions]
    this.#questions.clear()
    if (!(await flush())) return
    for (let at = 0; at < questions.length; at += ANSWERED_AT_ONCE) {
      const answered = questions.slice(at, at + ANSWERED_AT_ONCE)
      await send(`flushed ${machine} ${answered.join(' ')}`).catch(() => {})
    }
  }

  #onAnswer(machine: string, questions: readonly string[]): void {
    const own = questions.filter((question) => question.endsWith(`@${this.#ports.machine}`))
    if (own.length === 0) return
    this.#heard?.add(machine)
    const asked = this.#asked
    if (asked === null || !own.includes(`${asked.id}@${this.#ports.machine}`)) return
    const { answered, awaited, enough, done } = asked
    answered.add(machine)
    const isEnough = enough !== null && [...enough].every((name) => answered.has(name))
    if (isEnough || answered.size >= awaited) done()
  }
}
