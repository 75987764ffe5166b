/** Federation in a fleet: three machines with a replica each over one PostgreSQL, asked in turn, are one store. */
import { t } from 'tap'
import type { FederationStore, OwnedRecord, OwnedRecords } from '../../src/store/federation-store.js'
import { createFederationStore, FEDERATION_AUDIT } from '../../src/store/records/federation.js'
import { ReplicaGroup } from '../support/data/replicated-stores.js'
import { WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { PostgresDatabases } from '../support/servers/postgres-databases.js'
import { federationSuite, RETENTION } from './federation-suite.js'

const MACHINES = 3

/** What all machines have to say the same of; the answer of the first. */
function agreed<T>(answers: readonly T[]): T {
  const texts = new Set(answers.map((answer) => JSON.stringify(answer)))
  if (texts.size > 1) throw new Error(`machines differ: ${[...texts].join(' ')}`)
  return answers[0]!
}

function recordsInTurn<T extends OwnedRecord>(
  stores: readonly OwnedRecords<T>[],
  next: () => number,
): OwnedRecords<T> {
  return {
    get: (id) => agreed(stores.map((store) => store.get(id))),
    listOf: (organizationId) => agreed(stores.map((store) => store.listOf(organizationId))),
    add: (record, audit) => stores[next()]!.add(record, audit),
    change: (id, change, audit) => stores[next()]!.change(id, change, audit),
    remove: (id, audit) => stores[next()]!.remove(id, audit),
  }
}

function inTurn(stores: readonly FederationStore[]): FederationStore {
  let calls = 0
  const next = (): number => calls++ % stores.length
  return {
    issuers: recordsInTurn(
      stores.map(({ issuers }) => issuers),
      next,
    ),
    policies: recordsInTurn(
      stores.map(({ policies }) => policies),
      next,
    ),
    signingKeyRing: () => agreed(stores.map((store) => store.signingKeyRing())),
    changeSigningKeyRing: (change) => stores[next()]!.changeSigningKeyRing(change),
    appendAudit: (rows) => stores[next()]!.appendAudit(rows),
    auditPage: (organizationId, trail, offset, limit) =>
      stores[next()]!.auditPage(organizationId, trail, offset, limit),
  }
}

void t.test('federation in a fleet', { skip: WITHOUT_POSTGRES }, async (within) => {
  const databases = await PostgresDatabases.start(within)
  federationSuite({
    name: 'replicated',
    within,
    place: async (t) => {
      const group = new ReplicaGroup(await databases.create())
      t.after(() => group.end())
      const folders = Array.from({ length: MACHINES }, () => group.newFolder())
      const open = async (): Promise<FederationStore> => {
        group.openAll(folders)
        const stores = group.machines.map(({ records }) =>
          createFederationStore(
            records,
            records.auditBook('federation', { ...FEDERATION_AUDIT, ...RETENTION }),
          ),
        )
        for (const { records } of group.machines) await records.catchUp()
        return inTurn(stores)
      }
      let store = await open()
      return {
        get store() {
          return store
        },
        reopen: async () => {
          await group.closeAll()
          store = await open()
        },
      }
    },
  })
})
