/** What `sluice fleet status` prints. */
import { nanosToDollars } from '../../base/money.js'
import { FAILURE_COLUMNS, type FailureRow } from '../../store/fleet-failures.js'
import type { FleetMachine, FleetOverview } from '../../store/fleet-view.js'
import { formatTable } from '../command.js'

export function formatFleet({ version, machines }: FleetOverview, failures: readonly FailureRow[]): string {
  const head = [
    'MACHINE',
    'STATE',
    'RELEASE',
    'VERSION',
    'BEAT',
    'LEASES',
    'LEASED',
    'FROZEN',
    'JOURNAL',
    'CLOCK',
  ]
  const list =
    machines.length === 0
      ? 'No machine has joined yet.\n'
      : formatTable([head, ...machines.map((machine) => machineCells(machine, version))])
  return `${list}\n${sumLine(machines)}\n\nWhat happens when …\n${failures.map(formatFailure).join('')}`
}

function machineCells(machine: FleetMachine, version: number): (string | null)[] {
  const { name, state, release, applied, beatAgeMs, leases, leased, frozen, journalBytes } = machine
  const behind = version - applied
  return [
    name,
    state,
    release,
    behind > 0 ? `${applied} (${behind} behind)` : String(applied),
    beatAgeMs === null ? null : `${(beatAgeMs / 1000).toFixed(1)} s ago`,
    String(leases),
    dollars(leased),
    dollars(frozen),
    `${journalBytes} B`,
    clockText(machine.clockDifferenceMs),
  ]
}

/** Below a second it is the way to the store as much as the clock. */
function clockText(differenceMs: number | null): string | null {
  if (differenceMs === null) return null
  const seconds = (Math.abs(differenceMs) / 1000).toFixed(1)
  return `${seconds === '0.0' ? '' : differenceMs < 0 ? '-' : '+'}${seconds} s`
}

function sumLine(machines: readonly FleetMachine[]): string {
  const live = machines.filter(({ state }) => state === 'live').length
  const frozen = machines.reduce((sum, machine) => sum + machine.frozen, 0)
  return `${live} of ${machines.length} live; ${dollars(frozen)} frozen`
}

function formatFailure(row: FailureRow): string {
  const widest = Math.max(...FAILURE_COLUMNS.map(([, label]) => label.length))
  const lines = FAILURE_COLUMNS.map(([member, label]) => `  ${label.padEnd(widest)}  ${row[member]}\n`)
  return `\n${row.failure}\n${lines.join('')}`
}

/** Up to nine places, as money is counted here. */
export function dollars(nanos: number): string {
  return `$${nanosToDollars(nanos)}`
}
