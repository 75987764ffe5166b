import type { Test } from 'tap'
import type { Store } from '../../src/store/store.js'

/** A place that keeps what stores opened there have written. */
interface StorePlace {
  /** Opens the store. One at a time. */
  open(unixSeconds: () => number): Omit<Store, 'federation' | 'files' | 'memory' | 'scim'>
  /** Takes everything away, after the last store was closed. */
  remove(): void
}

/** An implementation of the store's port, for the shared suite. */
export interface StoreKind {
  readonly name: string
  /** A new, empty place. */
  place(): StorePlace
}

/** A store at a place of its own, with a clock that stands until it is moved. */
export class StoreAtPlace {
  readonly #place: StorePlace
  #store: Omit<Store, 'federation' | 'files' | 'memory' | 'scim'>
  /** Unix time in seconds, as the store sees it. */
  now = 1_700_000_000.5

  constructor(kind: StoreKind) {
    this.#place = kind.place()
    this.#store = this.#place.open(() => this.now)
  }

  get items(): Store['items'] {
    return this.#store.items
  }

  get accounts(): Store['accounts'] {
    return this.#store.accounts
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  async reopen(): Promise<void> {
    await this.#store.close()
    this.#store = this.#place.open(() => this.now)
  }

  async end(): Promise<void> {
    await this.#store.close()
    this.#place.remove()
  }
}

/** Declares one test with a store of its own. */
export type Named = (name: string, run: (t: Test, store: StoreAtPlace) => Promise<void>) => void
