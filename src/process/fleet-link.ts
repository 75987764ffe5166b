/** What connects a supervisor and its workers to the fleet of their machine. */
import { systemClock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { FleetMachine } from '../compose/fleet-machine.js'
import type { Config } from '../config/config.js'
import type { RoutingUpdate } from '../gateway/routing/routing-update.js'
import type { WorkerChild } from './forked-worker.js'
import type { MessageToSupervisor } from './ipc/messages.js'
import { sendToProcess, type WorkerSlots } from './worker-slots.js'

interface FleetLinkPorts {
  readonly log: Log
  /** Tells the operator, on standard output. */
  readonly announce: (line: string) => void
  readonly slots: Pick<WorkerSlots, 'startedWorkers' | 'readyWorkers' | 'send'>
  /** The machine must not go on; one sentence for the operator. */
  readonly onRefused: (sentence: string) => void
  /** Bytes of journals that the ledger has not taken in. */
  readonly journalBytes: () => number
  readonly isLeaving: () => boolean
}

export class FleetLink {
  readonly #ports: FleetLinkPorts
  #machine: FleetMachine | null = null

  constructor(ports: FleetLinkPorts) {
    this.#ports = ports
  }

  /** Null on a machine that stands alone, and before it has joined. */
  get machine(): FleetMachine | null {
    return this.#machine
  }

  /** Resolves when the machine is one of its fleet and may serve. Rejects with a sentence when it must not. */
  async join(config: Config): Promise<void> {
    // An embedded store needs no client of a database.
    const { FleetMachine } = await import('../compose/fleet-machine.js')
    const { log, announce, slots, onRefused, journalBytes, isLeaving } = this.#ports
    try {
      this.#machine = await FleetMachine.open(config, {
        ...{ clock: systemClock, log, announce, onRefused, journalBytes, isLeaving },
        onStanding: () => this.#tellStanding(),
        onRoutingUpdate: (update) => {
          for (const worker of slots.readyWorkers()) {
            slots.send(worker, { type: 'routing-update', from: 'elsewhere', update })
          }
        },
      })
    } catch (error) {
      // Whoever ends the server while it waits for its database has been told enough.
      if (!isLeaving()) throw error
    }
  }

  tellRouting(update: RoutingUpdate): void {
    this.#machine?.tellRouting(update)
  }

  /** Answers a worker that has changed managed records. */
  async passBarrier(
    { id, version }: MessageToSupervisor & { readonly type: 'pass-barrier' },
    child: WorkerChild,
  ): Promise<void> {
    const unconfirmed = (await this.#machine?.passBarrier(version)) ?? null
    sendToProcess(child, { type: 'barrier-passed', id, unconfirmed })
  }

  async leave(): Promise<void> {
    await this.#machine?.leave()
  }

  /** A worker that is not started yet is told with its start. */
  #tellStanding(): void {
    if (this.#machine === null) return
    const { slots } = this.#ports
    const { standing } = this.#machine.start
    for (const worker of slots.startedWorkers()) slots.send(worker, { type: 'standing', standing })
  }
}
