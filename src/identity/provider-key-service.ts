/** What administrators do with the keys that their organization has with providers. */
import { applyChanges } from '../base/changes.js'
import { type Clock, unixMs } from '../base/clock.js'
import { Fault, invalidInput } from '../base/fault.js'
import { newUuidV7 } from '../base/ids.js'
import type { AccountStore } from '../store/account-store.js'
import {
  MOST_PROVIDER_KEYS,
  type ProviderKey,
  type ProviderKeyPriority,
  type ProviderKeyStore,
  providerKeyPurpose,
} from '../store/provider-key-store.js'
import { keyLabel } from './api-keys.js'
import { type Reach, roleIn } from './reach.js'
import type { Sealer } from './sealing-key.js'

type OptionalMembers<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** In the words of the wire. */
type ProviderKeyTerms = OptionalMembers<{
  priority: ProviderKeyPriority
  allow_fallback: boolean
  models: readonly string[] | null
  disabled: boolean
}>

type NewProviderKey = ProviderKeyTerms & {
  readonly provider: string
  readonly name: string
  readonly key: string
} & OptionalMembers<{ workspace_id: string | null }>

type ProviderKeyChanges = ProviderKeyTerms & OptionalMembers<{ name: string; key: string }>

export interface ProviderKeyPorts {
  readonly providerKeys: ProviderKeyStore
  readonly accounts: Pick<AccountStore, 'workspace'>
  readonly sealer: Sealer
  readonly clock: Clock
  /** Short names of the providers that take keys of callers now. */
  readonly takers: () => readonly string[]
}

const TOO_MANY = new Fault('conflict', {
  note: `An organization has at most ${MOST_PROVIDER_KEYS} provider keys`,
})

/** Management reaches all keys of its organization, an admin of workspaces those of these workspaces. */
export class ProviderKeyService {
  readonly #ports: ProviderKeyPorts

  constructor(ports: ProviderKeyPorts) {
    this.#ports = ports
  }

  list(reach: Reach): readonly ProviderKey[] {
    return this.#ports.providerKeys.keysOf(reach.organizationId).filter((key) => reaches(reach, key))
  }

  /** Null when there is none within reach; callers cannot tell whether there is one beyond it. */
  find(reach: Reach, id: string): ProviderKey | null {
    return this.list(reach).find((key) => key.id === id) ?? null
  }

  /** Fails with `invalid-input` for a provider that takes none and a workspace out of reach, `conflict` for one too many. */
  async create(reach: Reach, wanted: NewProviderKey): Promise<ProviderKey> {
    const { providerKeys, clock } = this.#ports
    const workspaceId = this.#workspaceFor(reach, wanted.workspace_id)
    this.#requireTaker(wanted.provider)
    const { provider, name, key, priority, allow_fallback, models, disabled } = wanted
    const now = unixMs(clock)
    const identity = { id: newUuidV7(now), organizationId: reach.organizationId }
    const record: ProviderKey = {
      ...identity,
      ...{ workspaceId, provider, name, label: keyLabel(key), sealed: this.#seal(identity, key) },
      priority: priority ?? 'first',
      allowFallback: allow_fallback ?? true,
      models: models ?? null,
      disabled: disabled ?? false,
      createdAt: now,
      updatedAt: null,
    }
    if (!(await providerKeys.add(record))) throw TOO_MANY
    return record
  }

  async change(reach: Reach, id: string, changes: ProviderKeyChanges): Promise<ProviderKey | null> {
    const found = this.find(reach, id)
    if (found === null || Object.values(changes).every((value) => value === undefined)) return found
    const { name, key, priority, allow_fallback: allowFallback, models, disabled } = changes
    const renewed = key === undefined ? {} : { label: keyLabel(key), sealed: this.#seal(found, key) }
    const terms = { name, priority, allowFallback, models, disabled, updatedAt: unixMs(this.#ports.clock) }
    return this.#ports.providerKeys.change(reach.organizationId, id, (current) =>
      applyChanges(current, { ...terms, ...renewed }),
    )
  }

  /** False when there is none within reach. */
  async remove(reach: Reach, id: string): Promise<boolean> {
    return this.find(reach, id) !== null && this.#ports.providerKeys.remove(reach.organizationId, id)
  }

  #seal(identity: Pick<ProviderKey, 'id' | 'organizationId'>, key: string): string {
    return this.#ports.sealer.seal(Buffer.from(key), providerKeyPurpose(identity))
  }

  #requireTaker(provider: string): void {
    const takers = this.#ports.takers()
    if (takers.includes(provider)) return
    const others = takers.length === 0 ? 'none does' : `these do: ${takers.join(', ')}`
    throw invalidInput(['body', 'provider'], `is no provider that takes keys of callers; ${others}`)
  }

  /** For management the organization as a whole unless a workspace is named; others have to name one of theirs. */
  #workspaceFor(reach: Reach, asked: string | null | undefined): string | null {
    if (asked === undefined || asked === null) {
      if (reach.workspaces === 'all') return null
      const [only, another] = [...reach.workspaces.keys()].filter((id) => roleIn(reach, id) === 'admin')
      if (asked === undefined && only !== undefined && another === undefined) return only
    } else if (
      this.#ports.accounts.workspace(asked)?.organizationId === reach.organizationId &&
      roleIn(reach, asked) === 'admin'
    )
      return asked
    throw invalidInput(['body', 'workspace_id'], 'is no workspace that you administer')
  }
}

function reaches(reach: Reach, { workspaceId }: ProviderKey): boolean {
  return workspaceId === null ? reach.workspaces === 'all' : roleIn(reach, workspaceId) === 'admin'
}
