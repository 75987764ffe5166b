/** A process that becomes a worker. It can come up while the supervisor still loads what it is made of itself. */
import cluster, { type Worker } from 'node:cluster'
import { builtProgram } from '../base/built-files.js'
import type { MessageToSupervisor } from './ipc/messages.js'

export type WorkerChild = Worker

/**
 * Of the engine's helpers, which collect and compile beside a worker, one is enough where every core has a worker of its
 * own: four of them take turns with it on that core, and a collection waits for each.
 */
const ENGINE_OPTIONS = ['--v8-pool-size=1']

/** It does nothing before it is told to start, and ends with the process that has forked it. */
export class ForkedWorker {
  readonly child: WorkerChild
  /** What it has said that nobody has heard yet. */
  #unheard: MessageToSupervisor[] = []
  readonly #keep = (message: MessageToSupervisor): void => void this.#unheard.push(message)

  constructor() {
    const execArgv = [...ENGINE_OPTIONS, ...process.execArgv]
    cluster.setupPrimary({ exec: builtProgram('src/process/worker.js'), args: [], execArgv })
    this.child = cluster.fork()
    this.child.on('message', this.#keep)
    // It could not be started at all; who takes it sees that it is dead.
    this.child.on('error', () => {})
  }

  /** For one that has done nothing yet. */
  kill(): void {
    this.child.process.kill('SIGKILL')
  }

  /** From now on the listener hears it, and first what it has missed. */
  listen(onMessage: (message: MessageToSupervisor) => void): void {
    this.child.off('message', this.#keep)
    this.child.on('message', onMessage)
    for (const message of this.#unheard) onMessage(message)
    this.#unheard = []
  }
}
