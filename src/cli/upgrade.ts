/** `sluice upgrade --check`: what this release would do to the data folder and the database of another one. */
import type { Config } from '../config/config.js'
import { examineUpgrade } from '../doctor/upgrade.js'
import { type CommandOutput, failUsage, type PrintOutput, parseCommandArgs, runCommand } from './command.js'
import { describeFindings } from './findings.js'

const UPGRADE_USAGE = `usage: sluice upgrade --check [--json]

Run by the newer release on the settings of the older one: tells what its first start would do to the data folder and to the
database that SLUICE_DATABASE_URL names, whether the older release can start again after it, and whether there is room.
Nothing is changed, and a server may be at work meanwhile. There is no upgrade but that start.

  --check    needed: it says that nothing is to be changed
  --json     {"ok", "findings": [{"check", "verdict", "found", "remedy"}]}

Exit code 0 when this release may start, 1 when it may not, 2 when a setting is bad.
`

const OPTIONS = { check: { type: 'boolean' }, json: { type: 'boolean' } } as const

/** @param settings ends the process with code 2, every fault named, when they are bad */
export function upgradeCommand(
  args: readonly string[],
  settings: () => Promise<Config>,
  print: PrintOutput,
): Promise<number> {
  return runCommand({ args, usage: UPGRADE_USAGE, print }, async (): Promise<CommandOutput> => {
    const { values } = parseCommandArgs('upgrade', args, OPTIONS, false)
    if (values.check !== true)
      failUsage('upgrade needs --check: the start of the newer release does the rest')
    return describeFindings(await examineUpgrade(await settings()), values.json === true)
  })
}
