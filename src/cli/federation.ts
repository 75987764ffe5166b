/**
 * `sluice federation`: issuers, policies, signing keys, audit and policy tester from the command line. Like
 * `sluice keys` it works on the folder of the store, while the server runs or not, and needs no key.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { type FederationConfig, withFederation } from '../compose/commands.js'
import { faultMessage } from '../http/dialects/gateway.js'
import { COMMANDS, type Command, OPTIONS, type Place } from './federation-words.js'
import { failure, misuse, type Outcome, type Refusal, shown } from './outcome.js'

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

interface CommandPorts {
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
  config: FederationConfig,
  ports: CommandPorts,
): Promise<0 | 1 | 2> {
  const outcome = await outcomeOf(args, config, ports)
  if ('text' in outcome) {
    ports.print(1, outcome.text)
    if (outcome.remark !== undefined) ports.print(2, outcome.remark)
    return outcome.code ?? 0
  }
  const usage = outcome.code === 2 ? `\n${FEDERATION_USAGE}` : ''
  ports.print(2, `sluice: ${outcome.complaint}\n${usage}`)
  return outcome.code
}

type Told = Outcome & { readonly code?: 0 | 1 | 2 }

async function outcomeOf(
  args: readonly string[],
  config: FederationConfig,
  ports: CommandPorts,
): Promise<Told | Refusal> {
  if (['help', '--help', '-h'].includes(args[0] ?? '')) return { text: FEDERATION_USAGE }
  // Commands have two words, or one.
  const two = args.slice(0, 2).join(' ')
  const name = Object.hasOwn(COMMANDS, two) ? two : (args[0] ?? '')
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) return misuse(`there is no command "federation ${shown(two)}"`)
  const asked = parsed(command, name, args.slice(name.split(' ').length))
  if ('complaint' in asked) return asked
  if (!existsSync(join(config.dataDir, 'data.mdb'))) {
    return failure(`there is no store in ${config.dataDir}: start the server once, or set SLUICE_DATA_DIR`)
  }
  return atPlace(config, ports, (place) => command.run(place, asked))
}

/** The parts that a worker has, opened for one command. */
async function atPlace(
  config: FederationConfig,
  { clock = systemClock, readInput }: CommandPorts,
  run: (place: Place) => Told | Refusal | Promise<Told | Refusal>,
): Promise<Told | Refusal> {
  try {
    return await withFederation(config, clock, (admin) => run({ ...admin, readInput }))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const told = error.kind === 'invalid-input' ? faultMessage(error) : (error.detail ?? error.kind)
    return failure(shown(told))
  }
}

type Asked = Parameters<Command['run']>[1]

function parsed(command: Command, name: string, args: string[]): Asked | Refusal {
  const options = Object.fromEntries(command.options.map((option) => [option, OPTIONS[option]]))
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    if (positionals.length !== command.operands) {
      const takes = command.operands === 0 ? 'options only' : 'one id'
      return misuse(`federation ${name} takes ${takes}`)
    }
    const missing = command.needs.find((option) => values[option] === undefined)
    if (missing !== undefined) return misuse(`federation ${name} needs --${missing}`)
    return { options: values as Asked['options'], operand: positionals[0] ?? '' }
  } catch (error) {
    return misuse(shown(error instanceof Error ? error.message : String(error)))
  }
}
