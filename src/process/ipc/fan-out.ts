interface FanOutRound<T> {
  readonly replies: { readonly worker: number; readonly answer: T }[]
  /** Workers that have not answered. */
  readonly open: Set<number>
  readonly finish: () => void
}

/**
 * Asks several workers at once and gathers their answers, but never waits longer than the deadline: a worker that is
 * blocked holds up nothing, and its answer is missing.
 */
export class FanOut<T> {
  readonly #rounds = new Map<number, FanOutRound<T>>()
  readonly #silent = new Set<number>()
  #nextId = 0

  /** Whether a worker let a deadline pass and has said nothing since. */
  isSilent(worker: number): boolean {
    return this.#silent.has(worker)
  }

  /** `send` puts the question to the workers, with the id that `receive` needs. Resolves with what came, by worker. */
  ask(
    workers: Iterable<number>,
    deadlineMs: number,
    send: (id: number) => void,
  ): Promise<readonly { readonly worker: number; readonly answer: T }[]> {
    const id = this.#nextId++
    const open = new Set(workers)
    const replies: FanOutRound<T>['replies'] = []
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer)
        this.#rounds.delete(id)
        for (const worker of open) this.#silent.add(worker)
        resolve(replies.sort((a, b) => a.worker - b.worker))
      }
      const timer = setTimeout(finish, deadlineMs)
      this.#rounds.set(id, { replies, open, finish })
      send(id)
      if (open.size === 0) finish()
    })
  }

  /** An answer that comes late, or a second time, is dropped. */
  receive(worker: number, id: number, answer: T): void {
    this.#silent.delete(worker)
    const round = this.#rounds.get(id)
    if (round === undefined || !round.open.delete(worker)) return
    round.replies.push({ worker, answer })
    if (round.open.size === 0) round.finish()
  }

  /** A worker that has died answers nothing any more. */
  workerDied(worker: number): void {
    for (const round of [...this.#rounds.values()]) {
      if (round.open.delete(worker) && round.open.size === 0) round.finish()
    }
    this.#silent.delete(worker)
  }
}
