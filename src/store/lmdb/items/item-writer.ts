import { encodeItem, readCreatedAt } from '../../item-json.js'
import type { ItemFields } from '../../store.js'
import type { LmdbEnvironment, LmdbTable } from '../environment.js'
import { COUNTER_KEY, DIRECTORY_PAGES, encodeTextRow, JSON_PAGE, TEXT_PAGE } from './item-layout.js'
import type { ItemTables } from './item-reader.js'
import { PageArena } from './page-arena.js'
import {
  type AllocateBytes,
  emptyPage,
  type PageShape,
  pageWithRow,
  rowEnd,
  rowStart,
} from './slotted-page.js'

type ItemChange =
  | {
      readonly kind: 'create'
      readonly fields: ItemFields
      readonly done: PromiseSettlers<{ id: number; json: Uint8Array }>
    }
  | {
      readonly kind: 'replace'
      readonly id: number
      readonly fields: ItemFields
      readonly done: PromiseSettlers<Uint8Array | null>
    }
  | { readonly kind: 'remove'; readonly id: number; readonly done: PromiseSettlers<boolean> }

interface PromiseSettlers<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

/**
 * Most time a transaction spends on applying changes, in milliseconds, and most changes. It holds this loop, and
 * the write lock of all processes; the rest goes into the next one.
 */
const MAX_BATCH_MS = 3
const MAX_BATCH_CHANGES = 512

/**
 * Group commit. Changes that arrive while a transaction is being committed wait and go together into the next
 * one, so the cost of a commit is shared and a single writer pays for nobody else. A change is acknowledged
 * when the disk has its transaction; the next transaction begins as soon as the last one is committed.
 */
export class ItemWriter {
  readonly #env: LmdbEnvironment
  readonly #tables: ItemTables
  readonly #unixSeconds: () => number
  #waiting: ItemChange[] = []
  #writing = false
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #arena = new PageArena()

  constructor(env: LmdbEnvironment, tables: ItemTables, unixSeconds: () => number) {
    this.#env = env
    this.#tables = tables
    this.#unixSeconds = unixSeconds
  }

  create(fields: ItemFields): Promise<{ id: number; json: Uint8Array }> {
    return new Promise((resolve, reject) =>
      this.#enqueue({ kind: 'create', fields, done: { resolve, reject } }),
    )
  }

