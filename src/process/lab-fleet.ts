import type { LabCommand, LabCommandResult, WorkerFleet, WorkerReply } from '../lab/lab-command.js'
import { FanOut } from './ipc/fan-out.js'
import type { MessageToWorker } from './ipc/messages.js'

interface LabFleetPorts {
  /** Workers that serve. */
  readonly readyWorkers: () => readonly number[]
  readonly sendToWorker: (worker: number, message: MessageToWorker) => void
}

/** A question with a shorter deadline is for a glance: it does not wait for a worker that is silent. */
const PATIENCE_MS = 1_000

/**
 * The workers as the lab asks them. One that owes an answer is not asked for another look until it has given it, so
 * that questions do not pile up in front of it.
 */
export class LabFleet implements WorkerFleet {
  readonly #ports: LabFleetPorts
  readonly #fanOut = new FanOut<LabCommandResult>()

  constructor(ports: LabFleetPorts) {
    this.#ports = ports
  }

  workers(): readonly number[] {
    return this.#ports.readyWorkers()
  }

  ask(
    question: LabCommand | ((worker: number) => LabCommand | null),
    deadlineMs: number,
  ): Promise<readonly WorkerReply[]> {
    const commands = new Map<number, LabCommand>()
    const awaited: number[] = []
    for (const worker of this.workers()) {
      const command = typeof question === 'function' ? question(worker) : question
      if (command === null) continue
      const waits = deadlineMs >= PATIENCE_MS || !this.#fanOut.isSilent(worker)
      if (waits) awaited.push(worker)
      else if (command.do === 'read-window' || command.do === 'read-series') continue
      commands.set(worker, command)
    }
    return this.#fanOut.ask(awaited, deadlineMs, (id) => {
      for (const [worker, command] of commands) {
        this.#ports.sendToWorker(worker, { type: 'lab-command', id, command })
      }
    })
  }

  onResult(worker: number, id: number, result: LabCommandResult): void {
    this.#fanOut.receive(worker, id, result)
  }

  workerDied(worker: number): void {
    this.#fanOut.workerDied(worker)
  }
}
