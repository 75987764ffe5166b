import { Fault } from '../../../base/fault.js'
import { noRoomFault, type StoreLimits } from '../../disk-reserve.js'
import { encodeItem, encodeTextRow } from '../../item-bytes.js'
import type { ItemFields } from '../../store.js'
import type { LmdbEnvironment } from '../environment.js'
import type { LmdbTable } from '../table.js'
import {
  DIRECTORY_PAGES,
  type ItemTables,
  JSON_PAGE,
  putLastId,
  putPeakBytes,
  putTotalBytes,
  readCreatedAt,
  readLastId,
  readPeakBytes,
  readTotalBytes,
  TEXT_PAGE,
} from './item-layout.js'
import {
  emptyPage,
  isBehindRows,
  pageBytes,
  pageWithRow,
  pageWithRowBehind,
  rowEnd,
  rowStart,
  type SlottedPageShape,
} from './slotted-page.js'

/** An item stands twice, in pages that are not full. */
const DISK_BYTES_PER_BYTE = 4
/** How long the items of a store of an earlier version are counted, milliseconds. */
const MAX_COUNT_MS = 2_000
/** A prime: with steps of it, every page of a store is met once, in no order of time. */
const COUNT_STRIDE = 7_919
const NO_ROOM = 'items have all the room they may have'

/** One transaction: changes are applied to copies of the pages, then every touched page is put once. */
export class ItemTransaction {
  readonly #env: LmdbEnvironment
  readonly #tables: ItemTables
  readonly #unixSeconds: () => number
  readonly #pages: ReturnType<typeof createPageCache>
  readonly #texts: ReturnType<typeof createPageCache>
  /** By how many rows a page of items has grown. */
  readonly #growth = new Map<number, number>()
  readonly #limits: StoreLimits
  readonly #lastIdBefore: number
  #lastId: number
  /** Null in a store of an earlier version. */
  readonly #bytesBefore: number | null
  /** Of all items as JSON. */
  #bytes: number
  /** The most there ever were: the file keeps the place of what was deleted. */
  readonly #peakBefore: number

  constructor(
    env: LmdbEnvironment,
    tables: ItemTables,
    unixSeconds: () => number,
    arena: PageArena,
    limits: StoreLimits,
  ) {
    this.#env = env
    this.#limits = limits
    this.#tables = tables
    this.#unixSeconds = unixSeconds
    // The store copies what it is given during `put`, so the last transaction's pages are done with.
    arena.reset()
    this.#pages = createPageCache(env, tables.pages, JSON_PAGE, arena)
    this.#texts = createPageCache(env, tables.texts, TEXT_PAGE, arena)
    this.#lastIdBefore = readLastId(env, tables.counter)
    this.#lastId = this.#lastIdBefore
    this.#bytesBefore = readTotalBytes(env, tables.counter)
    this.#bytes = this.#bytesBefore ?? this.#countBytes()
    this.#peakBefore = readPeakBytes(env, tables.counter)
  }

