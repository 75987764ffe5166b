/** The machine's replica of the managed records, as its supervisor follows it. */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Replica } from '../fleet/member.js'
import type { Database } from '../store/postgres/database.js'
import { trimRecords } from '../store/postgres/record-trimming.js'
import { openReplicatedStore } from '../store/replicated/open.js'

interface ReplicaOptions {
  readonly dataDir: string
  readonly database: Database
  /** Name of this machine. */
  readonly machine: string
  readonly clock: Clock
  readonly log: Log
}

/** Any machine may trim, so with many of them it happens more often than it must, and finds little to do. */
const TRIM_MS = 60 * 60 * 1000
const TRIM_SPREAD = 0.5

/** Beside following the log, it lets what is no longer needed of the log and of the audit go. */
export function openReplica({
  dataDir,
  database,
  machine,
  clock,
  log,
}: ReplicaOptions): Replica & { close(): Promise<void> } {
  // A supervisor changes no records.
  const barrier = { pass: () => Promise.resolve([]) }
  const { records } = openReplicatedStore({ dataDir, database, machine, barrier, clock })
  let cancel: () => void
  const trimLater = (): void => {
    cancel = clock.runAfter(TRIM_MS * (1 + TRIM_SPREAD * Math.random()), () => void trim())
  }
  const trim = async (): Promise<void> => {
    await trimRecords(database).catch((err: unknown) => log.warn({ err }, 'the change log was not trimmed'))
    trimLater()
  }
  trimLater()
  return {
    position: () => records.position(),
    catchUp: () => records.catchUp(),
    close: () => {
      cancel()
      return records.close()
    },
  }
}
