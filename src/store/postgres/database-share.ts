/**
 * A share of the connections of a process, for traffic whose statements are many: however much of it comes, others find
 * a connection free.
 */
import type { Clock } from '../../base/clock.js'
import type { Database } from './database.js'
import { storeAway } from './postgres-faults.js'
import { Turns } from './turns.js'

/** Waiting for their turn: beyond it calls are refused at once. */
const MOST_WAITING = 1_000
/** Who has waited longer is refused. */
const LONGEST_WAIT_MS = 2_000

/** The same database with at most `connections` under way at a time. Rejects with `unavailable` where too many wait. */
export function shareOf(database: Database, connections: number, clock: Clock): Database {
  const turns = new Turns(connections)

  const takeTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (turns.waiting >= MOST_WAITING) return Promise.reject(tooManyWait())
    const until = clock.monotonicMs() + LONGEST_WAIT_MS
    return turns.run(() => (clock.monotonicMs() > until ? Promise.reject(tooManyWait()) : work()))
  }

  return {
    query: (sql, values, options) => takeTurn(() => database.query(sql, values, options)),
    transaction: (work, options) => takeTurn(() => database.transaction(work, options)),
    get isAway() {
      return database.isAway
    },
    get isPooled() {
      return database.isPooled
    },
    statements: () => database.statements(),
    statementsByKind: () => database.statementsByKind(),
    close: () => database.close(),
  }
}

function tooManyWait(): Error {
  return storeAway('too many calls wait for the database')
}
