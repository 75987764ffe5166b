/** Texts of models in PostgreSQL: by the tool as everywhere, and over machines. */
import { type Test, t } from 'tap'
import { createPostgresMemoryStore } from '../../../src/store/postgres/memory.js'
import type { Store } from '../../../src/store/store.js'
import { memorySuite } from '../../conformance/memory-suite.js'
import { idOf } from '../../support/data/accounts.js'
import { WITHOUT_PGBOUNCER } from '../../support/servers/pgbouncer.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { openWorkerDatabase, PostgresDatabases } from '../../support/servers/postgres-databases.js'

const openMemory = (t: Test, url: string): Store['memory'] => {
  const database = openWorkerDatabase(url)
  t.after(() => database.close())
  return createPostgresMemoryStore(database)
}

/** Only asked for the workspace of a caller that names none. */
const NO_ACCOUNTS = { workspacesOf: () => [] } as unknown as Store['accounts']

for (const { name, pooled, skip } of [
  { name: 'postgres', pooled: false, skip: WITHOUT_POSTGRES },
  { name: 'postgres behind pgbouncer', pooled: true, skip: WITHOUT_POSTGRES || WITHOUT_PGBOUNCER },
]) {
  void t.test(name, { skip }, async (within) => {
    const databases = await PostgresDatabases.start(within, { pooled })
    memorySuite({
      name,
      within,
      place: () => databases.create(),
      open: (t, url) => ({ memory: openMemory(t, url), accounts: NO_ACCOUNTS }),
    })

    void within.test(`${name}: changes of several machines come one behind the other`, async (t) => {
      const url = await databases.create()
      const stores = [0, 1, 2].map(() => openMemory(t, url))
      const workspace = idOf(1)
      const count = (own: { get(key: string): string | null }): number => Number(own.get('n') ?? '0')
      const changed = Array.from({ length: 60 }, (_, n) =>
        stores[n % stores.length]!.change(workspace, (own) => {
          const next = count(own) + 1
          own.put('n', `${next}`)
          return next
        }),
      )
      const results = await Promise.all(changed)
      t.same(
        [...results].sort((a, b) => a - b),
        Array.from({ length: 60 }, (_, n) => n + 1),
      )
      for (const store of stores) t.equal(await store.read(workspace, count), 60)
      t.equal(await stores[0]!.read(idOf(2), count), 0, 'of other workspaces nothing')
    })
  })
}
