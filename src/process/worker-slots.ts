/** The worker processes by number: forks them, restarts those that die, and gives up when that helps nothing. */
import { systemClock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { ForkedWorker, type WorkerChild } from './forked-worker.js'
import type { MessageToSupervisor, MessageToWorker } from './ipc/messages.js'
import { RestartPolicy } from './restart-policy.js'
import { WorkerWatch } from './worker-watch.js'

/** The place of one worker; when its process dies another one takes it. */
export interface WorkerSlot {
  readonly index: number
  process: WorkerChild | null
  readyAt: number | null
  /** Name of the journal that the process writes; null before it is told to start. */
  journal: string | null
}

interface WorkerSlotsPorts {
  readonly log: Log
  /** How long a worker may say nothing before it is ended, milliseconds. */
  readonly silenceMs: number
  /** `child`: the process that has sent it; the slot may already hold another one. */
  readonly onMessage: (slot: WorkerSlot, child: WorkerChild, message: MessageToSupervisor) => void
  /** A process has ended; its slot still has its journal. */
  readonly onExit: (slot: WorkerSlot) => void
  /** Restarting does not help. */
  readonly onGiveUp: (reason: string) => void
  /** All processes have ended after `drain`; called once. */
  readonly onEmpty: () => void
}

export class WorkerSlots {
  readonly #ports: WorkerSlotsPorts
  readonly #slots: readonly WorkerSlot[]
  readonly #policy = new RestartPolicy()
  /** Null before the start. */
  #watch: WorkerWatch | null = null
  #isDraining = false
  #isEmpty = false

  constructor(count: number, ports: WorkerSlotsPorts) {
    this.#ports = ports
    this.#slots = Array.from({ length: count }, (_, index) => ({
      index,
      process: null,
      readyAt: null,
      journal: null,
    }))
  }

  get count(): number {
    return this.#slots.length
  }

  /** @param first a process for the first slot that comes up already */
  start(first: ForkedWorker): void {
    const { silenceMs } = this.#ports
    this.#watch = new WorkerWatch({
      clock: systemClock,
      silenceMs,
      onSilent: (worker) => this.#endSilent(worker),
    })
    for (const slot of this.#slots) {
      const isThere = slot.index === 0 && !first.child.isDead()
      this.#hold(slot, isThere ? first : new ForkedWorker())
    }
  }

  /** It has been told to start: from now on it has to say something. */
  expectWord({ index }: WorkerSlot): void {
    this.#watch?.heard(index)
  }

  /** True when all workers are ready at once. A group that was so once is never given up. */
  markReady(slot: WorkerSlot): boolean {
    slot.readyAt = performance.now()
    const areAllReady = this.#slots.every(({ readyAt }) => readyAt !== null)
    if (areAllReady) this.#policy.markServing()
    return areAllReady
  }

  /** Numbers of the workers that serve. */
  readyWorkers(): number[] {
    return this.#slots.flatMap(({ index, process: child, readyAt }) =>
      child === null || readyAt === null ? [] : [index],
    )
  }

  /** Workers that were told to start. */
  startedWorkers(): number[] {
    return this.#slots.flatMap(({ index, journal }) => (journal === null ? [] : [index]))
  }

  /** Sends to a worker, or to none when it has just died. */
  readonly send = (worker: number, message: MessageToWorker): void => {
    const child = this.#slots[worker]?.process
    if (child !== null && child !== undefined) sendToProcess(child, message)
  }

  /** Tells all processes to finish what they have begun, and starts none any more. */
  drain(): void {
    this.#isDraining = true
    for (const { index } of this.#slots) this.send(index, { type: 'drain-worker' })
    this.#reportWhenEmpty()
  }

  killAll(): void {
    for (const { process: child } of this.#slots) child?.process.kill('SIGKILL')
  }

  #hold(slot: WorkerSlot, forked: ForkedWorker): void {
    const { child } = forked
    slot.process = child
    slot.readyAt = null
    // How long a process takes to come up is the machine's affair, and how long it then waits is ours.
    forked.listen((message) => {
      if (slot.process === child && message.type !== 'worker-up') this.#watch?.heard(slot.index)
      this.#ports.onMessage(slot, child, message)
    })
    child.on('exit', (code, signal) => this.#onExit(slot, child, signal ?? `exit code ${code}`))
    // A process that could not be started at all (no memory, too many processes) has no exit.
    child.on('error', (error) => this.#onExit(slot, child, error.message))
  }

  #onExit(slot: WorkerSlot, child: WorkerChild, how: string): void {
    if (slot.process !== child) return
    const readyForMs = slot.readyAt === null ? null : performance.now() - slot.readyAt
    slot.process = null
    slot.readyAt = null
    this.#watch?.forget(slot.index)
    this.#ports.onExit(slot)
    slot.journal = null
    if (this.#isDraining) {
      this.#reportWhenEmpty()
      return
    }
    const decision = this.#policy.decideRestart(readyForMs)
    this.#ports.log.error({ worker: slot.index, how, readyForMs, decision }, 'a worker died')
    if (decision.restart) setTimeout(() => this.#refork(slot), decision.afterMs)
    else this.#ports.onGiveUp(decision.reason)
  }

  /** Its loop stands still, so only a signal that needs no answer ends it. What follows is as after another death. */
  #endSilent(worker: number): void {
    const child = this.#slots[worker]?.process
    const { log, silenceMs } = this.#ports
    log.error(
      { worker, pid: child?.process.pid, silenceMs },
      'a worker has said nothing for too long: ending it',
    )
    child?.process.kill('SIGKILL')
  }

  #refork(slot: WorkerSlot): void {
    if (!this.#isDraining) this.#hold(slot, new ForkedWorker())
  }

  #reportWhenEmpty(): void {
    if (this.#isEmpty || this.#slots.some(({ process: child }) => child !== null)) return
    this.#isEmpty = true
    this.#ports.onEmpty()
  }
}

export function sendToProcess(child: WorkerChild, message: MessageToWorker): void {
  // A child that has just died takes nothing; its exit event follows.
  if (child.isConnected()) child.send(message, () => {})
}
