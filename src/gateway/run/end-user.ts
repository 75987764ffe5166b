/** The identity a provider is told instead of the caller's own words; raw identifiers never leave. */
import { hash } from 'node:crypto'
import type { Principal } from '../../base/principal.js'

const PREFIX = 'user-'
const HEX_CHARS = 40

/** Principals live as long as their key's record stays the same. */
const accounts = new WeakMap<Principal, string>()

/**
 * A stable pseudonym of the end user within the organization, or of the account when the caller named nobody.
 * The organization's id, which holds 74 random bits, keeps others from guessing names; two organizations with
 * the same user get different pseudonyms.
 */
export function endUserPseudonym(caller: Principal, user: string | undefined): string {
  if (user !== undefined && user !== '') return hashPseudonym(`user\n${caller.organizationId}\n${user}`)
  let account = accounts.get(caller)
  if (account === undefined) {
    account = hashPseudonym(`account\n${caller.organizationId}\n${caller.workspaceId ?? ''}`)
    accounts.set(caller, account)
  }
  return account
}

function hashPseudonym(text: string): string {
  return PREFIX + hash('sha256', text, 'hex').slice(0, HEX_CHARS)
}
