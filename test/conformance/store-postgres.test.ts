/** Three stores on one PostgreSQL, as machines of a fleet have them, that are asked in turn: together they are one. */
import { t } from 'tap'
import { NO_LIMITS } from '../../src/store/disk-reserve.js'
import { createPostgresItemStore } from '../../src/store/postgres/items.js'
import type { ItemStore } from '../../src/store/store.js'
import { WITHOUT_PGBOUNCER } from '../support/servers/pgbouncer.js'
import { WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { openWorkerDatabase, PostgresDatabases } from '../support/servers/postgres-databases.js'
import { itemSuite } from './store-suite.js'

const STORES = 3

function openThree(url: string, unixSeconds: () => number) {
  const opened = Array.from({ length: STORES }, () => {
    const database = openWorkerDatabase(url)
    return { database, items: createPostgresItemStore(database, unixSeconds, NO_LIMITS) }
  })
  let calls = 0
  const next = (): ItemStore => opened[calls++ % STORES]!.items
  const items: ItemStore = {
    read: (id) => next().read(id),
    list: (offset, limit) => next().list(offset, limit),
    search: (needle, limit, caller) => next().search(needle, limit, caller),
    create: (fields) => next().create(fields),
    createNext: (after, fields) => next().createNext(after, fields),
    replace: (id, fields) => next().replace(id, fields),
    remove: (id) => next().remove(id),
    lastId: () => next().lastId(),
  }
  const close = async (): Promise<void> => {
    for (const each of opened) {
      await each.items.idle()
      await each.database.close()
    }
  }
  return { items, close }
}

for (const { name, pooled, skip } of [
  { name: 'postgres', pooled: false, skip: WITHOUT_POSTGRES },
  { name: 'postgres behind pgbouncer', pooled: true, skip: WITHOUT_POSTGRES || WITHOUT_PGBOUNCER },
]) {
  void t.test(name, { skip }, async (within) => {
    const databases = await PostgresDatabases.start(within, { pooled })
    itemSuite({
      name,
      within,
      place: async () => {
        const url = await databases.create()
        return { open: (unixSeconds) => openThree(url, unixSeconds), remove: () => databases.drop(url) }
      },
    })
  })
}
