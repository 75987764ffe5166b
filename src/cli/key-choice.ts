/** From the options of `sluice keys create` to what the key shall be. */
import { NANOS_PER_DOLLAR } from '../base/money.js'
import type { KeyKind } from '../base/principal.js'
import type { ApiKeySpec } from '../identity/api-keys.js'
import type { AccountStore } from '../store/account-store.js'
import { type CommandFailure, commandFailure, sanitizeForTerminal, usageError } from './command-result.js'

export interface KeyCommandOptions {
  readonly name?: string
  readonly management?: boolean
  readonly user?: string
  readonly organization?: string
  readonly workspace?: string
  readonly limit?: string
  readonly expires?: string
}

/** What `sluice keys create` was asked to make; a refusal when that cannot be. */
export function keySpecFromOptions(
  accounts: AccountStore,
  options: KeyCommandOptions,
): ApiKeySpec | CommandFailure {
  const { name = '', management = false, user, limit, expires } = options
  if (name === '' || name.length > 256) return usageError('a key needs a --name of 1 to 256 characters')
  if (management && (user !== undefined || options.workspace !== undefined)) {
    return usageError('a management key belongs to an organization, not to a --user or a --workspace')
  }
  if (user === '') return usageError('--user must not be empty')
  const dollarLimit = limit === undefined ? null : parseDollars(limit)
  if (Number.isNaN(dollarLimit)) return usageError('--limit must be dollars from 0 to 9000000, such as 12.50')
  const expiresAt = expires === undefined ? null : parseDateTime(expires)
  if (Number.isNaN(expiresAt)) return usageError('--expires must be a date-time such as 2030-01-31T12:00:00Z')
  const place = resolveKeyHome(accounts, options)
  if ('complaint' in place) return place
  const kind: KeyKind = management ? 'management' : user === undefined ? 'workspace' : 'personal'
  return {
    kind,
    name,
    organizationId: place.organizationId,
    workspaceId: management ? null : place.workspaceId,
    creatorUserId: user ?? null,
    limit: dollarLimit === null ? null : Math.round(dollarLimit * NANOS_PER_DOLLAR),
    expiresAt,
  }
}

interface KeyHome {
  readonly organizationId: string
  readonly workspaceId: string | null
}

/** Where a key shall live: what was asked, or the first there is. */
function resolveKeyHome(accounts: AccountStore, options: KeyCommandOptions): KeyHome | CommandFailure {
  const { organization, workspace } = options
  const home = workspace === undefined ? null : accounts.workspace(workspace)
  if (workspace !== undefined && home === null)
    return commandFailure(`there is no workspace ${sanitizeForTerminal(workspace)}`)
  const wanted = organization ?? home?.organizationId ?? accounts.organizations()[0]?.id
  if (wanted === undefined) return commandFailure('there is no organization yet: start the server once')
  if (accounts.organization(wanted) === null)
    return commandFailure(`there is no organization ${sanitizeForTerminal(wanted)}`)
  const first = home ?? accounts.workspacesOf(wanted)[0]
  if (first !== undefined && first.organizationId !== wanted) {
    return commandFailure(
      `workspace ${sanitizeForTerminal(first.id)} is not in organization ${sanitizeForTerminal(wanted)}`,
    )
  }
  return { organizationId: wanted, workspaceId: first?.id ?? null }
}

const DECIMAL = /^[0-9]{1,7}(?:\.[0-9]{1,9})?$/
const LARGEST_LIMIT = 9_000_000

function parseDollars(text: string): number {
  return DECIMAL.test(text) && Number(text) <= LARGEST_LIMIT ? Number(text) : Number.NaN
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

function parseDateTime(text: string): number {
  return DATE_TIME.test(text) ? Date.parse(text) : Number.NaN
}
