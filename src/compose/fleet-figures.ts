/** What a machine of a fleet tells in its metrics. */
import type { Clock } from '../base/clock.js'
import { Histogram } from '../base/histogram.js'
import type { FleetMachine, FleetOverview, FleetView } from '../store/fleet-view.js'
import type { Database } from '../store/postgres/database.js'
import type { FleetFigures, MachineFigures } from '../telemetry/counters/fleet-figures.js'

/** How often the store is asked for all machines at most: one statement, however many scrape. */
const OVERVIEW_MS = 1_000

interface FleetFigurePorts {
  readonly machine: string
  readonly database: Pick<Database, 'isAway' | 'statementsByKind'>
  readonly view: FleetView
  readonly clock: Clock
}

export class FleetFigureBook {
  readonly #ports: FleetFigurePorts
  readonly #barrierMs = new Histogram()
  #barrierWaiting = 0
  /** What the store was asked last, and when. */
  #asked: { readonly at: number; readonly answer: Promise<FleetOverview | null> } | null = null

  constructor(ports: FleetFigurePorts) {
    this.#ports = ports
  }

  /** Counts a change that waits for all machines. */
  async timeBarrier<T>(pass: () => Promise<T>): Promise<T> {
    const { clock } = this.#ports
    const begun = clock.monotonicMs()
    this.#barrierWaiting++
    try {
      return await pass()
    } finally {
      this.#barrierWaiting--
      this.#barrierMs.record(clock.monotonicMs() - begun)
    }
  }

  /** Never rejects: without the store it has what the machine knows of itself. */
  async read(): Promise<FleetFigures> {
    const { machine, database } = this.#ports
    const overview = database.isAway ? null : await this.#readOverview()
    return {
      machine,
      isStoreAway: database.isAway,
      statements: database.statementsByKind(),
      barrierMs: this.#barrierMs.snapshot(),
      barrierWaiting: this.#barrierWaiting,
      machines: overview === null ? [] : overview.machines.map((each) => figuresOf(each, overview.version)),
    }
  }

  #readOverview(): Promise<FleetOverview | null> {
    const { view, clock } = this.#ports
    const at = clock.monotonicMs()
    if (this.#asked === null || at - this.#asked.at >= OVERVIEW_MS) {
      this.#asked = { at, answer: Promise.resolve(view.read()).catch(() => null) }
    }
    return this.#asked.answer
  }
}

function figuresOf(machine: FleetMachine, version: number): MachineFigures {
  const { name, state, applied, leased, frozen, journalBytes, beatAgeMs, clockDifferenceMs } = machine
  return {
    ...{ name, state, journalBytes, leasedNanos: leased, frozenNanos: frozen },
    beatAgeS: (beatAgeMs ?? 0) / 1000,
    versionLag: Math.max(0, version - applied),
    clockDifferenceS: (clockDifferenceMs ?? 0) / 1000,
  }
}
