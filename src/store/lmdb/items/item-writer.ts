import type { LmdbEnvironment } from '../environment.js'
import type { ItemTables } from './item-layout.js'
import { ItemTransaction, PageArena } from './item-transaction.js'

/** A change that waits for its transaction, or for the disk. */
interface QueuedChange<T = unknown> {
  readonly apply: (transaction: ItemTransaction) => T
  readonly resolve: (answer: T) => void
  readonly reject: (error: unknown) => void
  /** What `apply` returned. */
  answer?: T
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
  readonly #arena = new PageArena()
  #waiting: QueuedChange[] = []
  #isCommitting = false

  constructor(env: LmdbEnvironment, tables: ItemTables, unixSeconds: () => number) {
    this.#env = env
    this.#tables = tables
    this.#unixSeconds = unixSeconds
  }

  /** Resolves with what `apply` returned when its transaction is on disk. */
  change<T>(apply: (transaction: ItemTransaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ apply, resolve, reject } as QueuedChange)
      if (this.#isCommitting) return
      this.#isCommitting = true
      // Not at once: everything that arrives in this turn of the loop belongs to the same transaction.
      setImmediate(() => this.#commit())
    })
  }

  /** Resolves when nothing waits and everything is on disk. */
  async idle(): Promise<void> {
    while (this.#isCommitting || this.#env.isWriting) {
      await this.#env.idle()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #commit(): void {
    let batch: QueuedChange[] = []
    const { committed, durable } = this.#env.write(() => {
      // Taken when the transaction is open, not when it was asked for: what came meanwhile goes along.
      const applied = this.#applyWaiting()
      batch = this.#waiting.splice(0, applied)
    })
    durable.then(
      () => {
        for (const change of batch) change.resolve(change.answer)
      },
      (error: unknown) => rejectAll(batch, error),
    )
    committed.then(
      () => this.#commitNext(),
      (error: unknown) => {
        // Without a transaction nothing was taken; the changes that wait are refused instead of tried again.
        if (batch.length === 0) rejectAll(this.#waiting.splice(0), error)
        this.#commitNext()
      },
    )
  }

  /** Applies changes from the front, as many as the bounds allow; how many that were. */
  #applyWaiting(): number {
    const transaction = new ItemTransaction(this.#env, this.#tables, this.#unixSeconds, this.#arena)
    const until = performance.now() + MAX_BATCH_MS
    let applied = 0
    while (applied < Math.min(MAX_BATCH_CHANGES, this.#waiting.length)) {
      const change = this.#waiting[applied++]!
      change.answer = change.apply(transaction)
      if (performance.now() >= until) break
    }
    transaction.store()
    return applied
  }

  #commitNext(): void {
    if (this.#waiting.length > 0) this.#commit()
    else this.#isCommitting = false
  }
}

function rejectAll(changes: readonly QueuedChange[], error: unknown): void {
  for (const change of changes) change.reject(error)
}
