/**
 * `sluice federation`: issuers, policies, signing keys, audit and policy tester from the command line. Like
 * `sluice keys` it works on the folder of the store, while the server runs or not, and needs no key.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { type FederationCommandSettings, withFederation } from '../compose/commands.js'
import { faultMessage } from '../http/dialects/gateway.js'
import {
  type CommandFailure,
  type CommandResult,
  commandFailure,
  sanitizeForTerminal,
  usageError,
} from './command-result.js'
import { COMMANDS, type FederationCommand, type FederationContext, OPTIONS } from './federation-commands.js'

const FEDERATION_USAGE = `usage: sluice federation <command>

  issuers list                  all issuers
  issuers create --name NAME --url URL
      --jwks-url URL              where the keys are; without it, discovery tells
  issuers delete ID             its policies refuse from then on
  policies list                 all policies
  policies create --issuer ID --audience TEXT --key HASH, with one or both of
      --subject TEXT              equal to "sub"
      --condition CEL             over subject, audience, scopes and token_type
    and, where wanted,
      --scopes TEXT               a claim check: an entry of "scopes"
      --token-type TEXT           a claim check: equal to "token_type"
      --paused                    to be enabled later
  policies enable ID            let it issue tokens
  policies pause ID             issue none; those it has issued stay good
  policies delete ID            for good
  keys list                     the keys that sign access tokens
  keys rotate                   let the next key sign from now on
  keys drop KID                 take a key out of use, with every token it has signed
  audit [--trail NAME]          changes, issued and refused exchanges, newest first
      --limit N                   so many rows, 20 without it
      --unknown                   exchanges that named no policy there is
  test POLICY                   read a token from standard input, show what each step makes of it

Lists, new issuers and the audit take --organization ID; without it, they are about the first organization.
`

interface FederationCommandPorts {
  /** Writes to standard output (1) or standard error (2). */
  readonly print: (fd: 1 | 2, text: string) => void
  /** All of standard input. */
  readonly readInput: () => string
  readonly clock?: Clock
}

/**
 * Runs one command.
 * @param args what follows `sluice federation`
 * @returns the exit code: 0 when done, 1 when it could not be done or a tested token does not pass, 2 when it was no
 *   command
 */
export async function federationCommand(
  args: readonly string[],
  config: FederationCommandSettings,
  ports: FederationCommandPorts,
): Promise<0 | 1 | 2> {
  const outcome = await runFederationCommand(args, config, ports)
  if ('text' in outcome) {
    ports.print(1, outcome.text)
    if (outcome.remark !== undefined) ports.print(2, outcome.remark)
    return outcome.code ?? 0
  }
  const usage = outcome.code === 2 ? `\n${FEDERATION_USAGE}` : ''
  ports.print(2, `sluice: ${outcome.complaint}\n${usage}`)
  return outcome.code
}

type Told = CommandResult & { readonly code?: 0 | 1 | 2 }

async function runFederationCommand(
  args: readonly string[],
  config: FederationCommandSettings,
  ports: FederationCommandPorts,
): Promise<Told | CommandFailure> {
  if (['help', '--help', '-h'].includes(args[0] ?? '')) return { text: FEDERATION_USAGE }
  // Commands have two words, or one.
  const two = args.slice(0, 2).join(' ')
  const name = Object.hasOwn(COMMANDS, two) ? two : (args[0] ?? '')
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) return usageError(`there is no command "federation ${sanitizeForTerminal(two)}"`)
  const asked = parseFederationArgs(command, name, args.slice(name.split(' ').length))
  if ('complaint' in asked) return asked
  if (!existsSync(join(config.dataDir, 'data.mdb'))) {
    return commandFailure(
      `there is no store in ${config.dataDir}: start the server once, or set SLUICE_DATA_DIR`,
    )
  }
  return runInContext(config, ports, (place) => command.run(place, asked))
}

/** The parts that a worker has, opened for one command. */
async function runInContext(
  config: FederationCommandSettings,
  { clock = systemClock, readInput }: FederationCommandPorts,
  run: (place: FederationContext) => Told | CommandFailure | Promise<Told | CommandFailure>,
): Promise<Told | CommandFailure> {
  try {
    return await withFederation(config, clock, (admin) => run({ ...admin, readInput }))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const told = error.kind === 'invalid-input' ? faultMessage(error) : (error.detail ?? error.kind)
    return commandFailure(sanitizeForTerminal(told))
  }
}

type Asked = Parameters<FederationCommand['run']>[1]

function parseFederationArgs(
  command: FederationCommand,
  name: string,
  args: string[],
): Asked | CommandFailure {
  const options = Object.fromEntries(command.options.map((option) => [option, OPTIONS[option]]))
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    if (positionals.length !== command.operands) {
      const takes = command.operands === 0 ? 'options only' : 'one id'
      return usageError(`federation ${name} takes ${takes}`)
    }
    const missing = command.needs.find((option) => values[option] === undefined)
    if (missing !== undefined) return usageError(`federation ${name} needs --${missing}`)
    return { options: values as Asked['options'], operand: positionals[0] ?? '' }
  } catch (error) {
    return usageError(sanitizeForTerminal(error instanceof Error ? error.message : String(error)))
  }
}
