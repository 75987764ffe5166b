import type { WorkerSnapshot } from '../telemetry/counters/worker-stats.js'

/** A worker that is blocked must not hold up the metrics of the others. */
const DEADLINE_MS = 1_000

interface Round {
  readonly snapshots: WorkerSnapshot[]
  readonly expected: number
  readonly done: () => void
}

/** Asks several workers for snapshots and waits for all of them, but not for ever. */
export class SnapshotGatherer {
  #next = 0
  readonly #rounds = new Map<number, Round>()

  /** `ask` sends the question with the given id to `expected` workers. Resolves with what came, by worker. */
  gather(
    expected: number,
    ask: (id: number) => void,
    deadlineMs = DEADLINE_MS,
  ): Promise<readonly WorkerSnapshot[]> {
    if (expected === 0) return Promise.resolve([])
    return new Promise((resolve) => {
      const id = this.#next++
      const snapshots: WorkerSnapshot[] = []
      const late = setTimeout(() => this.#rounds.get(id)?.done(), deadlineMs)
      const done = (): void => {
        clearTimeout(late)
        this.#rounds.delete(id)
        resolve(snapshots.sort((a, b) => a.worker - b.worker))
      }
      this.#rounds.set(id, { snapshots, expected, done })
      ask(id)
    })
  }

  take(id: number, snapshot: WorkerSnapshot): void {
    const round = this.#rounds.get(id)
    if (round === undefined) return
    round.snapshots.push(snapshot)
    if (round.snapshots.length === round.expected) round.done()
  }
}
