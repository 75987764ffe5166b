/** What a provider is told of a call. */
import { hash } from 'node:crypto'
import type { Principal } from '../../base/principal.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { ProviderCall } from '../providers/port/provider.js'
import { fitRequest } from '../routing/parameters.js'
import { serviceTierFor } from '../routing/plan.js'
import type { Generation } from './generation.js'

/**
 * The call of one endpoint; `deadlineMs` is the total time of the inference. `droppedFields` takes what it leaves out:
 * of an attempt beside another one a list of its own.
 */
export function createProviderCall<R extends RoutedRequest>(
  generation: Generation<R>,
  endpoint: ModelEndpoint,
  deadlineMs: number,
  repeatable: boolean,
  droppedFields = generation.droppedFields,
): ProviderCall<R> {
  const { request, operation, caller, id, simulate, startedAt } = generation
  // What an earlier attempt has left out says nothing of this one.
  if (droppedFields.length > 0) droppedFields.length = 0
  return {
    request: fitRequest(request, operation, endpoint, droppedFields),
    endpoint,
    generationId: id,
    caller,
    endUser: endUserPseudonym(caller, request.user, request.account),
    serviceTier: serviceTierFor(request.service_tier, endpoint),
    simulate,
    deadlineAt: startedAt + deadlineMs,
    repeatable,
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
 * the same user get different pseudonyms. `of`: whatever else the caller named the user by.
 */
export function endUserPseudonym(caller: Principal, user: string | undefined, of?: string): string {
  if (of !== undefined) return hashPseudonym(`user\n${caller.organizationId}\n${user ?? ''}\n${of}`)
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
