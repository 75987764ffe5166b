/**
 * A machine's replica of the managed records, in LMDB, shared by all its processes.
 *
 *     replica-state   'set'      ->  a byte: which of the two sets of tables is read
 *                     'position' ->  which records they are, JSON
 *                     'loading'  ->  who loads the other set anew, and how far it has come, JSON
 *     0/<name>, 1/<name>         ->  the tables of the sets
 *
 * A transaction applies a delta only on the very version it was made for, so whoever has one may apply it. All records
 * are loaded anew into the set that is not read, in pieces, and then one transaction changes the sets: half a replica is
 * never read, whatever ends the loading.
 *
 * Single reads, of which each call of a client makes two, remember for some milliseconds which set counts: to look it up
 * costs half of what the read costs. So the machine says that it has what was loaded only when nobody remembers the other
 * set any more. All processes of a machine have one monotonic clock.
 */
import { randomUUID } from 'node:crypto'
import { type Clock, sleep } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { LmdbEnvironment } from '../lmdb/environment.js'
import type { LmdbByteTable } from '../lmdb/table.js'
import type { ReplicaPosition } from '../membership.js'
import type { ByteTable, ValuePage } from '../records/record-space.js'
import { decodeRecord, encodeRecord } from '../records/record-table.js'
import { isSamePosition, type RecordDelta, type RecordEntry } from './change-log.js'

export interface ReplicaTable extends ByteTable {
  readonly name: string
  readonly sets: readonly [LmdbByteTable, LmdbByteTable]
}

type SetNumber = 0 | 1

/** Counts up when records that are the same are kept otherwise: replicas of earlier releases are loaded anew then. */
const FORMAT = 1
const SET_KEY = Buffer.from('set')
const POSITION_KEY = Buffer.from('position')
const LOADING_KEY = Buffer.from('loading')
/** Entries that a transaction takes away, so that none holds the event loop for long. */
const CLEARED_AT_ONCE = 2_000
/** A loading that has come no further for so long was left by its process. */
const ABANDONED_MS = 3_000
const LOOK_MS = 100
/** For so long single reads remember which set is read. */
const SET_REMEMBERED_MS = 5
/** From the change of sets until it counts. */
const SET_FORGOTTEN_MS = 2 * SET_REMEMBERED_MS

interface StoredPosition extends ReplicaPosition {
  readonly format: number
  /** Names of all tables: a release that has others has to load them. */
  readonly spaces: readonly string[]
}

/** Hands over all records in pieces; resolves with what they are. */
type LoadAll = (take: (entries: readonly RecordEntry[]) => Promise<void>) => Promise<ReplicaPosition>

interface Loading {
  readonly token: string
  readonly pieces: number
}

const TAKEN_OVER = 'the replica is being loaded by another process'

const otherThan = (set: SetNumber): SetNumber => (set === 0 ? 1 : 0)

export class Replica {
  readonly #env: LmdbEnvironment
  readonly #state: LmdbByteTable
  readonly #tables = new Map<string, ReplicaTable>()
  readonly #clock: Clock
  /** Of the snapshot under way; null where single reads have it to themselves. */
  #set: SetNumber | null = null
  #remembered: SetNumber = 0
  #rememberedUntil = Number.NEGATIVE_INFINITY

  /** @param folder which is created when absent */
  constructor(folder: string, clock: Clock) {
    this.#env = new LmdbEnvironment(folder)
    this.#clock = clock
    this.#state = this.#env.byteTable('replica-state')
  }

