/** The bank of a worker: the supervisor keeps the buckets of all workers, and is asked over IPC. */
import type { Clock } from '../base/clock.js'
import { type Bank, type BucketRule, type Grant, TokenBank } from './token-bank.js'

/** A supervisor that is this late is busy or gone; nobody is kept waiting for it. */
const ANSWER_MS = 500

/** Sends a question to the supervisor; false when there is none. */
type AskSupervisor = (id: number, name: string, wanted: number) => boolean

export class SharedBank implements Bank {
  private readonly open = new Map<number, (grant: Grant) => void>()
  /** Serves while the supervisor does not: the limit then holds per worker, which is better than none or nothing. */
  private readonly own: TokenBank
  private next = 0

  constructor(
    rule: BucketRule,
    private readonly clock: Clock,
    private readonly ask: AskSupervisor,
  ) {
    this.own = new TokenBank(rule, clock)
  }

  take(name: string, wanted: number): Promise<Grant> {
    return new Promise((resolve) => {
      const id = this.next++
      const giveUp = (): void => {
        this.open.delete(id)
        resolve(this.own.take(name, wanted))
      }
      const cancel = this.clock.runAfter(ANSWER_MS, giveUp)
      this.open.set(id, (grant) => {
        cancel()
        this.open.delete(id)
        resolve(grant)
      })
      if (this.ask(id, name, wanted)) return
      cancel()
      giveUp()
    })
  }

  /** Takes the supervisor's answer. One that comes too late is lost, and with it the tokens. */
  answered(id: number, grant: Grant): void {
    this.open.get(id)?.(grant)
  }
}