  /** A fault when there is no room for it. */
  create(fields: ItemFields): { id: number; json: Uint8Array } | Fault {
    const id = this.#lastId + 1
    const json = Buffer.from(encodeItem(id, fields, this.#unixSeconds()))
    if (!this.#takeRoom(json.length)) return noRoomFault(NO_ROOM)
    this.#lastId = id
    this.#put(id, fields, json)
    this.#grow(id, 1)
    return { id, json }
  }

  /** How many of them there was room for; 0 unless `after` is the last id. A fault when there is room for none. */
  createNext(after: number, items: readonly ItemFields[]): number | Fault {
    if (this.#lastId !== after) return 0
    for (const [at, fields] of items.entries()) {
      const created = this.create(fields)
      if (created instanceof Fault) return at === 0 ? created : at
    }
    return items.length
  }

  /** Puts an item of another store as it is, under its id, which is beyond all that were given here. */
  restore(id: number, json: Buffer): void {
    this.#bytes += json.length
    this.#lastId = id
    this.#put(id, JSON.parse(json.toString()) as ItemFields, json)
    this.#grow(id, 1)
  }

  /** No id up to this one is given any more. */
  restoreLastId(id: number): void {
    this.#lastId = Math.max(this.#lastId, id)
  }

  /** Null when there is no such item, a fault when there is no room for what it has grown by. */
  replace(id: number, fields: ItemFields): Uint8Array | null | Fault {
    const old = this.#json(id)
    if (old === null) return null
    const json = Buffer.from(encodeItem(id, fields, readCreatedAt(old)))
    if (!this.#takeRoom(json.length - old.length)) return noRoomFault(NO_ROOM)
    this.#put(id, fields, json)
    return json
  }

  remove(id: number): boolean {
    const old = this.#json(id)
    if (old === null) return false
    this.#bytes = Math.max(0, this.#bytes - old.length)
    this.#pages.put(id, null)
    this.#texts.put(id, null)
    this.#grow(id, -1)
    return true
  }

  /** Puts what has changed; once, at the end. */
  store(): void {
    this.#pages.store()
    this.#texts.store()
    this.#storeGrowth()
    if (this.#lastId !== this.#lastIdBefore) putLastId(this.#tables.counter, this.#lastId)
    if (this.#bytes !== this.#bytesBefore) putTotalBytes(this.#tables.counter, this.#bytes)
    if (this.#bytes > this.#peakBefore) putPeakBytes(this.#tables.counter, this.#bytes)
  }

  #json(id: number): Uint8Array | null {
    return id >= 1 && id <= this.#lastId ? this.#pages.row(id) : null
  }

  #put(id: number, fields: ItemFields, json: Buffer): void {
    this.#pages.put(id, json)
    this.#texts.put(id, encodeTextRow(fields))
  }

  /** What makes items smaller is always taken. */
  #takeRoom(growth: number): boolean {
    const bytes = this.#bytes + growth
    const { itemBytes, takeRoom } = this.#limits
    const isReuse = bytes <= this.#peakBefore
    if (growth > 0 && (bytes > itemBytes || !takeRoom(growth * DISK_BYTES_PER_BYTE, isReuse))) return false
    this.#bytes = Math.max(0, bytes)
    return true
  }

  /**
   * Once in a store of an earlier version. All workers wait for it, so when there is too much to count, what was seen by
   * then stands for the rest: pages are taken from everywhere.
   */
  #countBytes(): number {
    let bytes = 0
    const pages = Math.ceil(this.#lastId / JSON_PAGE.slots)
    const stride = pages % COUNT_STRIDE === 0 ? 1 : COUNT_STRIDE
    const until = performance.now() + MAX_COUNT_MS
    for (let seen = 0; seen < pages; seen++) {
      if (seen > 0 && performance.now() >= until) return Math.round((bytes / seen) * pages)
      const page = this.#env.getUnbounded(this.#tables.pages, (seen * stride) % pages)
      if (page === undefined) continue
      for (let slot = 0; slot < JSON_PAGE.slots; slot++) {
        const start = rowStart(JSON_PAGE, page, slot)
        if (start >= 0) bytes += rowEnd(JSON_PAGE, page, slot) - start
      }
    }
    return bytes
  }

  #grow(id: number, by: number): void {
    const page = Math.floor((id - 1) / JSON_PAGE.slots)
    this.#growth.set(page, (this.#growth.get(page) ?? 0) + by)
  }

  #storeGrowth(): void {
    const parts = new Map<number, Buffer>()
    for (const [page, change] of this.#growth) {
      const key = Math.floor(page / DIRECTORY_PAGES)
      const at = page % DIRECTORY_PAGES
      let part = parts.get(key) ?? Buffer.from(this.#env.get(this.#tables.directory, key) ?? [])
      if (at >= part.length) part = Buffer.concat([part], at + 1)
      part[at] = part[at]! + change
      parts.set(key, part)
    }
    for (const [key, part] of parts) this.#tables.directory.put(key, part)
  }
}

/** The pages one transaction touches, each read once and put once. The memory of a page may be larger than the page. */
function createPageCache(env: LmdbEnvironment, table: LmdbTable, shape: SlottedPageShape, arena: PageArena) {
  const pages = new Map<number, Buffer>()
  const touched = new Set<number>()
  const allocate = (bytes: number): Buffer => arena.allocate(bytes)
  const keyOf = (id: number): number => Math.floor((id - 1) / shape.slots)
  const slotOf = (id: number): number => (id - 1) % shape.slots

  const pageAt = (key: number): Buffer => {
    let page = pages.get(key)
    if (page === undefined) {
      const stored = env.get(table, key)
      // Stored bytes are borrowed until the next read.
      page = stored === undefined ? emptyPage(shape) : arena.copyOf(stored)
      pages.set(key, page)
    }
    return page
  }

  return {
    row: (id: number): Uint8Array | null => {
      const page = pageAt(keyOf(id))
      const start = rowStart(shape, page, slotOf(id))
      return start < 0 ? null : page.subarray(start, rowEnd(shape, page, slotOf(id)))
    },
    put: (id: number, row: Uint8Array | null): void => {
      const key = keyOf(id)
      const page = pageAt(key)
      const slot = slotOf(id)
      const isNewest = row !== null && isBehindRows(shape, page, slot)
      const changed = isNewest
        ? pageWithRowBehind(shape, page, slot, row, allocate)
        : pageWithRow(shape, page, slot, row, allocate)
      if (changed !== page) pages.set(key, changed)
      touched.add(key)
    },
    store: (): void => {
      for (const key of touched) {
        const page = pages.get(key)!
        table.put(key, page.subarray(0, pageBytes(shape, page)))
      }
    },
  }
}

/** Most bytes kept; a transaction that needs more gets the rest from the heap. */
const ARENA_BYTES = 4 * 1024 * 1024

/**
 * Memory for the pages of one transaction, used again for the next. Pages are larger than what Node pools, so
 * each would be an allocation of its own, a finalizer, and an address lmdb has to ask for; together they showed as
 * a third of a write's cost.
 */
export class PageArena {
  readonly #block = Buffer.allocUnsafeSlow(ARENA_BYTES)
  #used = 0

  /** Gives everything back. Nothing that was allocated may be looked at any more. */
  reset(): void {
    this.#used = 0
  }

  /** Uninitialised bytes. */
  allocate(bytes: number): Buffer {
    const start = this.#used
    if (start + bytes > ARENA_BYTES) return Buffer.allocUnsafe(bytes)
    this.#used = start + bytes
    return this.#block.subarray(start, this.#used)
  }

  copyOf(bytes: Uint8Array): Buffer {
    const copy = this.allocate(bytes.byteLength)
    copy.set(bytes)
    return copy
  }
}
