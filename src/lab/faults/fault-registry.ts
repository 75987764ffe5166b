import type { FaultPlan } from '../control/requests.js'
import type { LabRecorder } from '../recorder/recorder.js'
import { ActiveFault, faultWindowAt } from './active-fault.js'
import { HeldAnswers, LONGEST_TIMER_MS } from './held-answers.js'

interface FaultRegistryPorts {
  readonly worker: number
  readonly recorder: LabRecorder
  readonly toMonotonic: number
  readonly log: (message: string, error: unknown) => void
}

/** The listening socket of a worker. */
interface PausableListener {
  pause(): void
  resume(): void
}

/** A hold ends for all its calls at once, so its end is worth hitting. */
const HOLD_SPIN_MS = 2

interface RegisteredFault {
  readonly fault: ActiveFault
  timer: NodeJS.Timeout | null
  /** Ends what is under way. */
  end: () => void
}

/** The faults of one worker. Routes are decorated once, at composition; without the lab there is no registry. */
export class FaultRegistry {
  /** Calls that a hold keeps back, and calls that only take longer. */
  readonly held = new HeldAnswers(HOLD_SPIN_MS)
  readonly slowed = new HeldAnswers()
  /** Recorders of runs that count only calls which name them. */
  readonly runRecorders = new Map<string, LabRecorder>()
  /** In the order they were made. */
  faults: readonly ActiveFault[] = []
  /** Set when the worker listens. */
  listener: PausableListener | null = null
  readonly recorder: LabRecorder
  readonly toMonotonic: number
  readonly #ports: FaultRegistryPorts
  readonly #entries = new Map<string, RegisteredFault>()

  constructor(ports: FaultRegistryPorts) {
    this.#ports = ports
    this.recorder = ports.recorder
    this.toMonotonic = ports.toMonotonic
  }

  add(plan: FaultPlan): void {
    const { worker, toMonotonic } = this.#ports
    if (this.#entries.has(plan.id) || (plan.worker !== null && plan.worker !== worker)) return
    const entry: RegisteredFault = {
      fault: new ActiveFault(plan, worker, toMonotonic),
      timer: null,
      end: () => {},
    }
    this.#entries.set(plan.id, entry)
    this.#refresh()
    this.#schedule(entry, performance.now())
  }

  /** Takes a fault away, or all of them, and ends what it holds up. */
  remove(id: string | null): void {
    const removed = id === null ? [...this.#entries.keys()] : [id]
    for (const each of removed) {
      const entry = this.#entries.get(each)
      if (entry === undefined) continue
      this.#entries.delete(each)
      if (entry.timer !== null) clearTimeout(entry.timer)
      entry.end()
    }
    this.#refresh()
  }

  close(): void {
    this.remove(null)
    this.held.release()
    this.slowed.release()
  }

  #refresh(): void {
    this.faults = [...this.#entries.values()].map(({ fault }) => fault)
  }

  /** Prepares the window under way or the next one; the windows after it follow one by one. */
  #schedule(entry: RegisteredFault, now: number): void {
    const { plan } = entry.fault
    const window = faultWindowAt(plan, now)
    if (window === null) {
      this.#entries.delete(plan.id)
      this.#refresh()
    } else if (plan.kind === 'hold') {
      const calledOff = this.recorder.stalls.planStall('hold', window.from, window.to)
      entry.end = () => {
        calledOff(performance.now())
        this.held.release(window.to)
      }
      this.#runAt(entry, window.to, () => this.#schedule(entry, performance.now()))
    } else if (plan.kind === 'block') {
      this.#runAt(entry, window.from, () => this.#blockLoop(entry))
    } else if (plan.kind === 'accept-pause') {
      // At once where it is due: when the caller has been told of the fault, the listener is already closed.
      if (now >= window.from) this.#pauseAccepting(entry, window.to)
      else this.#runAt(entry, window.from, () => this.#pauseAccepting(entry, window.to))
    } else if (Number.isFinite(window.to)) {
      this.#runAt(entry, window.to, () => this.#schedule(entry, performance.now()))
    }
  }

  #blockLoop(entry: RegisteredFault): void {
    const { plan } = entry.fault
    const from = performance.now()
    const to = from + (plan.forMs ?? 0)
    while (performance.now() < to);
    const end = performance.now()
    this.recorder.blockedUntil = end
    this.recorder.stalls.recordStall('block', from, end)
    if (plan.everyMs === null) {
      this.remove(plan.id)
      return
    }
    // A window that began while this block ended late is left out: the loop turns in between.
    const window = faultWindowAt(plan, end)
    const missed = window !== null && end >= window.from
    this.#schedule(entry, missed ? window.from + plan.everyMs : end)
  }

  #pauseAccepting(entry: RegisteredFault, until: number): void {
    const { listener, recorder } = this
    if (listener === null) return
    listener.pause()
    const calledOff = recorder.stalls.planStall('accept-pause', performance.now(), until)
    const open = (): void => {
      entry.end = () => {}
      try {
        listener.resume()
      } catch (error) {
        recorder.addMark(null, `worker ${this.#ports.worker} could not listen again after a pause`)
        this.#ports.log('cannot listen again after a pause', error)
      }
    }
    entry.end = () => {
      calledOff(performance.now())
      open()
    }
    this.#runAt(entry, until, () => {
      open()
      this.#schedule(entry, performance.now())
    })
  }

  #runAt(entry: RegisteredFault, time: number, deed: () => void): void {
    const left = time - performance.now()
    entry.timer = setTimeout(
      () => {
        entry.timer = null
        if (performance.now() < time) this.#runAt(entry, time, deed)
        else deed()
      },
      Math.min(Math.max(0, left), LONGEST_TIMER_MS),
    )
    entry.timer.unref()
  }
}
