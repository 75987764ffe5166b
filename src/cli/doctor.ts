/** `sluice doctor`: looks at the machine and the settings, and says what to do. */
import type { Config } from '../config/config.js'
import { examine } from '../doctor/examine.js'
import { type CommandOutput, type PrintOutput, parseCommandArgs, runCommand } from './command.js'
import { describeFindings } from './findings.js'

const DOCTOR_USAGE = `usage: sluice doctor [--json]

Looks at what a server needs: Node and native code, kernel, processors, memory, open files, clocks, all settings, the data
folder and the speed of its disk, ports, the database, providers (their list of models, which costs nothing) and the
sandbox. A line each: ok, warn or fail, what was found, and what to do. Nothing is changed, and no credential is shown. It
works beside a running server.

  --json    {"ok", "findings": [{"check", "verdict", "found", "remedy"}]}

Exit code 0 when nothing fails, warnings or not; 1 when something does; 2 when a setting is bad.
`

const OPTIONS = { json: { type: 'boolean' } } as const

/** @param settings rejects with `InvalidConfigError`, every fault in it */
export function doctorCommand(
  args: readonly string[],
  settings: () => Promise<Config>,
  print: PrintOutput,
): Promise<number> {
  return runCommand({ args, usage: DOCTOR_USAGE, print }, async (): Promise<CommandOutput> => {
    const { values } = parseCommandArgs('doctor', args, OPTIONS, false)
    const { findings, isConfigured } = await examine(settings)
    const told = describeFindings(findings, values.json === true)
    return isConfigured ? told : { ...told, code: 2 }
  })
}
