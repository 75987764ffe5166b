/** `sluice keys`: keys from the command line. What it changes counts for the next call of a server that runs. */
import { type Clock, systemClock, unixMs } from '../base/clock.js'
import { dollarsToNanos, MAX_DOLLARS, nanosToDollars } from '../base/money.js'
import { type CommandStoreSettings, isOfFleet, withStore } from '../compose/command-store.js'
import { type ApiKeySpec, addNewKey, keyRefusal } from '../identity/api-keys.js'
import type { AccountStore, ApiKey } from '../store/account-store.js'
import {
  type CommandOutput,
  failCommand,
  failUsage,
  formatTable,
  type PrintOutput,
  sanitizeForTerminal,
} from './command.js'
import {
  type CommandInput,
  resolveOrganization,
  runSubcommand,
  type StoreAccess,
  type Subcommand,
} from './command-table.js'

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

interface KeysContext {
  readonly accounts: AccountStore
  readonly clock: Clock
}

const SUBCOMMANDS: Readonly<Record<string, Subcommand<KeysContext>>> = {
  list: { options: ['organization'], run: listKeys },
  create: {
    options: ['name', 'user', 'organization', 'workspace', 'limit', 'expires'],
    flags: ['management'],
    run: createKey,
  },
  disable: keyChangeSubcommand('disabled', (key, now) => ({ ...key, disabled: true, updatedAt: now })),
  enable: keyChangeSubcommand('enabled', (key, now) => ({ ...key, disabled: false, updatedAt: now })),
  delete: keyChangeSubcommand('deleted', (key, now) => ({ ...key, deletedAt: now })),
}

/** Runs one command; see `runSubcommand`. */
export function keysCommand(
  args: readonly string[],
  settings: () => Promise<CommandStoreSettings>,
  print: PrintOutput,
  clock: Clock = systemClock,
): Promise<number> {
  const locate = async (): Promise<StoreAccess<KeysContext>> => {
    const config = await settings()
    return {
      dataDir: isOfFleet(config) ? null : config.dataDir,
      open: (run) => withStore(config, clock, ({ accounts }) => run({ accounts, clock })),
    }
  }
  return runSubcommand({ command: 'keys', usage: KEYS_USAGE, subcommands: SUBCOMMANDS, locate }, args, print)
}

function listKeys({ accounts, clock }: KeysContext, { options }: CommandInput): CommandOutput {
  const { organization } = options
  const isAll = organization === undefined
  const keys = isAll ? accounts.keys() : accounts.keysOf(resolveOrganization(accounts, organization))
  const rows = keys.map((key) => {
    const state = keyRefusal(key, unixMs(clock)) ?? 'enabled'
    const limit = key.limit === null ? 'no limit' : `$${nanosToDollars(key.limit)}`
    return [key.hash, key.kind, state, limit, key.organizationId, key.label, key.name]
  })
  const head = ['HASH', 'KIND', 'STATE', 'LIMIT', 'ORGANIZATION', 'KEY', 'NAME']
  return { text: formatTable([head, ...rows]) }
}

async function createKey({ accounts, clock }: KeysContext, input: CommandInput): Promise<CommandOutput> {
  const { key, record } = await addNewKey(accounts, keySpecFromOptions(accounts, input), unixMs(clock))
  return { text: `${key}\n`, remark: `The key is shown this once. Its hash is ${record.hash}.\n` }
}

function keySpecFromOptions(accounts: AccountStore, { options, flags }: CommandInput): ApiKeySpec {
  const { name = '', user, limit, expires } = options
  const management = flags.includes('management')
  if (name === '' || name.length > 256) failUsage('a key needs a --name of 1 to 256 characters')
  if (management && (user !== undefined || options.workspace !== undefined)) {
    failUsage('a management key belongs to an organization, not to a --user or a --workspace')
  }
  if (user === '') failUsage('--user must not be empty')
  const spendingLimit = limit === undefined ? null : parseDollars(limit)
  const expiresAt = expires === undefined ? null : parseDateTime(expires)
  const { organizationId, workspaceId } = resolveKeyHome(accounts, options)
  return {
    kind: management ? 'management' : user === undefined ? 'workspace' : 'personal',
    name,
    organizationId,
    workspaceId: management ? null : workspaceId,
    creatorUserId: user ?? null,
    limit: spendingLimit,
    expiresAt,
  }
}

/** Where a key shall live: what was asked, or the first there is. */
function resolveKeyHome(
  accounts: AccountStore,
  { organization, workspace }: CommandInput['options'],
): Pick<ApiKey, 'organizationId' | 'workspaceId'> {
  const home = workspace === undefined ? null : accounts.workspace(workspace)
  if (workspace !== undefined && home === null) {
    failCommand(`there is no workspace ${sanitizeForTerminal(workspace)}`)
  }
  const organizationId = resolveOrganization(accounts, organization ?? home?.organizationId)
  const found = home ?? accounts.workspacesOf(organizationId)[0]
  if (found !== undefined && found.organizationId !== organizationId) {
    const [id, wanted] = [found.id, organizationId].map(sanitizeForTerminal)
    failCommand(`workspace ${id} is not in organization ${wanted}`)
  }
  return { organizationId, workspaceId: found?.id ?? null }
}

const DOLLARS = /^[0-9]{1,7}(?:\.[0-9]{1,9})?$/

/** In nano-dollars. */
function parseDollars(text: string): number {
  const isLimit = DOLLARS.test(text) && Number(text) <= MAX_DOLLARS
  if (!isLimit) failUsage(`--limit must be dollars from 0 to ${MAX_DOLLARS}, such as 12.50`)
  return dollarsToNanos(Number(text))
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** Unix time in milliseconds. */
function parseDateTime(text: string): number {
  const time = DATE_TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) failUsage('--expires must be a date-time such as 2030-01-31T12:00:00Z')
  return time
}

/** Short beginnings of a hash fit several keys too easily. */
const MIN_HASH_CHARS = 8

function keyChangeSubcommand(
  done: string,
  change: (key: ApiKey, now: number) => ApiKey,
): Subcommand<KeysContext> {
  return {
    operand: 'hash',
    run: async ({ accounts, clock }, { operand }) => {
      const wanted = operand.toLowerCase()
      if (wanted.length < MIN_HASH_CHARS) {
        failUsage(`a hash is given with ${MIN_HASH_CHARS} characters or more`)
      }
      const [key, ...others] = accounts.keys().filter(({ hash }) => hash.startsWith(wanted))
      if (others.length > 0) {
        const beginning = sanitizeForTerminal(operand)
        failCommand(`${others.length + 1} keys begin with ${beginning}: give more of the hash`)
      }
      const changed =
        key === undefined
          ? null
          : await accounts.changeKey(key.hash, (current) => change(current, unixMs(clock)))
      if (changed === null) return failCommand(`there is no key ${sanitizeForTerminal(operand)}`)
      return { text: `${done} ${changed.label} (${sanitizeForTerminal(changed.name)})\n` }
    },
  }
}
