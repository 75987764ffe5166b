/** The machines that share the database, with what they hold: for operators, never for a decision. */
import type { FleetMachine, FleetOverview, FleetView, MachineState } from '../fleet-view.js'
import type { Database } from './database.js'

interface MachineRow {
  readonly version: number
  /** Null in the row that stands there when there is no machine. */
  readonly name: string | null
  readonly state: MachineState
  readonly epoch: number
  readonly release: string | null
  readonly applied: number
  readonly beat_age_ms: number
  readonly leases: number
  readonly leased: number
  readonly frozen: number
  readonly journal_bytes: number | null
  readonly clock_difference_ms: number | null
}

/** Ages are by the clock of the database alone; the clock of a machine is what it said with its last beat. */
const READ = `
  SELECT h.version, m.name, m.state, m.epoch, m.applied,
         m.facts ->> 'release' AS release,
         round(extract(epoch FROM clock_timestamp() - m.beat_at) * 1000)::float8 AS beat_age_ms,
         coalesce(l.leases, 0) AS leases, coalesce(l.leased, 0) AS leased, coalesce(l.frozen, 0) AS frozen,
         (m.facts ->> 'journal_bytes')::bigint AS journal_bytes,
         round((m.facts ->> 'clock_ms')::numeric - extract(epoch FROM m.beat_at) * 1000)::float8 AS clock_difference_ms
  FROM sluice.change_head h
  LEFT JOIN sluice.machines m ON true
  LEFT JOIN (
    SELECT machine, count(*) AS leases,
           coalesce(sum(amount) FILTER (WHERE kind = 'money'), 0) AS leased,
           coalesce(sum(amount) FILTER (WHERE kind = 'money' AND frozen), 0) AS frozen
    FROM sluice.bank_holdings WHERE amount > 0 GROUP BY machine
  ) l ON l.machine = m.name
  ORDER BY m.name`

export function createFleetView(database: Database): FleetView {
  return { read: () => readFleet(database) }
}

async function readFleet(database: Database): Promise<FleetOverview> {
  const rows = await database.query<MachineRow>(READ)
  const machines = rows.filter((row) => row.name !== null).map(toMachine)
  return { store: 'postgresql', version: rows[0]?.version ?? 0, machines }
}

function toMachine(row: MachineRow): FleetMachine {
  const { name, state, epoch, release, applied, leases, leased, frozen } = row
  return {
    ...{ name: name!, state, epoch, release, applied, leases, leased, frozen },
    beatAgeMs: Math.max(0, row.beat_age_ms),
    journalBytes: row.journal_bytes ?? 0,
    clockDifferenceMs: row.clock_difference_ms,
  }
}
