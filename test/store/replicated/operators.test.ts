/** What operators see of a fleet's records in PostgreSQL, and what becomes of the audit (002_records.sql). */
import { type Test, t } from 'tap'
import { trimRecords } from '../../../src/store/postgres/record-trimming.js'
import type { ScimMapping } from '../../../src/store/scim-store.js'
import { BEGAN, hashOf, idOf, keyOf, organizationOf, workspaceOf } from '../../support/data/accounts.js'
import { auditOf, issuerOf, policyOf } from '../../support/data/federation.js'
import { contentsOfDatabase, contentsOfReplica } from '../../support/data/replica-contents.js'
import { ReplicaGroup } from '../../support/data/replicated-stores.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { PostgresDatabases } from '../../support/servers/postgres-databases.js'

const ACTOR = { actor: hashOf('admin'), requestId: 'req-1', address: '192.0.2.1' }

const groupOf = (members: readonly string[]) => ({
  id: 'f1b0a7f0-0000-4000-8000-000000000001',
  organizationId: idOf(1),
  displayName: 'Staff',
  externalId: null,
  members,
  createdAt: BEGAN,
  updatedAt: BEGAN,
})

const MAPPING: ScimMapping = {
  id: idOf(30),
  organizationId: idOf(1),
  scimGroupId: groupOf([]).id,
  workspaceId: idOf(2),
  role: 'member',
  createdAt: BEGAN,
  updatedAt: BEGAN,
}

void t.test('records of a fleet for operators', { skip: WITHOUT_POSTGRES }, async (within) => {
  const databases = await PostgresDatabases.start(within)
  const newGroup = async (t: Test): Promise<ReplicaGroup> => {
    const group = new ReplicaGroup(await databases.create())
    t.after(() => group.end())
    return group
  }

  await within.test('views show every kind of record, whatever text it holds', async (t) => {
    const group = await newGroup(t)
    const { accounts, federation, scim, database } = await group.add()
    const keys = [keyOf(1, { name: 'a\0b “c” \\u0000 😀', limit: 9_000_000_000_000_000, expiresAt: BEGAN })]
    await accounts.addOrganization({
      organization: organizationOf(1),
      workspaces: [workspaceOf(2, idOf(1))],
      keys,
    })
    t.strictSame(accounts.key(hashOf(1)), keys[0])
    await federation.issuers.add(issuerOf(1), auditOf(1, { reason: 'half a character: \ud800' }))
    await federation.policies.add(policyOf(1), auditOf(2))
    await scim.putGroup(groupOf(['user 1']), ACTOR)
    await scim.addMapping(MAPPING, ACTOR)
    const rowsOf = (view: string) => database.query(`SELECT * FROM sluice.${view}`)
    t.match(await rowsOf('keys'), [
      { hash: hashOf(1), disabled: false, limit_nano_usd: 9_000_000_000_000_000 },
    ])
    t.match(await rowsOf('organizations'), [{ id: idOf(1), plan: 'team' }])
    t.match(await rowsOf('workspaces'), [{ id: idOf(2), organization: idOf(1) }])
    t.match(await rowsOf('federation_issuers'), [{ id: issuerOf(1).id }])
    t.match(await rowsOf('federation_policies'), [{ id: policyOf(1).id, enabled: true }])
    t.match(await rowsOf('directory_groups'), [{ id: groupOf([]).id, members: 1 }])
    t.match(await rowsOf('directory_mappings'), [{ id: MAPPING.id, role: 'member' }])
    t.equal((await rowsOf('audit_rows')).length, 4)
  })

  await within.test(
    'groups count on every machine at once, and each change has its audit row once',
    async (t) => {
      const group = await newGroup(t)
      const [a, b, c] = [await group.add(), await group.add(), await group.add()]
      await a.scim.putGroup(groupOf(['user 1', 'user 2']), ACTOR)
      t.equal(await b.scim.addMapping(MAPPING, ACTOR), true)
      t.equal(await c.scim.addMapping({ ...MAPPING, id: idOf(31) }, ACTOR), false, 'one for each pair')
      for (const { scim } of [a, b, c]) t.equal(scim.roleOf(idOf(2), 'user 1'), 'member')
      await c.scim.putGroup({ ...groupOf(['user 2']), updatedAt: BEGAN + 1 }, ACTOR)
      for (const { scim } of [a, b, c]) t.equal(scim.roleOf(idOf(2), 'user 1'), null)
      const removed = [a, b, c].map(({ scim }) => scim.removeMapping(MAPPING.id, true, BEGAN + 2, ACTOR))
      t.strictSame((await Promise.all(removed)).sort(), [false, false, true])
      for (const { scim } of [a, b, c]) t.equal(scim.roleOf(idOf(2), 'user 2'), 'member', 'kept for itself')
      const { rows, total } = await b.scim.auditPage(idOf(1), 0, 10)
      t.equal(total, 5)
      t.strictSame(
        rows.map(({ action }) => action),
        ['mapping.delete', 'role.keep', 'group.put', 'mapping.create', 'group.put'],
      )
      const inDatabase = await contentsOfDatabase(a.database)
      for (const { dataDir } of group.machines) t.strictSame(await contentsOfReplica(dataDir), inDatabase)
    },
  )

  await within.test('rows beyond what is kept go, those that are kept stay', async (t) => {
    const group = await newGroup(t)
    const { federation, database } = await group.add()
    const day = 24 * 60 * 60 * 1000
    await federation.appendAudit([
      auditOf(1, { at: BEGAN - 500 * day }),
      auditOf(2, { at: BEGAN - 300 * day }),
    ])
    const flood = Array.from({ length: 10_100 }, (_, n) => auditOf(n, { trail: 'refused' }))
    await federation.appendAudit(flood)
    await federation.appendAudit([auditOf(3, { at: BEGAN })])
    const before = await federation.auditPage(idOf(1), 'refused', 9_990, 100)
    t.equal(before.total, 10_000)
    t.equal(before.rows.length, 10)
    await trimRecords(database)
    t.strictSame(await federation.auditPage(idOf(1), 'refused', 9_990, 100), before)
    t.equal((await federation.auditPage(idOf(1), 'changes', 0, 10)).total, 2)
    const [left] = await database.query<{ count: number }>('SELECT count(*) AS count FROM sluice.audit')
    t.equal(left!.count, 10_002)
  })
  await within.test('a young log is not cut, so no machine loads its replica anew', async (t) => {
    const group = await newGroup(t)
    const { accounts, database } = await group.add()
    for (let n = 0; n < 3; n++) await accounts.addKey(keyOf(n))
    await trimRecords(database)
    const kept = await database.query<{ version: number }>(
      'SELECT version FROM sluice.changes ORDER BY version',
    )
    t.strictSame(
      kept.map(({ version }) => version),
      [0, 1, 2, 3],
    )
  })
})
