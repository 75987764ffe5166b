/**
 * What workers learn of endpoints and sessions, told to other machines: as hints that may be lost, gathered so that the
 * database has little to do. A breaker is told to have opened, and until when; every machine finds out for itself
 * whether the provider is back, or a machine with a bad way to it would close it for all.
 */
import type { Clock } from '../base/clock.js'
import type { RoutingUpdate } from '../gateway/routing/routing-update.js'

interface RoutingHintsOptions {
  readonly machine: string
  readonly clock: Clock
  /** Sends a text to all machines, this one included; never rejects. */
  readonly send: (text: string) => void
  /** Another machine has learnt this. */
  readonly onUpdate: (update: RoutingUpdate) => void
}

const GATHER_MS = 200
/** PostgreSQL takes 8,000 bytes for a notice. */
const MOST_BYTES = 7_000

export class RoutingHints {
  readonly #options: RoutingHintsOptions
  #gathered: string[] = []
  #bytes = 0
  #isDue = false

  constructor(options: RoutingHintsOptions) {
    this.#options = options
  }

  /** Tells it soon, or not at all when there is too much to tell. */
  tell(update: RoutingUpdate): void {
    if (!isForOthers(update)) return
    const text = JSON.stringify(update)
    const bytes = Buffer.byteLength(text) + 1
    if (this.#bytes + bytes > MOST_BYTES) return
    this.#gathered.push(text)
    this.#bytes += bytes
    if (this.#isDue) return
    this.#isDue = true
    this.#options.clock.runAfter(GATHER_MS, () => this.#send())
  }

  /** What a machine has told. What a release that is not ours tells otherwise is passed over. */
  receive(text: string): void {
    const { machine, onUpdate } = this.#options
    try {
      const [from, updates] = JSON.parse(text) as [string, RoutingUpdate[]]
      if (from === machine) return
      for (const update of updates) if (isForOthers(update) && isComplete(update)) onUpdate(update)
    } catch {
      // A hint, and no more.
    }
  }

  #send(): void {
    const text = `[${JSON.stringify(this.#options.machine)},[${this.#gathered.join()}]]`
    this.#gathered = []
    this.#bytes = 0
    this.#isDue = false
    this.#options.send(text)
  }
}

function isForOthers(update: RoutingUpdate): boolean {
  if (update.about !== 'health') return update.about === 'session' || update.about === 'pin'
  return update.health.type === 'opened' || update.health.type === 'cooling'
}

function isComplete(update: RoutingUpdate): boolean {
  switch (update.about) {
    case 'session':
      return typeof update.session.session === 'string' && Number.isFinite(update.session.moves)
    case 'pin':
      return typeof update.pin.session === 'string' && typeof update.pin.model === 'string'
    case 'health': {
      const { health } = update
      return 'pauseMs' in health && Number.isFinite(health.pauseMs) && typeof health.key === 'string'
    }
  }
}
