/** The machines that are one server, as far as the screen shows them. */
export const FLEET = 'api/v1/fleet'

export interface Machine {
  readonly name: string
  readonly state: 'joining' | 'live' | 'expired' | 'left'
  readonly release: string | null
  readonly version_applied: number
  readonly beat_age_s: number | null
  readonly leases: number
  /** Dollars, as is `frozen`. */
  readonly leased: number
  readonly frozen: number
  readonly journal_backlog_bytes: number
  readonly clock_difference_s: number | null
}

/** What becomes of each part when one thing fails. */
export interface Failure {
  readonly id: string
  readonly failure: string
  readonly keys: string
  readonly money: string
  readonly windows: string
  readonly ledger: string
  readonly calls: string
  readonly lasts: string
  readonly seen: string
}

export interface Fleet {
  readonly store: 'embedded' | 'postgresql'
  readonly version: number
  readonly machines: readonly Machine[]
  readonly failures: readonly Failure[]
}
