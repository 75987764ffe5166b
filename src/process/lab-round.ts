import type { LabCommand, LabCommandResult, WorkerReply } from '../lab/lab-command.js'
import type { MessageToWorker } from './ipc/messages.js'

/** A worker that can be asked. */
export interface LabWorker {
  readonly worker: number
  send(message: MessageToWorker): void
}

interface Round {
  readonly replies: WorkerReply[]
  readonly open: Set<number>
  readonly done: () => void
}

/** Who asks with a shorter deadline wants a glance, not the truth: for such a worker that is silent is not waited. */
const PATIENCE_MS = 1_000

/**
 * Asks workers and waits for them, but never longer than the deadline: a blocked worker holds up nobody. One that owes
 * an answer is not asked for another look until it has given it, so that questions do not pile up in front of it.
 */
export class LabRounds {
  #next = 0
  readonly #rounds = new Map<number, Round>()
  /** Workers that let a deadline pass and have said nothing since. */
  readonly #silent = new Set<number>()

  ask(
    seats: readonly LabWorker[],
    question: LabCommand | ((worker: number) => LabCommand | null),
    deadlineMs: number,
  ): Promise<readonly WorkerReply[]> {
    const id = this.#next++
    const open = new Set<number>()
    for (const seat of seats) {
      const command = typeof question === 'function' ? question(seat.worker) : question
      if (command === null) continue
      const waits = deadlineMs >= PATIENCE_MS || !this.#silent.has(seat.worker)
      if (waits) open.add(seat.worker)
      else if (command.do === 'read-window' || command.do === 'read-series') continue
      seat.send({ type: 'lab', id, command })
    }
    return this.#wait(id, open, deadlineMs)
  }

  #wait(id: number, open: Set<number>, deadlineMs: number): Promise<readonly WorkerReply[]> {
    if (open.size === 0) return Promise.resolve([])
    return new Promise((resolve) => {
      const replies: WorkerReply[] = []
      const late = setTimeout(() => this.#rounds.get(id)?.done(), deadlineMs)
      const done = (): void => {
        clearTimeout(late)
        this.#rounds.delete(id)
        for (const worker of open) this.#silent.add(worker)
        resolve(replies.sort((a, b) => a.worker - b.worker))
      }
      this.#rounds.set(id, { replies, open, done })
    })
  }

  take(worker: number, id: number, answer: LabCommandResult): void {
    this.#silent.delete(worker)
    const round = this.#rounds.get(id)
    if (round === undefined || !round.open.delete(worker)) return
    round.replies.push({ worker, answer })
    if (round.open.size === 0) round.done()
  }

  /** A worker that has gone answers nothing any more. */
  gone(worker: number): void {
    for (const round of [...this.#rounds.values()]) {
      if (round.open.delete(worker) && round.open.size === 0) round.done()
    }
    this.#silent.delete(worker)
  }
}
