/** With which credentials the endpoints of a plan are called: the caller's own and the operator's. */
import type { Principal } from '../../base/principal.js'
import type { CallerKey } from '../catalog/caller-key.js'
import type { Model, ModelEndpoint } from '../catalog/catalog.js'
import type { HealthRegistry } from '../health/health-registry.js'

interface CredentialState {
  readonly health: Pick<HealthRegistry, 'isResting'>
}

/**
 * Keys before the operator's credential, and as many behind it, that one call is tried with at an endpoint: whoever
 * brings many that are refused must not make many calls of each.
 */
const MOST_TRIED = 5

/**
 * The endpoints in their order, each once for every credential it may be called with: the caller's keys that go first,
 * the operator's unless one of those keeps it out, the caller's other keys. One that is at its limit or keeps failing
 * goes behind the others of its endpoint. The very list for a caller that has no keys, which is nearly every one.
 * @param keys that the caller may use, in the order of trial
 */
export function withCredentials(
  endpoints: readonly ModelEndpoint[],
  caller: Principal,
  keys: readonly CallerKey[],
  { health }: CredentialState,
): readonly ModelEndpoint[] {
  if (keys.length === 0) return endpoints
  return endpoints.flatMap((endpoint) => {
    const { callerKeys } = endpoint.provider
    if (callerKeys === undefined) return [endpoint]
    const isResting = (key: CallerKey | null): boolean =>
      health.isResting(
        key === null ? endpoint : callerKeys.identityUnder(endpoint, key),
        caller.organizationId,
      )
    const { first, behind, operators } = fittingKeys(endpoint, keys)
    const some = (all: readonly CallerKey[]) => behindIf(isResting, all).slice(0, MOST_TRIED)
    const tried = behindIf(isResting, [...some(first), ...operators, ...some(behind)])
    return tried.map((key) => (key === null ? endpoint : callerKeys.endpointUnder(endpoint, key)))
  })
}

/** Those that the condition holds for go behind the others. */
function behindIf<T>(condition: (each: T) => boolean, all: readonly T[]): readonly T[] {
  const last = all.filter(condition)
  return last.length === 0 ? all : [...all.filter((each) => !last.includes(each)), ...last]
}

/** `operators`: its credential, which is null, where it may be used. */
function fittingKeys({ provider, model }: ModelEndpoint, keys: readonly CallerKey[]) {
  const fitting = keys.filter((key) => key.provider === provider.slug && isFor(key, model))
  const first = fitting.filter(({ priority }) => priority === 'first')
  return {
    first,
    behind: fitting.filter(({ priority }) => priority === 'fallback'),
    operators: first.every(({ allowFallback }) => allowFallback) ? [null] : [],
  }
}

function isFor({ models }: CallerKey, { id, entryId }: Model): boolean {
  return models === null || models.includes(id) || models.includes(entryId)
}
