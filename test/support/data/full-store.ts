/** Something of every kind for an embedded store, as a server leaves it. */
import fc from 'fast-check'
import { newGenerationId } from '../../../src/base/ids.js'
import { createSealer, loadSealingKey } from '../../../src/identity/sealing-key.js'
import { SigningKeys } from '../../../src/identity/signing-keys.js'
import { JournalWriter } from '../../../src/ledger/journal/journal-writer.js'
import { journalName, ledgerPaths } from '../../../src/ledger/journal/segment-format.js'
import { encodeClosedLine, encodePayerLine } from '../../../src/store/ledger/row-text.js'
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import { providerKeyPurpose } from '../../../src/store/provider-key-store.js'
import type { ScimGroup, ScimMapping } from '../../../src/store/scim-store.js'
import { ledgerRow } from '../arbitraries/ledger-rows.js'
import { FakeClock } from '../timing/fake-clock.js'
import { BEGAN, hashOf, idOf, keyOf, organizationOf, workspaceOf } from './accounts.js'
import {
  ACTOR,
  addMembers,
  connectionOf,
  type DirectoryStoresOfTest,
  directoryGroupOf,
  mappingOf,
  memberOf,
  requestOf,
} from './directory.js'
import { auditOf, issuerOf, policyOf } from './federation.js'
import { providerKeyOf } from './provider-keys.js'
import { providerOf, sessionOf } from './sessions.js'

const AT = { createdAt: BEGAN, updatedAt: BEGAN }
const GROUP: ScimGroup = {
  ...AT,
  ...{
    id: idOf(70),
    organizationId: idOf(1),
    displayName: 'makers',
    externalId: null,
    members: ['ann', 'bob\0'],
  },
}
const MAPPING: ScimMapping = {
  ...AT,
  ...{ id: idOf(71), organizationId: idOf(1), scimGroupId: idOf(70), workspaceId: idOf(2), role: 'admin' },
}
/** What is under the seal of the first sign-in provider. */
export const CLIENT_SECRET = 'a secret of the client'
/** Larger than a piece of a content, and not a multiple of it. */
const LARGE_BYTES = 700_001

/** Fills the store of a folder, and closes it. */
export async function fillStore(folder: string): Promise<void> {
  const clock = new FakeClock()
  const store = openLmdbStore({ path: folder, unixSeconds: () => clock.unixSeconds() })
  const { accounts, federation, scim, sessions, items, files, memory } = store
  await accounts.addOrganization({
    organization: organizationOf(1, { name: 'one \0 é 東', credits: 12_345_678_901 }),
    workspaces: [workspaceOf(2, idOf(1)), workspaceOf(3, idOf(1))],
    keys: Array.from({ length: 1_200 }, (_, n) => keyOf(n, { limit: n, createdAt: BEGAN + n })),
  })
  await accounts.changeKey(hashOf(7), (key) => ({ ...key, deletedAt: BEGAN + 1 }))
  // One that is deleted leaves nothing to carry over.
  await accounts.addWorkspace(workspaceOf(4, idOf(1)))
  await accounts.removeWorkspace(idOf(4), BEGAN + 1)
  await federation.issuers.add(issuerOf(1), auditOf(1))
  await federation.policies.add(policyOf(1), auditOf(2))
  await federation.appendAudit(Array.from({ length: 777 }, (_, n) => auditOf(10 + n, { trail: 'issued' })))
  const sealer = createSealer(loadSealingKey(folder))
  await new SigningKeys({ store: federation, sealer, clock }).maintain()
  const sealedSecret = sealer.seal(Buffer.from(CLIENT_SECRET), providerOf(1).id)
  await sessions.providers.add(providerOf(1, { sealedSecret }), auditOf(3))
  await sessions.providers.add(providerOf(2), auditOf(4))
  await sessions.addSession(sessionOf(1), { hash: hashOf('attempt'), expiresAt: BEGAN + 1 })
  const own = providerKeyOf(1, { organizationId: idOf(1) })
  const sealed = sealer.seal(Buffer.from(CLIENT_SECRET), providerKeyPurpose(own))
  await store.providerKeys.add({ ...own, sealed })
  const actor = { hash: hashOf(1) } as never
  await scim.putGroup(GROUP, actor)
  await scim.addMapping(MAPPING, actor)
  await fillDirectory(store)
  for (let n = 1; n <= 100; n++) await items.create({ name: `item ${n} \0 é`, description: '', price: n / 7 })
  for (const id of [1, 17, 50, 99, 100]) await items.remove(id)
  const place = { organizationId: idOf(1), workspaceId: idOf(2), origin: 'uploaded', purpose: null } as const
  await files.createFile({ ...place, filename: 'small.txt' }, Buffer.from('some text'))
  await files.createFile({ ...place, filename: 'large.bin' }, Buffer.alloc(LARGE_BYTES, 'abcdefg'))
  await memory.change(idOf(2), (texts) => {
    texts.put('notes/first.md', 'a \0 b é')
    texts.put('empty', '')
  })
  await store.close()
  writeJournal(folder)
}

export const FILLED_ROWS = 300
/** A connection with people of every kind, a removal that is held, and a log. */
async function fillDirectory(store: DirectoryStoresOfTest): Promise<void> {
  const { connections, members, groups, roles } = store.directory
  await connections.addConnection(connectionOf(1, { heldFrom: 0, heldShare: 0 }), ACTOR)
  await addMembers(store, 20)
  await addMembers(store, 1, 30, { connectionId: null })
  const group = directoryGroupOf(1)
  const ids = [1, 2, 3].map((n) => memberOf(n).id)
  await groups.addGroup(group, [...ids, 'nobody \0 é'], ACTOR, new Map([[ids[0]!, 'Ann']]))
  const removed = [{ op: 'remove', members: [ids[2]!] }] as const
  await groups.changeGroup(group.id, (current) => ({ group: current, members: removed }), BEGAN + 1, ACTOR)
  await members.removeMember(memberOf(4).id, () => null, BEGAN + 2, ACTOR)
  await store.scim.addMapping(mappingOf(1, group.id, { workspaceId: idOf(3) }), ACTOR)
  const direct = {
    organizationId: idOf(1),
    workspaceId: idOf(3),
    memberId: memberOf(5).id,
    role: 'admin',
  } as const
  await roles.putDirectRole(direct, BEGAN + 3, ACTOR)
  for (let n = 1; n <= 40; n++) connections.logRequest(requestOf(n, { quirks: ['capital-op'] }))
}

/** No process has such a number. */
const DEAD_PID = 2 ** 30

/** What a worker that was killed has answered: it is in no ledger yet. */
function writeJournal(folder: string): void {
  const { journals } = ledgerPaths(folder)
  const fail = (error: unknown): never => {
    throw error
  }
  const journal = journalName(BEGAN, DEAD_PID, 0)
  const writer = new JournalWriter({ folder: journals, journal, onFailing: fail, onRecovered: () => {} })
  const rows = fc.sample(fc.tuple(ledgerRow, fc.nat(1e9)), { numRuns: FILLED_ROWS, seed: 20 })
  for (const [n, [row, cost]] of rows.entries()) {
    const payers = { keyHash: hashOf(n % 5), organizationId: idOf(1), workspaceId: idOf(2) }
    const id = newGenerationId(Date.now() - n * 60_000)
    writer.append(encodeClosedLine({ ...row, id, cost }), encodePayerLine({ ...row, ...payers }))
  }
  writer.close()
}
