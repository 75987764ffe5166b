/** The fleet that a trial has for itself, and what trials of fleets share. */
import type { FleetCall } from '../../../src/drill/fleet/load.js'
import { POSTGRES_PROGRAMS } from '../../../src/drill/fleet/postgres-cluster.js'
import { FleetStage } from '../../../src/drill/fleet/stage.js'
import { pinnedCommand } from '../../harness/machine/pinning.js'
import type { TrialContext } from '../trial.js'

interface FleetTrialSettings {
  /** Machines; 3 unless it says. */
  readonly size?: number
  /** Holds all machines on the core of the server. */
  readonly pinned?: boolean
  readonly environment?: Readonly<Record<string, string>>
  /** Settings of PostgreSQL. */
  readonly database?: readonly string[]
  /** False: machines reach PostgreSQL without a proxy, which would take its time from the generator. */
  readonly proxied?: boolean
}

/**
 * Runs `work` with a fleet of machines with a worker each, and ends it. Faults: Error when the programs of PostgreSQL are
 * missing or a machine does not come up.
 */
export async function withFleet<T>(
  { staging, cores }: TrialContext,
  { size = 3, pinned = false, ...more }: FleetTrialSettings,
  work: (stage: FleetStage) => Promise<T>,
): Promise<T> {
  if (POSTGRES_PROGRAMS === null) throw new Error('PostgreSQL is not installed here')
  const on = pinned && cores !== null ? [cores.server] : null
  const command = pinnedCommand(on, [process.execPath, staging.program, 'serve'])
  const stage = await FleetStage.open({ command, size, ...more })
  try {
    return await work(stage)
  } finally {
    await stage.close()
  }
}

/** How many calls came to which status; 0 is no answer. */
export function statusCounts(calls: readonly FleetCall[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const { status } of calls) counts.set(status, (counts.get(status) ?? 0) + 1)
  return counts
}
