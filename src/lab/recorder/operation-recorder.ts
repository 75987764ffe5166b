import type { Rare } from '../wire.js'
import { Flow, FlowRecord } from './flow.js'
import { OperationWindow } from './operation-window.js'
import type { Pulse } from './pulse.js'
import { OperationSeries } from './series-ring.js'

/**
 * Records one operation. Costs two readings of typed arrays more than counting: no allocation per call, no clock of
 * its own. A call belongs to the window in which it arrived, for all its counters, also when it ends much later.
 */
export class OperationRecorder {
  readonly name: string
  readonly #recorder: Pulse
  readonly #flow: Flow
  /** Null in a window in which it has had nothing to do. */
  #window: OperationWindow | null = null
  #series: OperationSeries | null = null

  constructor(name: string, recorder: Pulse, now: number) {
    this.name = name
    this.#recorder = recorder
    this.#flow = new Flow(now, new FlowRecord())
  }

  /** @param at `performance.now()` when the call was parsed */
  arrived(at: number): void {
    const recorder = this.#recorder
    if (at >= recorder.edge) recorder.turn(at)
    recorder.total.arrived(at)
    recorder.ring.add(at)
    const window = this.#window ?? this.#enter()
    const flow = this.#flow
    flow.arrived(at)
    window.arrivals++
    window.inFlight++
    const series = (this.#series ??= new OperationSeries())
    const slot = recorder.slot
    series.arrivals[slot]!++
    if (flow.inFlight > series.inFlightMax[slot]!) series.inFlightMax[slot] = flow.inFlight
    const all = recorder.total.inFlight
    if (all > recorder.inFlightMax[slot]!) recorder.inFlightMax[slot] = all
  }

  settled(
    serviceMs: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
    arrivedAt: number,
  ): void {
    const recorder = this.#recorder
    const now = arrivedAt + serviceMs
    if (now >= recorder.edge) recorder.turn(now)
    recorder.total.left(now)
    this.#flow.left(now)
    const window = this.#windowOf(arrivedAt)
    const series = this.#series!
    const slot = recorder.slot
    if (window !== null) {
      window.inFlight--
      window.bytesIn += bytesIn
      window.bytesOut += bytesOut
      if (aborted) window.aborted++
      else series.served(window.answered(serviceMs, status))
    }
    if (aborted || status >= 400) series.errors[slot]!++
    if (!aborted) series.completions[slot]!++
  }

  /** A measure in milliseconds of a call that arrived then. */
  measured(arrivedAt: number, what: Rare, ms: number): void {
    this.#windowOf(arrivedAt)?.measured(what, ms)
  }

  counted(arrivedAt: number, what: Rare, n: number): void {
    this.#windowOf(arrivedAt)?.counted(what, n)
  }

  faulted(arrivedAt: number, kind: string): void {
    this.#windowOf(arrivedAt)?.faulted(kind)
  }

  get series(): OperationSeries | null {
    return this.#series
  }

  /** The window under way ended at `edge`. */
  turnWindow(edge: number, fresh: boolean): void {
    this.#flow.settle(edge)
    if (fresh) this.#flow.restart()
    this.#window = null
    if (this.#flow.inFlight > 0) this.#enter()
  }

  turnStep(slot: number, next: number): void {
    this.#series?.turn(slot, next, this.#flow.inFlight)
  }

  settle(now: number): void {
    this.#flow.settle(now)
  }

  #enter(): OperationWindow {
    const window = new OperationWindow()
    this.#flow.enter(window.flow)
    this.#recorder.window.operations.set(this.name, window)
    this.#window = window
    return window
  }

  /** Null when that window has been forgotten. */
  #windowOf(arrivedAt: number): OperationWindow | null {
    const { window } = this.#recorder
    if (arrivedAt >= window.from) return this.#window
    return window.at(arrivedAt)?.operations.get(this.name) ?? null
  }
}
