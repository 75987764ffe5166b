/** With which credentials the endpoints of a plan are called: the caller's own and the operator's. */
import type { Principal } from '../../base/principal.js'
import type { CallerKey } from '../catalog/caller-key.js'
import type { Model, ModelEndpoint } from '../catalog/catalog.js'
import type { HealthRegistry } from '../health/health-registry.js'

interface CredentialState {
  /** The keys that a caller may use, those that go first in front; absent where there are none. */
  readonly keysOf?: (caller: Principal) => readonly CallerKey[]
  readonly health: Pick<HealthRegistry, 'isResting'>
}

/**
 * The endpoints in their order, each once for every credential it may be called with: the caller's keys that go first,
 * the operator's unless one of those keeps it out, the caller's other keys. One that is at its limit or keeps failing
 * goes behind the others of its endpoint. The very list for a caller that has no keys, which is nearly every one.
 */
export function withCredentials(
  endpoints: readonly ModelEndpoint[],
  caller: Principal,
  { keysOf, health }: CredentialState,
): readonly ModelEndpoint[] {
  const keys = keysOf?.(caller)
  if (keys === undefined || keys.length === 0) return endpoints
  const isResting = (endpoint: ModelEndpoint): boolean => health.isResting(endpoint, caller.organizationId)
  return endpoints.flatMap((endpoint) => {
    const all = underKeys(endpoint, keys)
    if (all.length === 1) return all
    return [...all.filter((each) => !isResting(each)), ...all.filter(isResting)]
  })
}

function underKeys(endpoint: ModelEndpoint, keys: readonly CallerKey[]): readonly ModelEndpoint[] {
  const { slug, callerKeys } = endpoint.provider
  if (callerKeys === undefined) return [endpoint]
  const fitting = keys.filter((key) => key.provider === slug && isFor(key, endpoint.model))
  const first = fitting.filter(({ priority }) => priority === 'first')
  const behind = fitting.filter(({ priority }) => priority === 'fallback')
  const under = (key: CallerKey): ModelEndpoint => callerKeys.endpointUnder(endpoint, key)
  const operators = first.every(({ allowFallback }) => allowFallback) ? [endpoint] : []
  return [...first.map(under), ...operators, ...behind.map(under)]
}

function isFor({ models }: CallerKey, { id, entryId }: Model): boolean {
  return models === null || models.includes(id) || models.includes(entryId)
}