  /** Opens a table, the same one each time. Only before anything is read. `put` and `remove` are those of the change that is made of it. */
  table(
    name: string,
    change: (table: ReplicaTable, key: Uint8Array, value: Uint8Array | null) => void,
  ): ReplicaTable {
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    const table: ReplicaTable = {
      name,
      sets: [this.#env.byteTable(`0/${name}`), this.#env.byteTable(`1/${name}`)],
      put: (key, value) => change(table, key, value),
      remove: (key) => change(table, key, null),
    }
    this.#tables.set(name, table)
    return table
  }

  /** Which records it has; null before they were loaded for the first time. */
  position(): ReplicaPosition | null {
    return this.#env.inSnapshot(() => this.#position())
  }

  /** As `position`, in the snapshot under way. */
  positionInSnapshot(): ReplicaPosition | null {
    return this.#position()
  }

  get(table: ReplicaTable, key: Uint8Array): Uint8Array | undefined {
    return this.#env.get(this.#current(table), key)
  }

  getUnbounded(table: ReplicaTable, key: Uint8Array): Buffer | undefined {
    const set = this.#set ?? this.#recentSet()
    const found = this.#env.getUnbounded(table.sets[set], key)
    if (found !== undefined || this.#set !== null) return found
    // A process that stood still may remember a set that was emptied meanwhile.
    const current = this.#storedSet()
    return current === set ? undefined : this.#env.getUnbounded(table.sets[current], key)
  }

  valuesWithPrefix(table: ReplicaTable, prefix: Uint8Array): Buffer[] {
    return this.#env.valuesWithPrefix(this.#current(table), prefix)
  }

  valuesOfPage(table: ReplicaTable, prefix: Uint8Array, page: ValuePage): Buffer[] {
    return this.#env.valuesOfPage(this.#current(table), prefix, page)
  }

  /** Values by key, as Latin-1; the first of them, if not all are asked for. */
  entriesWithPrefix(
    table: ReplicaTable,
    prefix: Uint8Array,
    { limit = Number.POSITIVE_INFINITY, from = prefix }: Partial<ValuePage> = {},
  ): Map<string, Buffer> {
    const entries = new Map<string, Buffer>()
    for (const { key, value } of this.#env.entriesWithPrefix(this.#current(table), prefix, from)) {
      if (entries.size >= limit) break
      entries.set(textOf(key), value)
    }
    return entries
  }

  releaseSnapshot(): void {
    this.#set = null
    this.#env.releaseSnapshot()
  }

  /** What is read together is read of the set that counts. */
  inSnapshot<T>(read: () => T): T {
    try {
      this.#set ??= this.#storedSet()
      return read()
    } finally {
      this.releaseSnapshot()
    }
  }

  /** True when it had the version that the delta was made for; else nothing has changed. */
  apply(from: ReplicaPosition, { to, entries }: RecordDelta): Promise<boolean> {
    return this.#write(() => {
      if (!isSamePosition(this.#position(), from)) return false
      const set = this.#storedSet()
      this.#put(entries, set)
      // Just after the sets have changed, single reads may remember the other one. One that is still being loaded is for
      // a position that is over now, and will be cleared.
      if (this.#loading() !== null) this.#put(entries, otherThan(set))
      this.#setPosition(to)
      return true
    })
  }

  /**
   * Loads everything anew, as long as the replica is at `from`; resolves when it is read. `load` hands over the records in
   * pieces and resolves with their version. When another process is at it, that one is waited for, and `load` is not
   * called. What another process has brought the replica to meanwhile stays: machines may have been told of it.
   */
  async reload(from: ReplicaPosition | null, load: LoadAll): Promise<void> {
    const token = await this.#claimLoading(from)
    if (token === null) return
    try {
      await this.#loadAs(token, from, load)
    } catch (error) {
      if (await this.#write(() => this.#release(token))) throw error
      // It stood still for so long that another process has taken it over, and goes on with it.
    }
  }

  async #loadAs(token: string, from: ReplicaPosition | null, load: LoadAll): Promise<void> {
    let pieces = 0
    /** A step of this loading, into the set that is not read. */
    const step = async <T>(work: (set: SetNumber) => T): Promise<T> => {
      const outcome = await this.#write(() => {
        if (this.#loading()?.token !== token) return null
        this.#state.put(LOADING_KEY, encodeRecord({ token, pieces: ++pieces } satisfies Loading))
        return { result: work(otherThan(this.#storedSet())) }
      })
      if (outcome === null) throw new Fault('unavailable', { retryAfter: 1, detail: TAKEN_OVER })
      return outcome.result
    }
    while (await step((set) => this.#clearSome(set)));
    const loaded = await load((entries) => step((set) => this.#put(entries, set)))
    const unread = await step((set) => {
      if (!isSamePosition(this.#position(), from)) return set
      this.#state.put(SET_KEY, Buffer.from([set]))
      return otherThan(set)
    })
    // Whoever applies a delta to `from` meanwhile puts it into both sets, and what was loaded has it already, or has what
    // came behind it, which is put again by the deltas that follow. Before the first loading nobody reads.
    if (from !== null) await sleep(SET_FORGOTTEN_MS, this.#clock)
    await step((set) => {
      this.#release(token)
      if (set === unread && isSamePosition(this.#position(), from)) this.#setPosition(loaded)
    })
    const isUnread = (): boolean => this.#storedSet() !== unread && this.#loading() === null
    while (await this.#write(() => isUnread() && this.#clearSome(unread)));
  }

  get isWriting(): boolean {
    return this.#env.isWriting
  }

  close(): Promise<void> {
    return this.#env.close()
  }

  #write<T>(change: () => T): Promise<T> {
    // What the disk has after a loss of power is an earlier version, which is brought up to date as any other.
    return this.#env.write(change).committed
  }

  /** The table that is read in the snapshot under way. */
  #current(table: ReplicaTable): LmdbByteTable {
    this.#set ??= this.#storedSet()
    return table.sets[this.#set]
  }

  /** The set that is read, or was some milliseconds ago. The clock is read first. */
  #recentSet(): SetNumber {
    const now = this.#clock.monotonicMs()
    if (now >= this.#rememberedUntil) {
      this.#remembered = this.#storedSet()
      this.#rememberedUntil = now + SET_REMEMBERED_MS
    }
    return this.#remembered
  }

  #storedSet(): SetNumber {
    return this.#env.getUnbounded(this.#state, SET_KEY)?.[0] === 1 ? 1 : 0
  }

  #position(): ReplicaPosition | null {
    const stored = this.#stored<StoredPosition>(POSITION_KEY)
    if (stored?.format !== FORMAT || stored.spaces.join() !== this.#spaces().join()) return null
    return { version: stored.version, change: stored.change }
  }

  #setPosition({ version, change }: ReplicaPosition): void {
    const stored: StoredPosition = { version, change, format: FORMAT, spaces: this.#spaces() }
    this.#state.put(POSITION_KEY, encodeRecord(stored))
  }

  #spaces(): string[] {
    return [...this.#tables.keys()].sort()
  }

  #loading(): Loading | null {
    return this.#stored<Loading>(LOADING_KEY)
  }

  #stored<T extends object>(key: Buffer): T | null {
    const bytes = this.#env.get(this.#state, key)
    return bytes === undefined ? null : decodeRecord<T>(bytes)
  }

  /** Tables of another release are left out. */
  #put(entries: readonly RecordEntry[], set: SetNumber): void {
    for (const { space, key, value } of entries) {
      const table = this.#tables.get(space)?.sets[set]
      if (value === null) table?.remove(key)
      else table?.put(key, value)
    }
  }

  /** False when there was nothing left. */
  #clearSome(set: SetNumber): boolean {
    for (const { sets } of this.#tables.values()) {
      const keys = [...sets[set].getRange({ limit: CLEARED_AT_ONCE })].map(({ key }) => Buffer.from(key))
      for (const key of keys) sets[set].remove(key)
      if (keys.length > 0) return true
    }
    return false
  }

  /** Lets others load; false when this loading is another's. For the inside of a transaction. */
  #release(token: string): boolean {
    if (this.#loading()?.token !== token) return false
    this.#state.remove(LOADING_KEY)
    return true
  }

  /** The token of a loading that is this process's; null when the replica is not at `from` any more. */
  async #claimLoading(from: ReplicaPosition | null): Promise<string | null> {
    for (;;) {
      const seen = await this.#waitWhileLoading()
      if (seen === 'ended') return null
      const token = randomUUID()
      const isClaimed = await this.#write(() => {
        if (!isSamePosition(this.#position(), from)) return null
        if (this.#loading()?.token !== seen?.token) return false
        this.#state.put(LOADING_KEY, encodeRecord({ token, pieces: 0 } satisfies Loading))
        return true
      })
      if (isClaimed === null) return null
      if (isClaimed) return token
    }
  }

  /** Waits for the loading of another process: until it has ended, or comes no further. Null when there is none. */
  async #waitWhileLoading(): Promise<Loading | null | 'ended'> {
    const read = (): Loading | null => this.#env.inSnapshot(() => this.#loading())
    let seen = read()
    let since = this.#clock.monotonicMs()
    while (seen !== null && this.#clock.monotonicMs() - since < ABANDONED_MS) {
      await sleep(LOOK_MS, this.#clock)
      const now = read()
      if (now === null) return 'ended'
      if (now.token !== seen.token || now.pieces !== seen.pieces) since = this.#clock.monotonicMs()
      seen = now
    }
    return seen
  }
}

/** A key as Latin-1, which keeps the order of bytes. */
export function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
}
