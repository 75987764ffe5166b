/**
 * The way to PostgreSQL: a pool of connections, deadlines for everything, and a breaker. pg is imported in this folder
 * only.
 *
 * All statements are unnamed and nothing of a session outlives its transaction, so that a pooler in transaction mode
 * may stand between. Deadlines are ours: a database that accepts and never answers (frozen, or cut off without a word)
 * looks to a socket like one that thinks.
 */
import { DatabaseError, Pool, type PoolClient, type QueryResult, types } from 'pg'
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import {
  failureOf,
  isLate,
  isOwn,
  isSlowToConnect,
  isUnreachable,
  refusesSettings,
  spoilsConnection,
  storeAway,
} from './postgres-faults.js'
import { type StatementKind, statementKind } from './statement-kinds.js'

type Row = object

/** One statement; resolves with its rows. */
export type Query = <R extends Row>(sql: string, values?: readonly unknown[]) => Promise<readonly R[]>

interface QueryOptions {
  /** Most time until the answer, in milliseconds. */
  readonly deadlineMs?: number
}

interface TransactionOptions extends QueryOptions {
  readonly isolation?: 'repeatable read'
}

export interface Database {
  /**
   * One statement, a transaction of its own. Rejects with `unavailable` when the database is away, does not take it now,
   * or is late; with the error of PostgreSQL for all else, a broken constraint, say.
   */
  query<R extends Row>(
    sql: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<readonly R[]>
  /**
   * Runs `work` in one transaction on one connection, and again, some times, when another was in its way: it must
   * change nothing but the database. The deadline holds for each statement. Rolls back when `work` rejects. Rejects as
   * `query` does. As there, `unavailable` may be said of what has happened, when the answer was lost.
   */
  transaction<T>(work: (query: Query) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Nothing reached it the last time; calls fail at once until a probe has. */
  readonly isAway: boolean
  /** Whether a pooler stands in front, so that no session lasts: nothing can be listened to. Known once connected. */
  readonly isPooled: boolean
  /** Statements that were sent so far. */
  statements(): number
  /** The same by what they are for; kinds without any are absent. */
  statementsByKind(): Readonly<Partial<Record<StatementKind, number>>>
  /** Waits for statements under way, then closes all connections. */
  close(): Promise<void>
}

interface DatabaseOptions {
  /** `postgres://user:password@host:port/name`; a credential. */
  readonly url: string
  /** Connections at a time, each made when it is needed. */
  readonly connections: number
  readonly clock: Clock
  /** What the connections are called in `pg_stat_activity`. */
  readonly name: string
  /** The database has become unreachable, or reachable again. */
  readonly onChange?: (isAway: boolean, cause: unknown) => void
}

const DEADLINE_MS = 2_000
/** Of a deadline: then the database ends a statement, so that a slow one is told from a mute database. */
const OF_DEADLINE = 7 / 8
const CONNECT_MS = 2_000
/** A connection that has done nothing for so long is closed. */
const IDLE_MS = 30_000
/** Waiting for a connection: beyond it calls are refused at once. */
const MOST_WAITING = 1_000
/** Between two probes of a database that is away; spread, so that machines do not come back in one moment. */
const PROBE_MIN_MS = 100
const PROBE_SPREAD_MS = 400
const PROBE_DEADLINE_MS = 1_000
const MOST_TRIES = 8
/** Wait before a repeated transaction, times the number of tries, times a random factor. */
const RETRY_MS = 5

const INT8 = 20
const NUMERIC = 1700

/** Whole numbers of ours fit a double; what does not is a defect that must not round in silence. */
function parseInteger(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new RangeError(`${text} is too large`)
  return value
}

const getTypeParser = ((oid: number, format?: 'text' | 'binary') =>
  oid === INT8 || oid === NUMERIC
    ? parseInteger
    : types.getTypeParser(oid, format)) as typeof types.getTypeParser

export function openDatabase(options: DatabaseOptions): Database {
  return new PooledDatabase(options)
}

class PooledDatabase implements Database {
  readonly #options: DatabaseOptions
  #pool: Pool
  #statements = 0
  /** Errors of statements included. */
  #answers = 0
  readonly #byKind: Partial<Record<StatementKind, number>> = {}
  #closed = false
  isAway = false
  isPooled = false

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.#pool = this.#makePool()
  }

  statements(): number {
    return this.#statements
  }

  statementsByKind(): Readonly<Partial<Record<StatementKind, number>>> {
    return { ...this.#byKind }
  }

  async query<R extends Row>(
    sql: string,
    values: readonly unknown[] = [],
    { deadlineMs = DEADLINE_MS }: QueryOptions = {},
  ): Promise<readonly R[]> {
    // Sessions end statements by themselves at the usual deadline.
    if (deadlineMs > DEADLINE_MS) return this.transaction((query) => query<R>(sql, values), { deadlineMs })
    const client = await this.#connect()
    let broken = false
    try {
      return (await this.#send<R>(client, sql, values, deadlineMs)).rows
    } catch (error) {
      broken = spoilsConnection(error)
      throw this.#faultOf(error)
    } finally {
      client.release(broken)
    }
  }

  async transaction<T>(work: (query: Query) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transact(work, options)
      } catch (error) {
        if (failureOf(error) !== 'conflict' || error instanceof Fault || tries === MOST_TRIES) {
          throw this.#faultOf(error)
        }
        await new Promise<void>((resolve) => {
          this.#options.clock.runAfter(RETRY_MS * tries * (0.5 + Math.random()), resolve)
        })
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#pool.end()
  }

  async #transact<T>(
    work: (query: Query) => Promise<T>,
    { isolation, deadlineMs = DEADLINE_MS }: TransactionOptions,
  ): Promise<T> {
    const client = await this.#connect()
    let broken = false
    let isOver = false
    const send = async <R extends Row>(sql: string, values: readonly unknown[] = []) => {
      try {
        return await this.#send<R>(client, sql, values, deadlineMs)
      } catch (error) {
        broken ||= spoilsConnection(error)
        throw error
      }
    }
    const query: Query = async <R extends Row>(sql: string, values?: readonly unknown[]) => {
      // It would be a transaction of its own, on a connection that is another's by now.
      if (isOver) throw new Error('a statement came after its transaction')
      return (await send<R>(sql, values)).rows
    }
    try {
      await send(beginText(isolation, deadlineMs, this.isPooled))
      const result = await work(query)
      isOver = true
      // Behind an error that `work` has kept to itself, PostgreSQL takes a COMMIT and rolls back.
      const { command } = await send('COMMIT')
      if (command !== 'COMMIT') throw new Error('a transaction went on behind an error; nothing was changed')
      return result
    } catch (error) {
      isOver = true
      if (!broken) await send('ROLLBACK').catch(() => (broken = true))
      throw error
    } finally {
      client.release(broken)
    }
  }

  async #send<R extends Row>(
    client: PoolClient,
    text: string,
    values: readonly unknown[],
    deadlineMs: number,
  ): Promise<QueryResult<R>> {
    this.#statements++
    const kind = statementKind(text)
    this.#byKind[kind] = (this.#byKind[kind] ?? 0) + 1
    // pg reads this member of a query, which its types leave out.
    const late = { query_timeout: deadlineMs } as object
    // Without values it goes as a simple query, which may hold several statements.
    const question = { text, ...(values.length > 0 && { values: [...values] }), ...late }
    const before = this.#answers
    try {
      const result = await client.query<R>(question)
      this.#answers++
      return result
    } catch (error) {
      if (error instanceof DatabaseError) this.#answers++
      else if (isLate(error)) this.#setAwayIfMute(before, error)
      throw error
    }
  }

  async #connect(): Promise<PoolClient> {
    if (this.#closed) throw storeAway('the store is closed')
    if (this.isAway) throw storeAway('the database cannot be reached')
    if (this.#pool.waitingCount >= MOST_WAITING) throw storeAway('too many calls wait for the database')
    const pool = this.#pool
    const before = this.#answers
    try {
      return await pool.connect()
    } catch (error) {
      // Of several first connections one finds out that there is a pooler, and the others try again as it does.
      if (pool !== this.#pool) return this.#connect()
      if (refusesSettings(error) && !this.isPooled) {
        this.#goWithoutSettings()
        return this.#connect()
      }
      if (isSlowToConnect(error)) this.#setAwayIfMute(before, error)
      throw this.#faultOf(error)
    }
  }

  /** A pooler takes no settings of a session; they go with each transaction then. */
  #goWithoutSettings(): void {
    this.isPooled = true
    const before = this.#pool
    this.#pool = this.#makePool()
    before.end().catch(() => {})
  }

  #makePool(): Pool {
    const { url, connections, name } = this.#options
    const pool = new Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: CONNECT_MS,
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
      types: { getTypeParser },
      ...(!this.isPooled && {
        application_name: name,
        statement_timeout: DEADLINE_MS * OF_DEADLINE,
        idle_in_transaction_session_timeout: DEADLINE_MS,
      }),
    })
    // An idle connection that ends: the pool has dropped it already.
    pool.on('error', () => {})
    // One that ends under a statement tells the statement; unless somebody listens as well, it would end the process.
    pool.on('connect', (client) => client.on('error', () => {}))
    return pool
  }

  #faultOf(error: unknown): unknown {
    if (error instanceof Fault) return error
    switch (failureOf(error)) {
      case 'away':
        if (error instanceof Error && !isOwn(error)) return error
        if (isUnreachable(error)) this.#setAway(error)
        return storeAway(
          isLate(error) ? 'the database did not answer in time' : 'the database is away',
          error,
        )
      case 'refusing':
        return storeAway('the database does not take it now', error)
      case 'conflict':
        return storeAway('other transactions were in the way again and again', error)
      default:
        return error
    }
  }

  /** A slow statement of one caller, or connections all of which are busy, must not turn all callers away. */
  #setAwayIfMute(answersBefore: number, cause: unknown): void {
    if (this.#answers === answersBefore) this.#setAway(cause)
  }

  #setAway(cause: unknown): void {
    if (this.isAway || this.#closed) return
    this.isAway = true
    this.#options.onChange?.(true, cause)
    this.#probeLater()
  }

  #probeLater(): void {
    this.#options.clock.runAfter(PROBE_MIN_MS + Math.random() * PROBE_SPREAD_MS, () => void this.#probe())
  }

  async #probe(): Promise<void> {
    if (this.#closed) return
    try {
      const client = await this.#pool.connect()
      let broken = true
      try {
        await this.#send(client, 'SELECT 1', [], PROBE_DEADLINE_MS)
        broken = false
      } finally {
        client.release(broken)
      }
      this.isAway = false
      this.#options.onChange?.(false, null)
    } catch {
      this.#probeLater()
    }
  }
}

function beginText(isolation: string | undefined, deadlineMs: number, isPooled: boolean): string {
  const begin = isolation === undefined ? 'BEGIN' : `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`
  // In one message, so that they cost no way of their own.
  if (!isPooled && deadlineMs <= DEADLINE_MS) return begin
  return `${begin}; SET LOCAL statement_timeout = ${Math.ceil(deadlineMs * OF_DEADLINE)};
    SET LOCAL idle_in_transaction_session_timeout = ${deadlineMs}`
}
