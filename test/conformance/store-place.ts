import type { Test } from 'tap'
import type { Store } from '../../src/store/store.js'

/** What of a store the suites look at. */
type PlacedStore = Pick<Store, 'items' | 'close'> & { readonly accounts?: Store['accounts'] }

/** A place that keeps what stores opened there have written. */
interface StorePlace {
  /** Opens the store. One at a time. */
  open(unixSeconds: () => number): PlacedStore
  /** Takes everything away, after the last store was closed. */
  remove(): void | Promise<void>
}

/** An implementation of the store's port, for the shared suite. */
export interface StoreKind {
  readonly name: string
  /** The test that the suite's tests belong to, where they need what ends with it. */
  readonly within?: Test
  /** A new, empty place. */
  place(): StorePlace | Promise<StorePlace>
}

/** A store at a place of its own, with a clock that stands until it is moved. */
export class StoreAtPlace {
  readonly #place: StorePlace
  #store: PlacedStore
  /** Unix time in seconds, as the store sees it. */
  now = 1_700_000_000.5

  private constructor(place: StorePlace) {
    this.#place = place
    this.#store = this.#place.open(() => this.now)
  }

  static async open(kind: StoreKind): Promise<StoreAtPlace> {
    return new StoreAtPlace(await kind.place())
  }

  get items(): Store['items'] {
    return this.#store.items
  }

  get accounts(): Store['accounts'] {
    return this.#store.accounts!
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
    await this.#place.remove()
  }
}

/** Declares one test with a store of its own. */
export type Named = (name: string, run: (t: Test, store: StoreAtPlace) => Promise<void>) => void
