import type { ItemFields } from '../../store.js'
import type { LmdbEnvironment, LmdbTable } from '../environment.js'
import {
  DIRECTORY_PAGES,
  encodeItem,
  encodeTextRow,
  type ItemTables,
  JSON_PAGE,
  putLastId,
  readCreatedAt,
  readLastId,
  TEXT_PAGE,
} from './item-layout.js'
import { emptyPage, pageWithRow, rowEnd, rowStart, type SlottedPageShape } from './slotted-page.js'

/** One transaction: changes are applied to copies of the pages, then every touched page is put once. */
export class ItemTransaction {
  readonly #env: LmdbEnvironment
  readonly #tables: ItemTables
  readonly #unixSeconds: () => number
  readonly #pages: ReturnType<typeof createPageCache>
  readonly #texts: ReturnType<typeof createPageCache>
  /** By how many rows a page of items has grown. */
  readonly #growth = new Map<number, number>()
  readonly #lastIdBefore: number
  #lastId: number

  constructor(env: LmdbEnvironment, tables: ItemTables, unixSeconds: () => number, arena: PageArena) {
    this.#env = env
    this.#tables = tables
    this.#unixSeconds = unixSeconds
    // The store copies what it is given during `put`, so the last transaction's pages are done with.
    arena.reset()
    this.#pages = createPageCache(env, tables.pages, JSON_PAGE, arena)
    this.#texts = createPageCache(env, tables.texts, TEXT_PAGE, arena)
    this.#lastIdBefore = readLastId(env, tables.counter)
    this.#lastId = this.#lastIdBefore
  }

  create(fields: ItemFields): { id: number; json: Uint8Array } {
    const id = ++this.#lastId
    const json = this.#put(id, fields, this.#unixSeconds())
    this.#grow(id, 1)
    return { id, json }
  }

  replace(id: number, fields: ItemFields): Uint8Array | null {
    const old = this.#json(id)
    return old === null ? null : this.#put(id, fields, readCreatedAt(old))
  }

  remove(id: number): boolean {
    if (this.#json(id) === null) return false
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
  }

  #json(id: number): Uint8Array | null {
    return id >= 1 && id <= this.#lastId ? this.#pages.row(id) : null
  }

  #put(id: number, fields: ItemFields, createdAt: number): Buffer {
    const json = Buffer.from(encodeItem(id, fields, createdAt))
    this.#pages.put(id, json)
    this.#texts.put(id, encodeTextRow(fields))
    return json
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

/** The pages one transaction touches, each read once and put once. */
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
      pages.set(key, pageWithRow(shape, pageAt(key), slotOf(id), row, allocate))
      touched.add(key)
    },
    store: (): void => {
      for (const key of touched) table.put(key, pages.get(key)!)
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