  replace(id: number, fields: ItemFields): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) =>
      this.#enqueue({ kind: 'replace', id, fields, done: { resolve, reject } }),
    )
  }

  remove(id: number): Promise<boolean> {
    return new Promise((resolve, reject) => this.#enqueue({ kind: 'remove', id, done: { resolve, reject } }))
  }

  /** Resolves when nothing waits and everything is on disk. */
  async idle(): Promise<void> {
    while (this.#writing || this.#underWay.size > 0) {
      await Promise.allSettled(this.#underWay)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #enqueue(change: ItemChange): void {
    this.#waiting.push(change)
    if (this.#writing) return
    this.#writing = true
    // Not at once: everything that arrives in this turn of the loop belongs to the same transaction.
    setImmediate(() => this.#commit())
  }

  #commit(): void {
    let batch: ItemChange[] = []
    const { committed, durable } = this.#env.write(() => {
      // Taken when the transaction is open, not when it was asked for: what came meanwhile goes along.
      const transaction = new ItemTransaction(this.#env, this.#tables, this.#unixSeconds, this.#arena)
      const acknowledge = transaction.apply(this.#waiting)
      batch = this.#waiting.splice(0, acknowledge.length)
      return acknowledge
    })
    const acknowledged = durable.then(
      (acknowledge) => {
        for (const tell of acknowledge) tell()
      },
      (error: unknown) => rejectAll(batch, error),
    )
    this.#underWay.add(acknowledged)
    void acknowledged.finally(() => this.#underWay.delete(acknowledged))
    committed.then(
      () => this.#commitNext(),
      (error: unknown) => {
        // Without a transaction nothing was taken; whoever waits gets the answer instead of another try.
        if (batch.length === 0) rejectAll(this.#waiting.splice(0), error)
        this.#commitNext()
      },
    )
  }

  #commitNext(): void {
    if (this.#waiting.length > 0) this.#commit()
    else this.#writing = false
  }
}

function rejectAll(changes: readonly ItemChange[], error: unknown): void {
  for (const change of changes) change.done.reject(error)
}

/** One transaction: changes are applied to copies of the pages, then every touched page is put once. */
class ItemTransaction {
  readonly #env: LmdbEnvironment
  readonly #tables: ItemTables
  readonly #unixSeconds: () => number
  readonly #pages: PageCache
  readonly #texts: PageCache
  readonly #counts = new Map<number, number>()
  #lastId: number
  #counterMoved = false

  constructor(env: LmdbEnvironment, tables: ItemTables, unixSeconds: () => number, arena: PageArena) {
    this.#env = env
    this.#tables = tables
    this.#unixSeconds = unixSeconds
    // The store copies what it is given during `put`, so the last transaction's pages are done with.
    arena.reset()
    this.#pages = new PageCache(env, tables.pages, JSON_PAGE, arena)
    this.#texts = new PageCache(env, tables.texts, TEXT_PAGE, arena)
    const counter = env.get(tables.counter, COUNTER_KEY)
    this.#lastId = counter === undefined ? 0 : Buffer.from(counter).readDoubleLE(0)
  }

  /**
   * Applies changes from the front, as many as the bounds allow. Returns, for each it applied, what to tell its
   * caller once the transaction is on disk.
   */
  apply(changes: readonly ItemChange[]): (() => void)[] {
    const until = performance.now() + MAX_BATCH_MS
    const acknowledge: (() => void)[] = []
    while (acknowledge.length < Math.min(MAX_BATCH_CHANGES, changes.length)) {
      acknowledge.push(this.#applyChange(changes[acknowledge.length]!))
      if (performance.now() >= until) break
    }
    this.#pages.store()
    this.#texts.store()
    this.#storeCounts()
    if (this.#counterMoved) this.#storeCounter()
    return acknowledge
  }

  #applyChange(change: ItemChange): () => void {
    switch (change.kind) {
      case 'create': {
        const answer = this.#create(change.fields)
        return () => change.done.resolve(answer)
      }
      case 'replace': {
        const answer = this.#replace(change.id, change.fields)
        return () => change.done.resolve(answer)
      }
      case 'remove': {
        const answer = this.#remove(change.id)
        return () => change.done.resolve(answer)
      }
    }
  }

  #create(fields: ItemFields): { id: number; json: Uint8Array } {
    const id = ++this.#lastId
    this.#counterMoved = true
    const json = Buffer.from(encodeItem(id, fields, this.#unixSeconds()))
    this.#put(id, json, encodeTextRow(fields.name, fields.description))
    this.#countRows(id, 1)
    return { id, json }
  }

  #replace(id: number, fields: ItemFields): Uint8Array | null {
    const old = this.#row(id)
    if (old === null) return null
    const json = Buffer.from(encodeItem(id, fields, readCreatedAt(old)))
    this.#put(id, json, encodeTextRow(fields.name, fields.description))
    return json
  }

  #remove(id: number): boolean {
    if (this.#row(id) === null) return false
    this.#put(id, null, null)
    this.#countRows(id, -1)
    return true
  }

  #row(id: number): Uint8Array | null {
    if (!(id >= 1 && id <= this.#lastId)) return null
    return this.#pages.at(id)
  }

  #put(id: number, json: Uint8Array | null, text: Uint8Array | null): void {
    this.#pages.put(id, json)
    this.#texts.put(id, text)
  }

  #countRows(id: number, change: number): void {
    const page = Math.floor((id - 1) / JSON_PAGE.slots)
    this.#counts.set(page, (this.#counts.get(page) ?? 0) + change)
  }

  #storeCounts(): void {
    const parts = new Map<number, Buffer>()
    for (const [page, change] of this.#counts) {
      const key = Math.floor(page / DIRECTORY_PAGES)
      const at = page % DIRECTORY_PAGES
      let part = parts.get(key) ?? Buffer.from(this.#env.get(this.#tables.directory, key) ?? [])
      if (at >= part.length) part = Buffer.concat([part], at + 1)
      part[at] = part[at]! + change
      parts.set(key, part)
    }
    for (const [key, part] of parts) this.#tables.directory.put(key, part)
  }

  #storeCounter(): void {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(this.#lastId)
    this.#tables.counter.put(COUNTER_KEY, bytes)
  }
}

/** The pages one transaction touches, each read once and put once. */
class PageCache {
  readonly #env: LmdbEnvironment
  readonly #table: LmdbTable
  readonly #shape: PageShape
  readonly #arena: PageArena
  readonly #allocate: AllocateBytes
  readonly #pages = new Map<number, Buffer>()
  readonly #touched = new Set<number>()

  constructor(env: LmdbEnvironment, table: LmdbTable, shape: PageShape, arena: PageArena) {
    this.#env = env
    this.#table = table
    this.#shape = shape
    this.#arena = arena
    this.#allocate = (bytes) => arena.allocate(bytes)
  }

  at(id: number): Uint8Array | null {
    const page = this.#page(this.#key(id))
    const slot = this.#slot(id)
    const start = rowStart(this.#shape, page, slot)
    return start < 0 ? null : page.subarray(start, rowEnd(this.#shape, page, slot))
  }

  put(id: number, row: Uint8Array | null): void {
    const key = this.#key(id)
    this.#pages.set(key, pageWithRow(this.#shape, this.#page(key), this.#slot(id), row, this.#allocate))
    this.#touched.add(key)
  }

  store(): void {
    for (const key of this.#touched) this.#table.put(key, this.#pages.get(key)!)
  }

  #key(id: number): number {
    return Math.floor((id - 1) / this.#shape.slots)
  }

  #slot(id: number): number {
    return (id - 1) % this.#shape.slots
  }

  #page(key: number): Buffer {
    let page = this.#pages.get(key)
    if (page === undefined) {
      const stored = this.#env.get(this.#table, key)
      // Stored bytes are borrowed until the next read.
      page = stored === undefined ? emptyPage(this.#shape) : this.#arena.copyOf(stored)
      this.#pages.set(key, page)
    }
    return page
  }
}
