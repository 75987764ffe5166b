import type { ItemStore, ScanCaller, SearchResult } from '../../store.js'
import type { LmdbEnvironment } from '../environment.js'
import type { LmdbTable } from '../table.js'
import { JsonArrayWriter, TEXT_PAGE } from './item-layout.js'
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
 *
 * @param readRow the JSON of an item that is there, without giving the snapshot back
 */
export function createItemSearch(
  env: LmdbEnvironment,
  texts: LmdbTable,
  readRow: (id: number) => Uint8Array,
): ItemStore['search'] {
  const queue: QueuedScan[] = []
  /** Queued scans are being worked on, a slice a turn. */
  let isRunning = false
  /** Milliseconds that scans have taken in this turn of the loop already. */
  let spentThisTurn = 0

  const scanPage = (scan: ItemScan, page: Uint8Array): void => {
    scan.scanned += countRows(TEXT_PAGE, page)
    for (const slot of matchingSlots(page, scan.needle, scan.limit - scan.matches)) {
      scan.found.add(readRow(scan.page * TEXT_PAGE.slots + slot + 1), 1)
      scan.matches++
    }
  }

  /** Works on a scan for one slice; true when it has seen everything. */
  const runSlice = (scan: ItemScan): boolean => {
    const until = performance.now() + SLICE_MS
    try {
      do {
        for (let i = 0; i < PAGES_PER_LOOK; i++) {
          const page = env.get(texts, scan.page)
          if (page === undefined) return true
          scanPage(scan, page)
          scan.page++
        }
      } while (performance.now() < until)
      return false
    } finally {
      env.releaseSnapshot()
    }
  }

  const runFirstSlice = (scan: ItemScan): boolean => {
    const begun = performance.now()
    const complete = runSlice(scan)
    if (spentThisTurn === 0) {
      setImmediate(() => {
        spentThisTurn = 0
      })
    }
    spentThisTurn += performance.now() - begun
    return complete
  }

  const runQueuedSlice = (): void => {
    const { scan, resolve, reject } = queue[0]!
    try {
      if (scan.caller.aborted || runSlice(scan)) {
        queue.shift()
        resolve(searchResultOf(scan))
      }
    } catch (error) {
      queue.shift()
      reject(error)
    }
    if (queue.length > 0) setImmediate(runQueuedSlice)
    else isRunning = false
  }

  return (needle, limit, caller) => {
    const found = new JsonArrayWriter()
    const scan: ItemScan = { needle, limit, caller, found, matches: 0, scanned: 0, page: 0 }
    if (!isRunning && spentThisTurn < SLICE_MS && runFirstSlice(scan)) return searchResultOf(scan)
    return new Promise((resolve, reject) => {
      queue.push({ scan, resolve, reject })
      if (isRunning) return
      isRunning = true
      setImmediate(runQueuedSlice)
    })
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
