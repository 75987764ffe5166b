/** From the options of `sluice keys create` to what the key shall be. */
import { NANOS_PER_DOLLAR } from '../base/money.js'
import type { KeyKind } from '../base/principal.js'
import type { KeyChoice } from '../identity/api-keys.js'
import type { AccountStore } from '../store/account-store.js'
import { failure, misuse, type Refusal, shown } from './outcome.js'

export interface KeyOptions {
  readonly name?: string
  readonly management?: boolean
  readonly user?: string
  readonly organization?: string
  readonly workspace?: string
  readonly limit?: string
  readonly expires?: string
}

/** What `sluice keys create` was asked to make; a refusal when that cannot be. */
export function chosenKey(accounts: AccountStore, options: KeyOptions): KeyChoice | Refusal {
  const { name = '', management = false, user, limit, expires } = options
  if (name === '' || name.length > 256) return misuse('a key needs a --name of 1 to 256 characters')
  if (management && (user !== undefined || options.workspace !== undefined)) {
    return misuse('a management key belongs to an organization, not to a --user or a --workspace')
  }
  if (user === '') return misuse('--user must not be empty')
  const dollarLimit = limit === undefined ? null : decimal(limit)
  if (Number.isNaN(dollarLimit)) return misuse('--limit must be dollars from 0 to 9000000, such as 12.50')
  const expiresAt = expires === undefined ? null : dateTime(expires)
  if (Number.isNaN(expiresAt)) return misuse('--expires must be a date-time such as 2030-01-31T12:00:00Z')
  const place = placeOf(accounts, options)
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

interface Place {
  readonly organizationId: string
  readonly workspaceId: string | null
}

/** Where a key shall live: what was asked, or the first there is. */
function placeOf(accounts: AccountStore, options: KeyOptions): Place | Refusal {
  const { organization, workspace } = options
  const home = workspace === undefined ? null : accounts.workspace(workspace)
  if (workspace !== undefined && home === null) return failure(`there is no workspace ${shown(workspace)}`)
  const wanted = organization ?? home?.organizationId ?? accounts.organizations()[0]?.id
  if (wanted === undefined) return failure('there is no organization yet: start the server once')
  if (accounts.organization(wanted) === null) return failure(`there is no organization ${shown(wanted)}`)
  const first = home ?? accounts.workspacesOf(wanted)[0]
  if (first !== undefined && first.organizationId !== wanted) {
    return failure(`workspace ${shown(first.id)} is not in organization ${shown(wanted)}`)
  }
  return { organizationId: wanted, workspaceId: first?.id ?? null }
}

const DECIMAL = /^[0-9]{1,7}(?:\.[0-9]{1,9})?$/
const LARGEST_LIMIT = 9_000_000

function decimal(text: string): number {
  return DECIMAL.test(text) && Number(text) <= LARGEST_LIMIT ? Number(text) : Number.NaN
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

function dateTime(text: string): number {
  return DATE_TIME.test(text) ? Date.parse(text) : Number.NaN
}
