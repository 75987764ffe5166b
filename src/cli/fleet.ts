/** `sluice fleet`: the machines that share a PostgreSQL, what they hold, and what happens when one fails. */
import type { FleetCommandSettings, FleetSchema } from '../compose/fleet-commands.js'
import type { Config } from '../config/config.js'
import { failureTable } from '../store/fleet-failures.js'
import type { FleetMachine } from '../store/fleet-view.js'
import {
  type CommandOutput,
  failCommand,
  failUsage,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
  sanitizeForTerminal,
} from './command.js'
import { dollars, formatFleet } from './fleet/fleet-report.js'
import { runOnFleet } from './fleet-access.js'

const FLEET_USAGE = `usage: sluice fleet <command>

  status [--json]        all machines: state, release, version of the change log, age of the last beat, leases,
                         what is frozen, journal that is not in the ledger yet, clock; and what happens to keys,
                         money, windows, ledger and calls when a part of the fleet fails
  forget MACHINE [--yes] void the leases of a machine that will not come back, and take it off the list; asks
                         before it does, unless --yes is there

Exit code 0 when done, 1 when it could not be done, 2 when it was no command or the database must not be used.
`

type FleetSettings = FleetCommandSettings & Pick<Config, 'fleetStalenessMs' | 'fleetWhenStoreIsAway'>

interface Terminal {
  /** Null when nobody answers. */
  ask(question: string): Promise<string | null>
  close(): void
}

interface FleetPorts {
  readonly print: PrintOutput
  readonly settings: () => Promise<FleetSettings>
  /** Null when nobody is there to be asked. */
  readonly openTerminal: () => Terminal | null
}

/** @returns the exit code, as the usage says */
export function fleetCommand(args: readonly string[], ports: FleetPorts): Promise<number> {
  return runCommand({ args, usage: FLEET_USAGE, print: ports.print }, () => {
    const [word = '', ...rest] = args
    if (word === 'status') return showStatus(rest, ports)
    if (word === 'forget') return forgetMachine(rest, ports)
    if (word === '') return failUsage('fleet needs a word: status, forget')
    return failUsage(`there is no command "fleet ${sanitizeForTerminal(word)}": there are status, forget`)
  })
}

async function showStatus(args: readonly string[], { settings }: FleetPorts): Promise<CommandOutput> {
  const { values } = parseCommandArgs('fleet status', args, { json: { type: 'boolean' } }, false)
  const config = await settings()
  const failures = failureTable(config)
  return runOnFleet(config, async ({ schema, view }) => {
    await requireSchema(schema)
    const fleet = await view.read()
    if (values.json !== true) return { text: formatFleet(fleet, failures) }
    return { text: `${JSON.stringify({ ...fleet, failures }, null, 2)}\n` }
  })
}

async function forgetMachine(args: readonly string[], ports: FleetPorts): Promise<CommandOutput> {
  const { values, positionals } = parseCommandArgs('fleet forget', args, { yes: { type: 'boolean' } })
  const [name, ...others] = positionals
  if (name === undefined || others.length > 0) return failUsage('fleet forget takes one MACHINE')
  const shown = sanitizeForTerminal(name)
  return runOnFleet(await ports.settings(), async ({ schema, view, forget }) => {
    await requireSchema(schema)
    const { machines } = await view.read()
    const machine = machines.find((each) => each.name === name)
    if (machine === undefined) return failUnknown(shown, machines)
    if (machine.state === 'live' || machine.state === 'joining') return failLive(shown)
    const about = describeLoss(machine)
    if (values.yes !== true && !(await isAgreed(`${about}\nForget ${shown}? [y/N]`, ports))) {
      return failCommand('nothing was changed')
    }
    const outcome = await forget(name)
    if (outcome === 'unknown') return failUnknown(shown, machines)
    if (outcome === 'live') return failLive(shown)
    return { text: `forgot ${shown}\n`, remark: `${about}\n` }
  })
}

/** A database that no machine of this release has used has no tables to ask. */
async function requireSchema(schema: FleetSchema): Promise<void> {
  const { pending } = await schema.read()
  if (pending.length > 0) failCommand(`the database lacks ${pending.join(', ')}: sluice migrate brings them`)
}

async function isAgreed(question: string, { openTerminal }: FleetPorts): Promise<boolean> {
  const terminal = openTerminal()
  if (terminal === null) return failUsage('nobody is there to be asked: --yes says it')
  try {
    return /^y(es)?$/i.test((await terminal.ask(question)) ?? '')
  } finally {
    terminal.close()
  }
}

/** What is released, and what it may cost. */
function describeLoss({ name, leases, leased, journalBytes }: FleetMachine): string {
  const shown = sanitizeForTerminal(name)
  const journal = `${journalBytes} bytes of its journals were not in the ledger when it was last heard`
  if (leases === 0) return `${shown} holds no lease, so nothing is released; ${journal}.`
  return [
    `${shown} holds ${leases} leases with ${dollars(leased)}, which others may spend from now on; ${journal}.`,
    `What it had spent of them counts only when its disk comes back: up to ${dollars(leased)} may be overspent until then, over all limits.`,
  ].join('\n')
}

function failUnknown(shown: string, machines: readonly FleetMachine[]): never {
  const names = machines.map(({ name }) => sanitizeForTerminal(name)).join(', ')
  return failCommand(`there is no machine ${shown}${names === '' ? '' : `: there are ${names}`}`)
}

function failLive(shown: string): never {
  return failCommand(`${shown} is live: end it first, and it gives its leases back by itself`)
}
