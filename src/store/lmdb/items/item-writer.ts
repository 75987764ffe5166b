import { Fault } from '../../../base/fault.js'
import type { StoreLimits } from '../../disk-reserve.js'
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

interface ItemWriter {
  /** Resolves with what `apply` returned when its transaction is on disk; rejects with a fault that it returned. */
  change<T>(apply: (transaction: ItemTransaction) => T | Fault): Promise<T>
  /** Resolves when nothing waits and everything is on disk. */
  idle(): Promise<void>
}

/**
 * Group commit. Changes that arrive while a transaction is being committed wait and go together into the next
 * one, so the cost of a commit is shared, and a single writer waits for no other. A change is acknowledged
 * when the disk has its transaction; the next transaction begins as soon as the last one is committed.
 */
export function createItemWriter(
  env: LmdbEnvironment,
  tables: ItemTables,
  unixSeconds: () => number,
  limits: StoreLimits,
): ItemWriter {
  const arena = new PageArena()
  const waiting: QueuedChange[] = []
  let isCommitting = false

  /** Applies changes from the front, as many as the bounds allow; how many that were. */
  const applyWaiting = (): number => {
    const transaction = new ItemTransaction(env, tables, unixSeconds, arena, limits)
    const until = performance.now() + MAX_BATCH_MS
    let applied = 0
    while (applied < Math.min(MAX_BATCH_CHANGES, waiting.length)) {
      const change = waiting[applied++]!
      change.answer = change.apply(transaction)
      if (performance.now() >= until) break
    }
    transaction.store()
    return applied
  }

  const commit = (): void => {
    let batch: QueuedChange[] = []
    const { committed, durable } = env.write(() => {
      // Taken when the transaction is open, not when it was asked for: what came meanwhile goes along.
      const applied = applyWaiting()
      batch = waiting.splice(0, applied)
    })
    durable.then(
      () => {
        for (const { answer, resolve, reject } of batch) {
          if (answer instanceof Fault) reject(answer)
          else resolve(answer)
        }
      },
      (error: unknown) => rejectAll(batch, error),
    )
    committed.then(commitNext, (error: unknown) => {
      // Without a transaction nothing was taken; the changes that wait are refused instead of tried again.
      if (batch.length === 0) rejectAll(waiting.splice(0), error)
      commitNext()
    })
  }

  const commitNext = (): void => {
    if (waiting.length > 0) commit()
    else isCommitting = false
  }

  return {
    change: <T>(apply: (transaction: ItemTransaction) => T | Fault) =>
      new Promise<T>((resolve, reject) => {
        waiting.push({ apply, resolve, reject } as QueuedChange)
        if (isCommitting) return
        isCommitting = true
        // Not at once: everything that arrives in this turn of the loop belongs to the same transaction.
        setImmediate(commit)
      }),
    idle: async () => {
      while (isCommitting || env.isWriting) {
        await env.idle()
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

function rejectAll(changes: readonly QueuedChange[], error: unknown): void {
  for (const change of changes) change.reject(error)
}
