/** How keys with providers stand in a space of records: all of an organization in one record under its id. */
import type { ProviderKey } from '../provider-key-store.js'

export const PROVIDER_KEYS_TABLE = 'provider-keys'

export interface ProviderKeysRecord {
  readonly keys: readonly ProviderKey[]
}
