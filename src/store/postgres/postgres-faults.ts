/** Errors of PostgreSQL and of the way to it, as what they mean for a caller. */
import { DatabaseError } from 'pg'
import { Fault } from '../../base/fault.js'

/** How an attempt to use the database ended. */
type PostgresFailure =
  /** Nothing reaches it, or it answers nothing: every other attempt would end the same way now. */
  | 'away'
  /** It answers, and takes this not now: its disk is full, it only reads, it has no connections left. */
  | 'refusing'
  /** Another transaction was in the way; the same again may succeed. */
  | 'conflict'
  /** It has understood, and says no: a constraint, say. */
  | 'statement'

/** Codes of SQLSTATE, or their first two characters. */
const AWAY = new Set(['08', '57P01', '57P02', '57P03', '57P05'])
const REFUSING = new Set(['53', '25006', '57014', '25P03', '58', '3D000', '28', '42501'])
const CONFLICT = new Set(['40001', '40P01', '55P03'])

export function failureOf(error: unknown): PostgresFailure {
  if (!(error instanceof DatabaseError)) return 'away'
  const code = error.code ?? ''
  if (CONFLICT.has(code)) return 'conflict'
  if (AWAY.has(code) || AWAY.has(code.slice(0, 2))) return 'away'
  if (REFUSING.has(code) || REFUSING.has(code.slice(0, 2))) return 'refusing'
  // A pooler in front says what it cannot do without a code of its own class.
  return code === '' ? 'away' : 'statement'
}

/** SQLSTATE of an error that the database has raised; `''` for all others. */
export function sqlState(error: unknown): string {
  return error instanceof DatabaseError ? (error.code ?? '') : ''
}

/** Seconds after which a new try makes sense. */
const RETRY_AFTER_S = 1

export function storeAway(detail: string, cause?: unknown): Fault {
  return new Fault('unavailable', { retryAfter: RETRY_AFTER_S, detail, cause })
}

/** What pg throws when it waited too long for an answer. */
export const isLate = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Query read timeout'

/** Errors of the socket and of pg's own deadlines; anything else that is no error of the database is a defect of ours. */
export function isOwn(error: Error): boolean {
  return (
    'syscall' in error || 'code' in error || isLate(error) || /connect|terminat|timeout/i.test(error.message)
  )
}

/** Not merely a connection that ended: nobody is there. Errors of several addresses have a code and no syscall. */
export function isUnreachable(error: unknown): boolean {
  if (sqlState(error) === '57P03') return true
  if (!(error instanceof Error) || error instanceof DatabaseError || !('code' in error)) return false
  return typeof error.code === 'string' && /^E(?!RR_|CONNRESET|PIPE)/.test(error.code)
}

/** No connection was made in time, or none was free. */
export const isSlowToConnect = (error: unknown): boolean =>
  error instanceof Error && /timeout/i.test(error.message)

/** One to a database that only reads now, after a failover, stays as it is: a new one may reach the one that writes. */
export function spoilsConnection(error: unknown): boolean {
  return failureOf(error) === 'away' || sqlState(error) === '25006'
}

/** What pgbouncer says of settings in the first message of a connection. */
export function refusesSettings(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/.test(error.message)
}
