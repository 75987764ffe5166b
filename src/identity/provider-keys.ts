/** The keys that callers have with providers, opened: what calls and files of theirs go there with. */
import type { Principal } from '../base/principal.js'
import { type ProviderKey, type ProviderKeyStore, providerKeyPurpose } from '../store/provider-key-store.js'
import type { Sealer } from './sealing-key.js'

/** A caller's credential with a provider. Equal as objects for as long as nothing of the organization's keys changes. */
export interface OwnProviderKey
  extends Pick<
    ProviderKey,
    'id' | 'organizationId' | 'workspaceId' | 'provider' | 'priority' | 'allowFallback' | 'models'
  > {
  /** Never logged, never shown. */
  readonly secret: string
}

const NO_KEYS: readonly OwnProviderKey[] = Object.freeze([])

export class ProviderKeyRing {
  readonly #store: Pick<ProviderKeyStore, 'keysOf'>
  readonly #sealer: Pick<Sealer, 'open'>
  /** By the list they were opened from, which is another one as soon as any of them has changed. */
  readonly #opened = new WeakMap<readonly ProviderKey[], readonly OwnProviderKey[]>()

  constructor(store: Pick<ProviderKeyStore, 'keysOf'>, sealer: Pick<Sealer, 'open'>) {
    this.#store = store
    this.#sealer = sealer
  }

  /**
   * The keys that a caller may use now, at every provider: those of its workspace before those of its organization,
   * each the oldest first. For a caller that has none, which is the commonest, one read of a record that is not there.
   */
  keysOf({
    organizationId,
    workspaceId,
  }: Pick<Principal, 'organizationId' | 'workspaceId'>): readonly OwnProviderKey[] {
    const all = this.#openedOf(organizationId)
    if (all.length === 0) return NO_KEYS
    const ofWorkspace = workspaceId === null ? [] : all.filter((key) => key.workspaceId === workspaceId)
    return [...ofWorkspace, ...all.filter((key) => key.workspaceId === null)]
  }

  /** As `keysOf`, at one provider. */
  providerKeysFor(
    caller: Pick<Principal, 'organizationId' | 'workspaceId'>,
    provider: string,
  ): readonly OwnProviderKey[] {
    return this.keysOf(caller).filter((key) => key.provider === provider)
  }

  #openedOf(organizationId: string): readonly OwnProviderKey[] {
    const records = this.#store.keysOf(organizationId)
    if (records.length === 0) return NO_KEYS
    let opened = this.#opened.get(records)
    if (opened === undefined) {
      opened = records.flatMap((record) => this.#open(record))
      this.#opened.set(records, opened)
    }
    return opened
  }

  /** None of one that is disabled, or that the sealing key of this machine does not open. */
  #open(record: ProviderKey): OwnProviderKey[] {
    if (record.disabled) return []
    const secret = this.#sealer.open(record.sealed, providerKeyPurpose(record))?.toString()
    if (secret === undefined) return []
    const { id, organizationId, workspaceId, provider, priority, allowFallback, models } = record
    return [
      Object.freeze({ id, organizationId, workspaceId, provider, priority, allowFallback, models, secret }),
    ]
  }
}
