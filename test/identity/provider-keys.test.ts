import { t } from 'tap'
import { ProviderKeyRing } from '../../src/identity/provider-keys.js'
import { createSealer } from '../../src/identity/sealing-key.js'
import { type ProviderKey, providerKeyPurpose } from '../../src/store/provider-key-store.js'
import { idOf } from '../support/data/accounts.js'
import { providerKeyOf } from '../support/data/provider-keys.js'

const SEALER = createSealer(Buffer.alloc(32, 7))
const HERE = idOf(20)
const CALLER = { organizationId: idOf(1), workspaceId: HERE }

function sealed(number: number, about: Partial<ProviderKey> = {}): ProviderKey {
  const key = providerKeyOf(number, about)
  return { ...key, sealed: SEALER.seal(Buffer.from(`secret-${number}`), providerKeyPurpose(key)) }
}

function ringOf(keys: readonly ProviderKey[]): ProviderKeyRing {
  return new ProviderKeyRing({ keysOf: (id) => (id === CALLER.organizationId ? keys : []) }, SEALER)
}

void t.test('keys of the workspace go before those of the organization, others are not given', async (t) => {
  const ring = ringOf([
    sealed(1),
    sealed(2, { workspaceId: HERE }),
    sealed(3, { workspaceId: idOf(21) }),
    sealed(4, { provider: 'anthropic' }),
    sealed(5, { disabled: true, workspaceId: HERE }),
  ])
  t.strictSame(
    ring.keysOf(CALLER).map(({ secret }) => secret),
    ['secret-2', 'secret-1', 'secret-4'],
  )
  t.strictSame(
    ring.providerKeysFor(CALLER, 'openai').map(({ secret }) => secret),
    ['secret-2', 'secret-1'],
  )
  const outside = { ...CALLER, workspaceId: null }
  t.strictSame(
    ring.keysOf(outside).map(({ secret }) => secret),
    ['secret-1', 'secret-4'],
  )
  t.strictSame(ring.keysOf({ ...CALLER, organizationId: idOf(2) }), [])
})

void t.test('a seal is of one key of one organization: under another name nothing opens it', async (t) => {
  const { sealed: text } = sealed(1)
  for (const foreign of [
    providerKeyOf(2, { sealed: text }),
    providerKeyOf(1, { sealed: text, organizationId: idOf(3) }),
    providerKeyOf(1, { sealed: 'x' }),
  ])
    t.strictSame(new ProviderKeyRing({ keysOf: () => [foreign] }, SEALER).keysOf(CALLER), [])
})

void t.test('what is opened is opened once for as long as the list is the same', async (t) => {
  const keys = [sealed(1)]
  const ring = ringOf(keys)
  t.equal(ring.keysOf(CALLER)[0], ring.keysOf(CALLER)[0])
})
