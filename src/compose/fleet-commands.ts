/** What commands of the command line do to the PostgreSQL that machines share, and to their list. */
import { systemClock } from '../base/clock.js'
import { type Config, InvalidConfigError } from '../config/config.js'
import type { FleetView } from '../store/fleet-view.js'
import type { Database } from '../store/postgres/database.js'

export type FleetCommandSettings = Pick<Config, 'databaseUrl'>

/** The schema of the database beside that of this release, by the names of their migrations. */
export interface FleetSchema {
  /** What is there, and what this release would add. */
  read(): Promise<{
    readonly applied: readonly string[]
    readonly pending: readonly string[]
    /** Whether a release that knows no more than what is applied may start after the pending ones. */
    readonly hasWayBack: boolean
  }>
  /** Adds what is missing; resolves with its names. */
  migrate(): Promise<readonly string[]>
}

export interface FleetAccess {
  readonly schema: FleetSchema
  readonly view: FleetView
  /** Unix time in milliseconds, as the database has it. */
  clock(): Promise<number>
  /** Takes a machine off the list and voids its leases. What it was when nothing was done: no machine, or a live one. */
  forget(machine: string): Promise<'forgotten' | 'unknown' | 'live'>
}

const SETTING = 'SLUICE_DATABASE_URL'

/**
 * The database of the settings, for as long as `run` takes. Rejects with `InvalidConfigError` where there is none or it
 * must not be used (too old, read-only, another's tables, of a newer release), with `unavailable` where it is away.
 */
export async function withDatabase<T>(
  { databaseUrl }: FleetCommandSettings,
  run: (database: Database) => Promise<T>,
): Promise<T> {
  if (databaseUrl === '') throw badDatabase('is not set: it names the PostgreSQL that the machines share')
  const [{ openDatabase }, { UnusableDatabase }] = await Promise.all([
    import('../store/postgres/database.js'),
    import('../store/postgres/migrate.js'),
  ])
  const options = { url: databaseUrl, connections: 2, clock: systemClock, name: 'sluice command' }
  const database = openDatabase(options)
  try {
    return await run(database)
  } catch (error) {
    throw error instanceof UnusableDatabase ? badDatabase(error.message) : error
  } finally {
    await database.close()
  }
}

const badDatabase = (problem: string): InvalidConfigError =>
  new InvalidConfigError([{ source: SETTING, problem }])

/** As `withDatabase`, with what commands do there. */
export function withFleet<T>(
  settings: FleetCommandSettings,
  run: (fleet: FleetAccess) => Promise<T>,
): Promise<T> {
  return withDatabase(settings, async (database) => {
    const { migrate, readSchemaState } = await import('../store/postgres/migrate.js')
    const { createFleetView } = await import('../store/postgres/fleet-view.js')
    const { createMembership } = await import('../store/postgres/membership.js')
    const { readServerClock } = await import('../store/postgres/server-clock.js')
    return run({
      schema: { read: () => readSchemaState(database), migrate: () => migrate(database) },
      view: createFleetView(database),
      clock: () => readServerClock(database),
      forget: (machine) => createMembership(database).forget(machine),
    })
  })
}
