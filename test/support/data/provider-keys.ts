/** Keys that organizations have with providers. */
import type { ProviderKey } from '../../../src/store/provider-key-store.js'
import { BEGAN, idOf } from './accounts.js'

export function providerKeyOf(number: number, about: Partial<ProviderKey> = {}): ProviderKey {
  return {
    id: idOf(1_000 + number),
    organizationId: idOf(1),
    workspaceId: null,
    provider: 'openai',
    name: `key “${number}” 😀`,
    label: 'sk-abc…1234',
    sealed: 'c2VhbGVk',
    priority: 'first',
    allowFallback: true,
    models: null,
    disabled: false,
    createdAt: BEGAN + number,
    updatedAt: null,
    ...about,
  }
}
