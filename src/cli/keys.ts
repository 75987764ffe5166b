/**
 * `sluice keys`: keys from the command line. It works on the folder of the store, while the server runs or not;
 * what it changes counts for the server's next call. It needs no key: who may write that folder is the operator.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { nanosToDollars } from '../base/money.js'
import { withAccounts } from '../compose/commands.js'
import type { Config } from '../config/config.js'
import { createKeyRecord, generateKey, keyRefusal } from '../identity/api-keys.js'
import type { AccountStore, ApiKey } from '../store/account-store.js'
import {
  type CommandFailure,
  type CommandResult,
  commandFailure,
  sanitizeForTerminal,
  usageError,
} from './command-result.js'
import { type KeyCommandOptions, keySpecFromOptions } from './key-choice.js'
import { formatTable } from './text-table.js'

const KEYS_USAGE = `usage: sluice keys <command>

  list [--organization ID]      all keys that are not deleted
  create --name NAME            make a key and print it, this once; with
      --management                a management key; without it, a workspace key
      --user ID                   a personal key of that user
      --organization ID           in that organization, not in the first
      --workspace ID              in that workspace, not in the organization's first
      --limit DOLLARS             a spending limit
      --expires TIME              an end, such as 2030-01-31T12:00:00Z
  disable HASH                  refuse the key from the next call on
  enable HASH                   let it in again
  delete HASH                   refuse it for good

HASH is what list shows, or an unambiguous beginning of it.
`

const OPTIONS = {
  name: { type: 'string' },
  management: { type: 'boolean' },
  user: { type: 'string' },
  organization: { type: 'string' },
  workspace: { type: 'string' },
  limit: { type: 'string' },
  expires: { type: 'string' },
} as const

interface KeyCommandInput {
  readonly options: KeyCommandOptions
  /** What follows the command's name. */
  readonly operands: readonly string[]
  /** Unix time in milliseconds. */
  readonly now: number
}

interface KeyCommand {
  readonly options: readonly (keyof typeof OPTIONS)[]
  readonly operands: 0 | 1
  run(accounts: AccountStore, asked: KeyCommandInput): CommandResult | Promise<CommandResult>
}

const COMMANDS: Readonly<Record<string, KeyCommand>> = {
  list: { options: ['organization'], operands: 0, run: listKeys },
  create: {
    options: ['name', 'management', 'user', 'organization', 'workspace', 'limit', 'expires'],
    operands: 0,
    run: createKey,
  },
  disable: keyChangeCommand('disabled', (key, now) => ({ ...key, disabled: true, updatedAt: now })),
  enable: keyChangeCommand('enabled', (key, now) => ({ ...key, disabled: false, updatedAt: now })),
  delete: keyChangeCommand('deleted', (key, now) => ({ ...key, deletedAt: now })),
}

/**
 * Runs one command.
 * @param args what follows `sluice keys`
 * @param print writes to standard output (1) or standard error (2)
 * @returns the exit code: 0 when done, 1 when it could not be done, 2 when it was no command
 */
export async function keysCommand(
  args: readonly string[],
  config: Pick<Config, 'dataDir'>,
  print: (fd: 1 | 2, text: string) => void,
  clock: Clock = systemClock,
): Promise<0 | 1 | 2> {
  const outcome = await runKeysCommand(args, config.dataDir, clock)
  if ('text' in outcome) {
    print(1, outcome.text)
    if (outcome.remark !== undefined) print(2, outcome.remark)
    return 0
  }
  print(2, `sluice: ${outcome.complaint}\n${outcome.code === 2 ? `\n${KEYS_USAGE}` : ''}`)
  return outcome.code
}

async function runKeysCommand(
  args: readonly string[],
  dataDir: string,
  clock: Clock,
): Promise<CommandResult> {
  const [name = '', ...rest] = args
  if (['help', '--help', '-h'].includes(name)) return { text: KEYS_USAGE }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) return usageError(`there is no command "keys ${sanitizeForTerminal(name)}"`)
  const asked = parseKeyArgs(command, name, rest, Math.floor(clock.unixSeconds() * 1000))
  if ('complaint' in asked) return asked
  // Opening would make one, and an empty store says nothing but that the folder was the wrong one.
  if (!existsSync(join(dataDir, 'data.mdb'))) {
    return commandFailure(`there is no store in ${dataDir}: start the server once, or set SLUICE_DATA_DIR`)
  }
  try {
    return await withAccounts(dataDir, clock, (accounts) => command.run(accounts, asked))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return commandFailure(error.detail ?? error.kind)
  }
}

function parseKeyArgs(
  command: KeyCommand,
  name: string,
  args: string[],
  now: number,
): KeyCommandInput | CommandFailure {
  const options = Object.fromEntries(command.options.map((option) => [option, OPTIONS[option]]))
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    if (positionals.length !== command.operands) {
      return usageError(
        command.operands === 0 ? `keys ${name} takes options only` : `keys ${name} takes one hash`,
      )
    }
    return { options: values as KeyCommandOptions, operands: positionals, now }
  } catch (error) {
    return usageError(sanitizeForTerminal(error instanceof Error ? error.message : String(error)))
  }
}

function listKeys(accounts: AccountStore, { options, now }: KeyCommandInput): CommandResult {
  const { organization } = options
  if (organization !== undefined && accounts.organization(organization) === null) {
    return commandFailure(`there is no organization ${sanitizeForTerminal(organization)}`)
  }
  const keys = organization === undefined ? accounts.keys() : accounts.keysOf(organization)
  const rows = keys.map((key) => [
    key.hash,
    key.kind,
    keyRefusal(key, now) ?? 'enabled',
    key.limit === null ? 'no limit' : `$${nanosToDollars(key.limit)}`,
    key.organizationId,
    key.label,
    sanitizeForTerminal(key.name),
  ])
  return { text: formatTable([['HASH', 'KIND', 'STATE', 'LIMIT', 'ORGANIZATION', 'KEY', 'NAME'], ...rows]) }
}

async function createKey(accounts: AccountStore, { options, now }: KeyCommandInput): Promise<CommandResult> {
  const choice = keySpecFromOptions(accounts, options)
  if ('complaint' in choice) return choice
  const key = generateKey(choice.kind)
  const record = createKeyRecord(key, choice, now)
  await accounts.addKey(record)
  return { text: `${key}\n`, remark: `The key is shown this once. Its hash is ${record.hash}.\n` }
}

/** Short beginnings of a hash are too easily somebody else's. */
const SHORTEST_HASH = 8

function keyChangeCommand(done: string, change: (key: ApiKey, now: number) => ApiKey): KeyCommand {
  return {
    options: [],
    operands: 1,
    run: async (accounts, { operands: [asked = ''], now }) => {
      const wanted = asked.toLowerCase()
      if (wanted.length < SHORTEST_HASH)
        return usageError(`a hash is given with ${SHORTEST_HASH} characters or more`)
      const found = accounts.keys().filter(({ hash }) => hash.startsWith(wanted))
      if (found.length > 1)
        return commandFailure(
          `${found.length} keys begin with ${sanitizeForTerminal(asked)}: give more of the hash`,
        )
      const [key] = found
      const changed =
        key === undefined ? null : await accounts.changeKey(key.hash, (current) => change(current, now))
      if (changed === null) return commandFailure(`there is no key ${sanitizeForTerminal(asked)}`)
      return { text: `${done} ${changed.label} (${sanitizeForTerminal(changed.name)})\n` }
    },
  }
}
