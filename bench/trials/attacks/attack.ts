/** What an attack is: one abusive caller against a running server, bounded in time, in a process of its own. */
import type { LoadResult } from '../load.js'

/** What the abuser knows. It is an organization like any other, with an ordinary key and a management key of its own. */
export interface AttackTarget {
  readonly port: number
  readonly key: string
  readonly managementKey: string
  /** How long it goes on, seconds. An attack that has nothing left to do may end before. */
  readonly seconds: number
  /** Fires when that time is over: whatever still waits is given up then. */
  readonly over: AbortSignal
}

/** What became of it: answers by status, and requests that got none. */
export type AttackReport = Pick<LoadResult, 'statuses' | 'lost'>

/** One attack: its name on the command line, what it does, and how. */
export interface Attack {
  readonly name: `attack-${string}`
  readonly summary: string
  /** Settings of the server besides those of the stage. */
  readonly environment?: Readonly<Record<string, string>>
  /** What the configuration says under `tools`. */
  readonly tools?: object
  /** How many times the quiet p99 the neighbours may have; 3 unless it says. */
  readonly mostTimes?: number
  play(target: AttackTarget): Promise<AttackReport>
}

/** Several reports as one. */
export function mergeReports(reports: readonly AttackReport[]): AttackReport {
  const statuses: Record<string, number> = {}
  for (const [status, count] of reports.flatMap((one) => Object.entries(one.statuses)))
    statuses[status] = (statuses[status] ?? 0) + count
  return { statuses, lost: reports.reduce((sum, { lost }) => sum + lost, 0) }
}
