/** Whose rows of the ledger a caller may go through, and how it says which of them it wants. */
import { throwFault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import { TurnSlices } from '../../base/turn-slices.js'
import { optionalTextParam, parsedParam, type TextField } from '../../http/params.js'
import type { People } from '../../identity/people.js'
import { reachOf } from '../../identity/reach.js'
import type { AccountStore, ApiKey } from '../../store/account-store.js'
import type { LedgerFilter, LedgerScope } from '../../store/ledger-store.js'

export type ScopeAccounts = Pick<AccountStore, 'key' | 'keysPageOf'>

const KEYS_AT_ONCE = 50
/** Of one person; more of them are made by no person. */
const MOST_KEYS = 1_000

/**
 * The operator reaches all organizations, or the one that is asked for; management its own; members what ran in
 * workspaces they are admins of, and what their own keys did elsewhere.
 */
export async function scopeOf(
  caller: Principal,
  asked: string | null,
  accounts: ScopeAccounts,
  people: People,
): Promise<LedgerScope> {
  if (caller.operator) return { organizationId: asked, only: null }
  const { organizationId } = caller
  // What is out of reach is not there.
  if (asked !== null && asked !== organizationId) throwFault('item-not-found')
  const { workspaces, userId } = reachOf(caller, people.roles)
  if (workspaces === 'all') return { organizationId, only: null }
  const led = [...workspaces].filter(([, role]) => role === 'admin').map(([id]) => id)
  const elsewhere = new Set([...workspaces.keys()].filter((id) => !led.includes(id)))
  const isOwn = ({ creatorUserId, workspaceId }: ApiKey): boolean =>
    creatorUserId !== null && creatorUserId === userId && workspaceId !== null && elsewhere.has(workspaceId)
  const keys = elsewhere.size === 0 ? [] : await keysWhere(accounts, organizationId, isOwn)
  return { organizationId, only: { workspaces: led, keys } }
}

async function keysWhere(
  accounts: ScopeAccounts,
  organizationId: string,
  isWanted: (key: ApiKey) => boolean,
): Promise<string[]> {
  const found: string[] = []
  const slices = new TurnSlices()
  for (let last: ApiKey | null = null; found.length < MOST_KEYS; ) {
    const page = accounts.keysPageOf(organizationId, last, KEYS_AT_ONCE)
    for (const key of page) if (isWanted(key)) found.push(key.hash)
    if (page.length < KEYS_AT_ONCE) break
    last = page.at(-1)!
    if (slices.isOver) await slices.next()
  }
  return found
}

// ── Parameters ──────────────────────────────────────────────────────────────

const LONGEST_TEXT = 256
const CONTROL = /\p{Cc}/u
const HASH = /^[0-9a-f]{64}$/
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/
const LATEST_MS = Date.parse('3000-01-01T00:00:00Z')

/** Text that stands in rows; null when absent. */
export function rowTextParam(description: string): TextField<string | null> {
  const schema = { type: 'string', minLength: 1, maxLength: LONGEST_TEXT, description }
  const note = `must be 1 to ${LONGEST_TEXT} characters, none of them a control character`
  return parsedParam(schema, null, note, (text) => {
    return text === '' || text.length > LONGEST_TEXT || CONTROL.test(text) ? null : text
  })
}

function timeParam(description: string): TextField<number | null> {
  const note =
    'must be a day such as 2026-11-20 or a date-time with a zone such as 2026-11-20T12:00:00Z, from 1970 to 3000'
  return parsedParam({ type: 'string', description }, null, note, (text) => {
    const at = TIME.test(text) ? Date.parse(text) : Number.NaN
    return at >= 0 && at <= LATEST_MS ? at : null
  })
}

/** What both operations on many rows take. */
export const ROW_FILTER = {
  from: timeParam('From this time on (UTC where it is a day).'),
  to: timeParam('Before this time.'),
  key: parsedParam(
    { type: 'string', pattern: HASH.source, description: 'Hash of the key.' },
    null,
    'must be the hash of a key: 64 lower-case hex digits',
    (text) => (HASH.test(text) ? text : null),
  ),
  model: rowTextParam('Model that answered.'),
  provider: rowTextParam('Name of the provider that answered, as rows show it.'),
  organization_id: optionalTextParam(
    'Only of this organization: for the operator, whose lists hold all of them otherwise.',
  ),
}

interface AskedRows extends Pick<LedgerFilter, 'model' | 'provider'> {
  readonly key: string | null
}

/** The filter that was asked for. */
export function filterOf(
  { key, model, provider }: AskedRows,
  scope: LedgerScope,
  time: Pick<LedgerFilter, 'from' | 'to'>,
): LedgerFilter {
  return { scope, ...time, keyHash: key, model, provider }
}

/** The end of what has no end. */
export const END_OF_TIME = LATEST_MS
