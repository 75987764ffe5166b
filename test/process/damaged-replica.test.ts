/** A replica that is damaged is no reason not to start: the database of the fleet has its records. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { createLog } from '../../src/base/log.js'
import { dropDamagedReplica } from '../../src/process/store-check.js'
import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { replicaFolder } from '../../src/store/replicated/replica-folder.js'
import { tempFolder } from '../support/data/temp-folder.js'

test('a damaged replica is taken away before a start, a sound one and none are left alone', async (t) => {
  const dataDir = tempFolder(t)
  const log = createLog('silent', 'test')
  await dropDamagedReplica(dataDir, log)
  const folder = replicaFolder(dataDir)
  const env = new LmdbEnvironment(folder)
  const table = env.byteTable('0/account-keys')
  await env.writeDurably(() => {
    for (let n = 0; n < 2_000; n++) table.put(Buffer.from(`key ${n}`), Buffer.alloc(200, n))
  })
  await env.close()
  await dropDamagedReplica(dataDir, log)
  t.ok(existsSync(join(folder, 'data.mdb')))
  const bytes = readFileSync(join(folder, 'data.mdb'))
  writeFileSync(join(folder, 'data.mdb'), bytes.fill(0xff, 2 * 4096))
  await dropDamagedReplica(dataDir, log)
  t.notOk(existsSync(folder))
})
