/** Commands on the PostgreSQL that machines share. */
import { Fault } from '../base/fault.js'
import { type FleetAccess, type FleetCommandSettings, withFleet } from '../compose/fleet-commands.js'
import { InvalidConfigError } from '../config/config.js'
import { type CommandOutput, failCommand, sanitizeForTerminal } from './command.js'

/**
 * What comes of a command that works on the database of the settings: one that is away is a failure with a sentence, one
 * that must not be used a bad setting, with exit code 2.
 */
export async function tellDatabaseFailures(run: () => Promise<CommandOutput>): Promise<CommandOutput> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof InvalidConfigError) return refuseSettings(error)
    if (error instanceof Fault) return failCommand(sanitizeForTerminal(error.detail ?? error.kind))
    throw error
  }
}

/** As `tellDatabaseFailures`, for what is done with the machines and their schema. */
export function runOnFleet(
  settings: FleetCommandSettings,
  run: (fleet: FleetAccess) => Promise<CommandOutput>,
): Promise<CommandOutput> {
  return tellDatabaseFailures(() => withFleet(settings, run))
}

/** A bad setting that was found while a command was carried out. */
export function refuseSettings({ faults }: InvalidConfigError): CommandOutput {
  const lines = faults.map(
    ({ source, problem }) => `bad setting: ${source}: ${sanitizeForTerminal(problem)}\n`,
  )
  return { text: '', remark: lines.join(''), code: 2 }
}
