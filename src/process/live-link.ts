/** The live feed's side of the supervisor: the way from its merge to the workers and back. */
import { systemClock } from '../base/clock.js'
import { LiveMerge } from '../telemetry/live/live-merge.js'
import type { WorkerChild } from './forked-worker.js'
import type { LiveMessageToSupervisor } from './ipc/messages.js'
import { sendToProcess, type WorkerSlot, type WorkerSlots } from './worker-slots.js'

export class LiveLink {
  readonly #merge: LiveMerge

  constructor(slots: Pick<WorkerSlots, 'readyWorkers' | 'send'>) {
    this.#merge = new LiveMerge({
      clock: systemClock,
      workers: () => slots.readyWorkers(),
      ask: (worker, scopes) => slots.send(worker, { type: 'watch-live', scopes }),
      rest: (worker) => slots.send(worker, { type: 'rest-live' }),
      send: (worker, frames) => slots.send(worker, { type: 'live-frames', frames }),
    })
  }

  readonly onMessage = (
    { index: worker }: Pick<WorkerSlot, 'index'>,
    message: LiveMessageToSupervisor,
    child: WorkerChild,
  ): void => {
    if (message.type === 'live-report') this.#merge.receive(worker, message.report)
    else if (message.type === 'leave-live') this.#merge.leave(worker, message.scope, message.caller)
    else {
      const refusal = this.#merge.enter(worker, message.scope, message.caller)
      sendToProcess(child, { type: 'live-entered', id: message.id, refusal })
    }
  }

  workerDied(worker: number): void {
    this.#merge.workerDied(worker)
  }

  close(): void {
    this.#merge.close()
  }
}
