/** What a provider is told of an inference. */
import { hash } from 'node:crypto'
import type { Principal } from '../../base/principal.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { ProviderCall } from '../providers/port/provider.js'
import { serviceTierFor } from '../routing/tier.js'
import type { Generation } from './generation.js'

/** The call of one endpoint; `deadlineMs` is the total time of the inference. */
export function createProviderCall<R extends RoutedRequest>(
  { request, caller, id, simulate, startedAt, droppedFields }: Generation<R>,
  endpoint: ModelEndpoint,
  deadlineMs: number,
): ProviderCall<R> {
  // What an earlier attempt has left out says nothing of this one.
  droppedFields.length = 0
  return {
    request,
    endpoint,
    generationId: id,
    caller,
    endUser: endUserPseudonym(caller, request.user),
    serviceTier: serviceTierFor(request.service_tier, endpoint),
    simulate,
    deadlineAt: startedAt + deadlineMs,
    droppedFields,
  }
}

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
