/**
 * Commands that have a table of subcommands and work on the folder of the store, while the server runs or not. They
 * need no key: only the operator may write that folder.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../base/fault.js'
import { faultMessage } from '../http/dialects/gateway.js'
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

type OptionTable = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>

/** What a subcommand was given. */
export interface CommandInput<O extends OptionTable> {
  readonly options: { readonly [K in keyof O]?: O[K]['type'] extends 'string' ? string : boolean }
  /** What follows the subcommand's name; `''` where it takes nothing. */
  readonly operand: string
}

export interface Subcommand<O extends OptionTable, Context> {
  readonly options?: readonly (keyof O & string)[]
  /** Those of its options that it cannot do without. */
  readonly needs?: readonly (keyof O & string)[]
  /** What its one operand is; absent when it takes none. */
  readonly operand?: 'id' | 'hash'
  run(context: Context, input: CommandInput<O>): CommandOutput | Promise<CommandOutput>
}

export interface CommandTable<O extends OptionTable, Context> {
  /** What follows `sluice` on the command line. */
  readonly name: string
  readonly usage: string
  readonly options: O
  /** By their one or two words. */
  readonly subcommands: Readonly<Record<string, Subcommand<O, Context>>>
  /** Opens what subcommands work on, for as long as `run` takes. */
  readonly open: <T>(run: (context: Context) => T | Promise<T>) => Promise<T>
}

/**
 * Runs one subcommand.
 * @param args what follows the table's name on the command line
 * @returns the exit code: 0 when done, 1 when it could not be done, 2 when it was no command
 */
export function runSubcommand<O extends OptionTable, Context>(
  table: CommandTable<O, Context>,
  args: readonly string[],
  dataDir: string,
  print: PrintOutput,
): Promise<number> {
  return runCommand(print, table.usage, async () => {
    if (['help', '--help', '-h'].includes(args[0] ?? '')) return { text: table.usage }
    const [name, subcommand] = findSubcommand(table, args)
    const input = parseInput(table, name, subcommand, args.slice(name.split(' ').length))
    // Opening would make a store, and an empty store says nothing but that the folder was the wrong one.
    if (!existsSync(join(dataDir, 'data.mdb'))) {
      failCommand(`there is no store in ${dataDir}: start the server once, or set SLUICE_DATA_DIR`)
    }
    try {
      return await table.open((context) => subcommand.run(context, input))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const reason = error.kind === 'invalid-input' ? faultMessage(error) : (error.detail ?? error.kind)
      return failCommand(sanitizeForTerminal(reason))
    }
  })
}

function findSubcommand<O extends OptionTable, Context>(
  { name: command, subcommands }: CommandTable<O, Context>,
  args: readonly string[],
): readonly [name: string, subcommand: Subcommand<O, Context>] {
  const mostWords = Math.max(...Object.keys(subcommands).map((name) => name.split(' ').length))
  const words = args.slice(0, mostWords).join(' ')
  for (const name of [words, args[0] ?? '']) {
    if (Object.hasOwn(subcommands, name)) return [name, subcommands[name]!]
  }
  return failUsage(`there is no command "${command} ${sanitizeForTerminal(words)}"`)
}

function parseInput<O extends OptionTable, Context>(
  table: CommandTable<O, Context>,
  name: string,
  { options = [], needs = [], operand }: Subcommand<O, Context>,
  args: readonly string[],
): CommandInput<O> {
  const known = Object.fromEntries(options.map((option) => [option, table.options[option]!]))
  const { values, positionals } = parseCommandArgs(args, known)
  if (positionals.length !== (operand === undefined ? 0 : 1)) {
    failUsage(`${table.name} ${name} takes ${operand === undefined ? 'options only' : `one ${operand}`}`)
  }
  const missing = needs.find((option) => values[option] === undefined)
  if (missing !== undefined) failUsage(`${table.name} ${name} needs --${missing}`)
  return { options: values as CommandInput<O>['options'], operand: positionals[0] ?? '' }
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
