import { test } from 'tap'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'
import { tempFolder } from '../../support/data/temp-folder.js'

const KEY = 1

for (const wasRead of [true, false]) {
  test(`a closed environment refuses reads, ${wasRead ? 'after others' : 'the first one too'}`, async (t) => {
    const env = new LmdbEnvironment(tempFolder(t))
    const table = env.table('numbers')
    await env.writeDurably(() => table.put(KEY, Buffer.from('1')))
    if (wasRead)
      t.equal(
        env.inSnapshot(() => env.get(table, KEY)?.toString()),
        '1',
      )
    await env.close()
    t.throws(() => env.inSnapshot(() => env.get(table, KEY)), { name: 'Fault', kind: 'unavailable' })
  })
}
