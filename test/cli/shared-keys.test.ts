/** `sluice keys` on the database that the machines of a fleet share. */
import { readdirSync } from 'node:fs'
import { t } from 'tap'
import { hashKey } from '../../src/identity/api-keys.js'
import { organizationOf, workspaceOf } from '../support/data/accounts.js'
import { ReplicaGroup } from '../support/data/replicated-stores.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { runKeys } from './run-command.js'

void t.test('keys of a fleet by commands', { skip: WITHOUT_POSTGRES }, async (within) => {
  const cluster = await PostgresCluster.start(within)

  await within.test('what a command changes the machines have, with or without a replica here', async (t) => {
    const group = new ReplicaGroup(await cluster.database())
    await group.migrate()
    t.after(() => group.end())
    const machine = await group.add()
    const organization = organizationOf(1)
    const workspaces = [workspaceOf(2, organization.id)]
    await machine.accounts.addOrganization({ organization, workspaces, keys: [] })
    const elsewhere = tempFolder(t)
    for (const folder of [elsewhere, machine.dataDir]) {
      const created = await runKeys(folder, ['create', '--name', 'made by hand'], group.url)
      t.equal(created.code, 0, created.stderr)
      const hash = hashKey(created.stdout.trim())
      await machine.records.catchUp()
      t.equal(machine.accounts.key(hash)?.disabled, false)
      t.equal((await runKeys(folder, ['disable', hash], group.url)).code, 0)
      await machine.records.catchUp()
      t.equal(machine.accounts.key(hash)?.disabled, true)
      t.match((await runKeys(folder, ['list'], group.url)).stdout, hash)
    }
    t.strictSame(readdirSync(elsewhere), [], 'nothing was left where the command ran')
  })

  await within.test('a database without tables of ours is refused in one sentence', async (t) => {
    const listed = await runKeys(tempFolder(t), ['list'], await cluster.database())
    t.equal(listed.code, 2)
    t.match(listed.stderr, /SLUICE_DATABASE_URL.*sluice migrate/)
  })
})
