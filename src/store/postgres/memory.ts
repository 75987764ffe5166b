/**
 * Texts of models in PostgreSQL. A call has all texts of its workspace at hand while it works, since there are few: at
 * most 4 MiB. Changes hold the lock of their workspace, and no other; those of one process that come together share it.
 */
import {
  isTextKey,
  type KeyedTexts,
  LONGEST_TEXT,
  type MemoryStore,
  MOST_TEXT_BYTES,
  MOST_TEXTS,
} from '../memory-store.js'
import type { Database, Query } from './database.js'

/** What can be the id of a workspace; of everything else there are no texts. */
const WORKSPACE_ID = /^[\w-]{1,100}$/

/** Before the row of texts, as a deletion locks them. */
const KEEP = 'SELECT sluice.keep_workspace($1) AS kept'
/** The row is there and locked behind it, whether it was there before or not. */
const LOCK = `
  INSERT INTO sluice.memories (workspace) VALUES ($1)
  ON CONFLICT (workspace) DO UPDATE SET workspace = EXCLUDED.workspace`
const TEXTS = 'SELECT key, text FROM sluice.memory_texts WHERE workspace = $1'
const PUT = `
  INSERT INTO sluice.memory_texts (workspace, key, text)
  SELECT $1, key, text FROM unnest($2::text[], $3::bytea[]) AS put (key, text)
  ON CONFLICT (workspace, key) DO UPDATE SET text = EXCLUDED.text`
const REMOVE = 'DELETE FROM sluice.memory_texts WHERE workspace = $1 AND key = ANY($2::text[])'

/** Of one transaction. As many wait as calls are under way. */
const MOST_TOGETHER = 64

interface QueuedChange {
  readonly work: (texts: KeyedTexts) => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

interface TextRow {
  readonly key: string
  readonly text: Buffer
}

export function createPostgresMemoryStore(database: Database): MemoryStore {
  /** By workspace; one that is there is being worked on. */
  const waiting = new Map<string, QueuedChange[]>()

  const changeTogether = async (workspaceId: string, changes: readonly QueuedChange[]): Promise<void> => {
    try {
      const results = await database.transaction(async (query) => {
        const [row] = await query<{ kept: boolean }>(KEEP, [workspaceId])
        if (row!.kept) await query(LOCK, [workspaceId])
        const texts = new WorkspaceTexts(row!.kept ? await query<TextRow>(TEXTS, [workspaceId]) : null)
        const results = changes.map(({ work }) => work(texts))
        await storeChanges(query, workspaceId, texts.changes)
        return results
      })
      for (const [at, { resolve }] of changes.entries()) resolve(results[at])
    } catch (error) {
      for (const { reject } of changes) reject(error)
    }
  }

  const runWaiting = async (workspaceId: string, queue: QueuedChange[]): Promise<void> => {
    while (queue.length > 0) await changeTogether(workspaceId, queue.splice(0, MOST_TOGETHER))
    waiting.delete(workspaceId)
  }

  return {
    read: async (workspaceId, work) => {
      if (!WORKSPACE_ID.test(workspaceId)) return work(new WorkspaceTexts(null))
      return work(new WorkspaceTexts(await database.query<TextRow>(TEXTS, [workspaceId])))
    },
    change: async <T>(workspaceId: string, work: (texts: KeyedTexts) => T): Promise<T> => {
      if (!WORKSPACE_ID.test(workspaceId)) return work(new WorkspaceTexts(null))
      return new Promise<T>((resolve, reject) => {
        const change = { work, resolve, reject } as QueuedChange
        const queue = waiting.get(workspaceId)
        if (queue !== undefined) queue.push(change)
        else {
          const begun = [change]
          waiting.set(workspaceId, begun)
          void runWaiting(workspaceId, begun)
        }
      })
    },
  }
}

async function storeChanges(
  query: Query,
  workspaceId: string,
  changes: ReadonlyMap<string, Buffer | null>,
): Promise<void> {
  const removed = [...changes].flatMap(([key, text]) => (text === null ? [key] : []))
  if (removed.length > 0) await query(REMOVE, [workspaceId, removed])
  const put = [...changes].flatMap(([key, text]) => (text === null ? [] : [{ key, text }]))
  if (put.length === 0) return
  await query(PUT, [workspaceId, put.map(({ key }) => key), put.map(({ text }) => text)])
}

/** The texts of one workspace as they were read, and what has become of them. */
class WorkspaceTexts implements KeyedTexts {
  readonly #texts: Map<string, Buffer>
  readonly #hasRoom: boolean
  #bytes: number
  /** What to store; null: to remove. */
  readonly changes = new Map<string, Buffer | null>()

  /** Null for what is no workspace: it has no texts, and room for none. */
  constructor(rows: readonly TextRow[] | null) {
    this.#texts = new Map((rows ?? []).map(({ key, text }) => [key, text]))
    this.#hasRoom = rows !== null
    this.#bytes = (rows ?? []).reduce((bytes, { text }) => bytes + text.length, 0)
  }

  get(key: string): string | null {
    return this.#texts.get(key)?.toString() ?? null
  }

  list(): readonly { readonly key: string; readonly bytes: number }[] {
    const texts = [...this.#texts].map(([key, text]) => ({ key, bytes: text.length }))
    return texts.sort((one, other) => (one.key < other.key ? -1 : 1))
  }

  put(key: string, text: string): boolean {
    const bytes = Buffer.from(text)
    const before = this.#texts.get(key)
    if (!isTextKey(key) || bytes.length > LONGEST_TEXT || !this.#hasRoom) return false
    const growth = bytes.length - (before?.length ?? 0)
    if (before === undefined && this.#texts.size >= MOST_TEXTS) return false
    if (growth > 0 && this.#bytes + growth > MOST_TEXT_BYTES) return false
    this.#bytes += growth
    this.#set(key, bytes)
    return true
  }

  remove(key: string): void {
    const before = this.#texts.get(key)
    if (before === undefined) return
    this.#bytes -= before.length
    this.#set(key, null)
  }

  move(key: string, target: string): void {
    const text = this.#texts.get(key)
    if (text === undefined || !isTextKey(target)) return
    this.#set(key, null)
    this.#set(target, text)
  }

  #set(key: string, text: Buffer | null): void {
    if (text === null) this.#texts.delete(key)
    else this.#texts.set(key, text)
    this.changes.set(key, text)
  }
}
