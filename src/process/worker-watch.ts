/** Notices workers whose event loop stands still: they keep their share of the connections and answer none. */
import type { Clock } from '../base/clock.js'

/** Looks within the silence that is allowed; a worker gives as many signs of life. */
const LOOKS = 15

/** How often a worker gives a sign of life, milliseconds. */
export function heartbeatPeriodMs(workerSilenceMs: number): number {
  return workerSilenceMs / LOOKS
}

interface WorkerWatchPorts {
  readonly clock: Clock
  /** How long a worker may say nothing, milliseconds. */
  readonly silenceMs: number
  /** A worker has said nothing for that long. */
  readonly onSilent: (worker: number) => void
}

/**
 * Counts its own looks, not the time: a supervisor that was stopped, or whose machine slept, finds all workers silent
 * when it wakes, and must hear them first.
 */
export class WorkerWatch {
  readonly #ports: WorkerWatchPorts
  /** By worker: looks since it was heard. */
  readonly #looks = new Map<number, number>()

  constructor(ports: WorkerWatchPorts) {
    this.#ports = ports
    this.#lookAgain()
  }

  /** A worker has said something. It is watched from the first time on. */
  heard(worker: number): void {
    this.#looks.set(worker, 0)
  }

  /** It has ended. */
  forget(worker: number): void {
    this.#looks.delete(worker)
  }

  #lookAgain(): void {
    const { clock, silenceMs } = this.#ports
    clock.runAfter(heartbeatPeriodMs(silenceMs), () => {
      this.#look()
      this.#lookAgain()
    })
  }

  #look(): void {
    for (const [worker, looks] of this.#looks) {
      this.#looks.set(worker, looks + 1)
      // Once: what follows is its end.
      if (looks + 1 === LOOKS) this.#ports.onSilent(worker)
    }
  }
}
