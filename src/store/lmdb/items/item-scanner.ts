import type { ScanCaller, SearchResult } from '../../store.js'
import type { LmdbEnvironment, LmdbTable } from '../environment.js'
import { TEXT_PAGE } from './item-layout.js'
import { JsonArrayWriter } from './json-array-writer.js'
import { countRows, headerBytes, rowEnd, slotAt } from './slotted-page.js'

/** Longest time a scan holds the event loop without a break, in milliseconds. */
const SLICE_MS = 2
/** Pages between two looks at the clock; 64 items each. */
const PAGES_PER_LOOK = 8

interface ItemScan {
  readonly needle: Uint8Array
  readonly limit: number
  readonly caller: ScanCaller
  readonly found: JsonArrayWriter
  matches: number
  scanned: number
  page: number
}

interface QueuedScan {
  readonly scan: ItemScan
  readonly resolve: (result: SearchResult) => void
  readonly reject: (error: unknown) => void
}

/**
 * Full scans in slices. One scan runs at a time, whatever the number of callers, so the loop is held for one
 * slice per turn at most and the first caller is served first. Scans that begin while a turn has spent less than a
 * slice get one at once, and end in that turn if it is enough; so a turn holds the loop for two slices at most.
 * Each slice reads the newest snapshot: every item is visited once, as it is when its page's turn comes.
 */
export class ItemScanner {
  readonly #env: LmdbEnvironment
  readonly #texts: LmdbTable
  readonly #readRow: (id: number) => Uint8Array
  readonly #queue: QueuedScan[] = []
  /** Queued scans are being worked on, a slice a turn. */
  #running = false
  /** Milliseconds that scans have taken in this turn of the loop already. */
  #spentThisTurn = 0

  /** @param readRow the JSON of an item that is there, without giving the snapshot back */
  constructor(env: LmdbEnvironment, texts: LmdbTable, readRow: (id: number) => Uint8Array) {
    this.#env = env
    this.#texts = texts
    this.#readRow = readRow
  }

  search(needle: Uint8Array, limit: number, caller: ScanCaller): SearchResult | Promise<SearchResult> {
    const scan: ItemScan = {
      needle,
      limit,
      caller,
      found: new JsonArrayWriter(),
      matches: 0,
      scanned: 0,
      page: 0,
    }
    if (!this.#running && this.#spentThisTurn < SLICE_MS && this.#runFirstSlice(scan))
      return searchResultOf(scan)
    return new Promise((resolve, reject) => {
      this.#queue.push({ scan, resolve, reject })
      if (this.#running) return
      this.#running = true
      setImmediate(() => this.#runQueuedSlice())
    })
  }

  #runFirstSlice(scan: ItemScan): boolean {
    const begun = performance.now()
    const complete = this.#runSlice(scan)
    if (this.#spentThisTurn === 0) {
      setImmediate(() => {
        this.#spentThisTurn = 0
      })
    }
    this.#spentThisTurn += performance.now() - begun
    return complete
  }

  #runQueuedSlice(): void {
    const head = this.#queue[0]!
    try {
      if (head.scan.caller.aborted || this.#runSlice(head.scan)) {
        this.#queue.shift()
        head.resolve(searchResultOf(head.scan))
      }
    } catch (error) {
      this.#queue.shift()
      head.reject(error)
    }
    if (this.#queue.length > 0) setImmediate(() => this.#runQueuedSlice())
    else this.#running = false
  }

  /** Works on a scan for one slice; true when it has seen everything. */
  #runSlice(scan: ItemScan): boolean {
    const until = performance.now() + SLICE_MS
    try {
      do {
        for (let i = 0; i < PAGES_PER_LOOK; i++) {
          const page = this.#env.get(this.#texts, scan.page)
          if (page === undefined) return true
          this.#scanPage(scan, page)
          scan.page++
        }
      } while (performance.now() < until)
      return false
    } finally {
      this.#env.releaseSnapshot()
    }
  }

  #scanPage(scan: ItemScan, page: Uint8Array): void {
    scan.scanned += countRows(TEXT_PAGE, page)
    for (const slot of matchingSlots(page, scan.needle, scan.limit - scan.matches)) {
      scan.found.add(this.#readRow(scan.page * TEXT_PAGE.slots + slot + 1), 1)
      scan.matches++
    }
  }
}

/**
 * Slots that match, at most `most`, found before any other read overwrites the borrowed page. The search goes
 * on to the end of the page when there are enough: looking at every item is the operation's promise.
 */
function matchingSlots(page: Uint8Array, needle: Uint8Array, most: number): readonly number[] {
  let at = indexOf(page, needle, headerBytes(TEXT_PAGE))
  if (at < 0) return NONE
  const slots: number[] = []
  while (at >= 0) {
    const slot = slotAt(TEXT_PAGE, page, at)
    if (slots.length < most) slots.push(slot)
    at = indexOf(page, needle, rowEnd(TEXT_PAGE, page, slot))
  }
  return slots
}

const NONE: readonly number[] = []

function indexOf(page: Uint8Array, needle: Uint8Array, from: number): number {
  return Buffer.prototype.indexOf.call(page, needle, from)
}

function searchResultOf(scan: ItemScan): SearchResult {
  return { items: scan.found.end(), scanned: scan.scanned }
}
