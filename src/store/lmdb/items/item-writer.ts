import { createdAtOf, itemJson } from '../../item-json.js'
import type { ItemFields } from '../../store.js'
import type { Environment, Table } from '../environment.js'
import { Arena } from './arena.js'
import { COUNTER_KEY, DIRECTORY_PAGES, PAGE, TEXT, textRow } from './item-layout.js'
import type { ItemTables } from './item-reader.js'
import { type Allocate, emptyPage, type PageShape, rowEnd, rowStart, withRow } from './slotted-page.js'

type Change =
  | {
      readonly kind: 'create'
      readonly fields: ItemFields
      readonly done: Done<{ id: number; json: Uint8Array }>
    }
  | {
      readonly kind: 'replace'
      readonly id: number
      readonly fields: ItemFields
      readonly done: Done<Uint8Array | null>
    }
  | { readonly kind: 'remove'; readonly id: number; readonly done: Done<boolean> }

interface Done<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

/**
 * Most time a transaction spends on applying changes, in milliseconds, and most changes. It holds this loop, and
 * the write lock of all processes; the rest goes into the next one.
 */
const BATCH_MS = 3
const BATCH = 512

/**
 * Group commit. Changes that arrive while a transaction is being committed wait and go together into the next
 * one, so the cost of a commit is shared and a single writer pays for nobody else. A change is acknowledged
 * when the disk has its transaction; the next transaction begins as soon as the last one is committed.
 */
export class ItemWriter {
  readonly #env: Environment
  readonly #tables: ItemTables
  readonly #unixSeconds: () => number
  #waiting: Change[] = []
  #writing = false
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #arena = new Arena()

  constructor(env: Environment, tables: ItemTables, unixSeconds: () => number) {
    this.#env = env
    this.#tables = tables
    this.#unixSeconds = unixSeconds
  }

  create(fields: ItemFields): Promise<{ id: number; json: Uint8Array }> {
    return new Promise((resolve, reject) => this.#add({ kind: 'create', fields, done: { resolve, reject } }))
  }

  replace(id: number, fields: ItemFields): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) =>
      this.#add({ kind: 'replace', id, fields, done: { resolve, reject } }),
    )
  }

  remove(id: number): Promise<boolean> {
    return new Promise((resolve, reject) => this.#add({ kind: 'remove', id, done: { resolve, reject } }))
  }

  /** Resolves when nothing waits and everything is on disk. */
  async idle(): Promise<void> {
    while (this.#writing || this.#underWay.size > 0) {
      await Promise.allSettled(this.#underWay)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #add(change: Change): void {
    this.#waiting.push(change)
    if (this.#writing) return
    this.#writing = true
    // Not at once: everything that arrives in this turn of the loop belongs to the same transaction.
    setImmediate(() => this.#commit())
  }

  #commit(): void {
    let batch: Change[] = []
    const { committed, durable } = this.#env.write(() => {
      // Taken when the transaction is open, not when it was asked for: what came meanwhile goes along.
      const transaction = new Batch(this.#env, this.#tables, this.#unixSeconds, this.#arena)
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
      () => this.#proceed(),
      (error: unknown) => {
        // Without a transaction nothing was taken; whoever waits gets the answer instead of another try.
        if (batch.length === 0) rejectAll(this.#waiting.splice(0), error)
        this.#proceed()
      },
    )
  }

  #proceed(): void {
    if (this.#waiting.length > 0) this.#commit()
    else this.#writing = false
  }
}

function rejectAll(changes: readonly Change[], error: unknown): void {
  for (const change of changes) change.done.reject(error)
}

/** One transaction: changes are applied to copies of the pages, then every touched page is put once. */
class Batch {
  readonly #env: Environment
  readonly #tables: ItemTables
  readonly #unixSeconds: () => number
  readonly #pages: PageCache
  readonly #texts: PageCache
  readonly #counts = new Map<number, number>()
  #lastId: number
  #counterMoved = false

  constructor(env: Environment, tables: ItemTables, unixSeconds: () => number, arena: Arena) {
    this.#env = env
    this.#tables = tables
    this.#unixSeconds = unixSeconds
    // The store copies what it is given during `put`, so the last transaction's pages are done with.
    arena.reset()
    this.#pages = new PageCache(env, tables.pages, PAGE, arena)
    this.#texts = new PageCache(env, tables.texts, TEXT, arena)
    const counter = env.get(tables.counter, COUNTER_KEY)
    this.#lastId = counter === undefined ? 0 : Buffer.from(counter).readDoubleLE(0)
  }

  /**
   * Applies changes from the front, as many as the bounds allow. Returns, for each it applied, what to tell its
   * caller once the transaction is on disk.
   */
  apply(changes: readonly Change[]): (() => void)[] {
    const until = performance.now() + BATCH_MS
    const acknowledge: (() => void)[] = []
    while (acknowledge.length < Math.min(BATCH, changes.length)) {
      acknowledge.push(this.#one(changes[acknowledge.length]!))
      if (performance.now() >= until) break
    }
    this.#pages.store()
    this.#texts.store()
    this.#storeCounts()
    if (this.#counterMoved) this.#storeCounter()
    return acknowledge
  }

  #one(change: Change): () => void {
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
    const json = Buffer.from(itemJson(id, fields, this.#unixSeconds()))
    this.#put(id, json, textRow(fields.name, fields.description))
    this.#count(id, 1)
    return { id, json }
  }

  #replace(id: number, fields: ItemFields): Uint8Array | null {
    const old = this.#row(id)
    if (old === null) return null
    const json = Buffer.from(itemJson(id, fields, createdAtOf(old)))
    this.#put(id, json, textRow(fields.name, fields.description))
    return json
  }

  #remove(id: number): boolean {
    if (this.#row(id) === null) return false
    this.#put(id, null, null)
    this.#count(id, -1)
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

  #count(id: number, change: number): void {
    const page = Math.floor((id - 1) / PAGE.slots)
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
  readonly #env: Environment
  readonly #table: Table
  readonly #shape: PageShape
  readonly #arena: Arena
  readonly #allocate: Allocate
  readonly #pages = new Map<number, Buffer>()
  readonly #touched = new Set<number>()

  constructor(env: Environment, table: Table, shape: PageShape, arena: Arena) {
    this.#env = env
    this.#table = table
    this.#shape = shape
    this.#arena = arena
    this.#allocate = (bytes) => arena.take(bytes)
  }

  at(id: number): Uint8Array | null {
    const page = this.#page(this.#key(id))
    const slot = this.#slot(id)
    const start = rowStart(this.#shape, page, slot)
    return start < 0 ? null : page.subarray(start, rowEnd(this.#shape, page, slot))
  }

  put(id: number, row: Uint8Array | null): void {
    const key = this.#key(id)
    this.#pages.set(key, withRow(this.#shape, this.#page(key), this.#slot(id), row, this.#allocate))
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
      page = stored === undefined ? emptyPage(this.#shape) : this.#arena.keep(stored)
      this.#pages.set(key, page)
    }
    return page
  }
}
