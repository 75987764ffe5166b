/**
 * Commands that have a table of subcommands and work on the folder of the store, or on the database that machines share,
 * while the server runs or not. They need no key: only the operator may write that folder, or knows that database.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../base/fault.js'
import { InvalidConfigError } from '../config/config.js'
import { faultDetail } from '../http/dialects/gateway.js'
import type { AccountStore } from '../store/account-store.js'
import {
  type CommandOutput,
  failCommand,
  failUsage,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
  sanitizeForTerminal,
} from './command.js'
import { refuseSettings } from './fleet-access.js'

/** What a subcommand was given. */
export interface CommandInput {
  readonly options: Readonly<Record<string, string | undefined>>
  /** Those that are set. */
  readonly flags: readonly string[]
  /** What follows the subcommand's name; `''` where it takes nothing. */
  readonly operand: string
}

export interface Subcommand<Context> {
  /** With a value. */
  readonly options?: readonly string[]
  /** Without one. */
  readonly flags?: readonly string[]
  /** Options that it cannot do without. */
  readonly needs?: readonly string[]
  /** What its one operand is; absent when it takes none. */
  readonly operand?: 'id' | 'hash'
  run(context: Context, input: CommandInput): CommandOutput | Promise<CommandOutput>
}

interface CommandTable<Context> {
  /** What follows `sluice` on the command line. */
  readonly command: string
  readonly usage: string
  /** By their one or two words. */
  readonly subcommands: Readonly<Record<string, Subcommand<Context>>>
  /** Asked once the words are known to be good. */
  readonly locate: () => StoreAccess<Context> | Promise<StoreAccess<Context>>
}

/** Where the store is, and the way into it. */
export interface StoreAccess<Context> {
  /** Where a store must be; null where it is elsewhere. */
  readonly dataDir: string | null
  /** Opens what subcommands work on, for as long as `run` takes. */
  readonly open: <T>(run: (context: Context) => T | Promise<T>) => Promise<T>
}

/**
 * Runs one subcommand.
 * @param args what follows the command on the command line
 * @returns the exit code: 0 when done, 1 when it could not be done, 2 when it was no command
 */
export function runSubcommand<Context>(
  { command, usage, subcommands, locate }: CommandTable<Context>,
  args: readonly string[],
  print: PrintOutput,
): Promise<number> {
  return runCommand({ args, usage, print }, async () => {
    const mostWords = Math.max(...Object.keys(subcommands).map((name) => name.split(' ').length))
    const words = args.slice(0, mostWords).join(' ')
    const name = [words, args[0] ?? ''].find((each) => Object.hasOwn(subcommands, each))
    if (name === undefined) {
      const known = Object.keys(subcommands).join(', ')
      if (words === '') failUsage(`${command} needs a word: ${known}`)
      return failUsage(`there is no command "${command} ${sanitizeForTerminal(words)}": there are ${known}`)
    }
    const subcommand = subcommands[name]!
    const input = parseInput(`${command} ${name}`, subcommand, args.slice(name.split(' ').length))
    const { dataDir, open } = await locate()
    // Opening would make a store, and an empty store says nothing but that the folder was the wrong one.
    if (dataDir !== null && !existsSync(join(dataDir, 'data.mdb'))) {
      failCommand(`there is no store in ${dataDir}: start the server once, or set SLUICE_DATA_DIR`)
    }
    try {
      return await open((context) => subcommand.run(context, input))
    } catch (error) {
      if (error instanceof InvalidConfigError) return refuseSettings(error)
      if (!(error instanceof Fault)) throw error
      const reason = (error.kind === 'invalid-input' ? faultDetail(error) : error.detail) ?? error.kind
      return failCommand(sanitizeForTerminal(reason))
    }
  })
}

function parseInput(
  name: string,
  {
    options = [],
    flags = [],
    needs = [],
    operand,
  }: Pick<Subcommand<never>, 'options' | 'flags' | 'needs' | 'operand'>,
  args: readonly string[],
): CommandInput {
  const { values, positionals } = parseCommandArgs(name, args, {
    ...Object.fromEntries(options.map((option) => [option, { type: 'string' as const }])),
    ...Object.fromEntries(flags.map((flag) => [flag, { type: 'boolean' as const }])),
  })
  if (positionals.length !== (operand === undefined ? 0 : 1)) {
    failUsage(`${name} takes ${operand === undefined ? 'options only' : `one ${operand}`}`)
  }
  const missing = needs.find((option) => values[option] === undefined)
  if (missing !== undefined) failUsage(`${name} needs --${missing}`)
  return {
    options: values as CommandInput['options'],
    flags: flags.filter((flag) => values[flag] === true),
    operand: positionals[0] ?? '',
  }
}

/** The organization that was asked for, or the first. */
export function resolveOrganization(
  accounts: AccountStore,
  wanted = accounts.organizations()[0]?.id,
): string {
  if (wanted === undefined) return failCommand('there is no organization yet: start the server once')
  if (accounts.organization(wanted) !== null) return wanted
  return failCommand(`there is no organization ${sanitizeForTerminal(wanted)}`)
}
