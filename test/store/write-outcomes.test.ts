import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { tempFolder } from '../support/data/temp-folder.js'

test('a write that fails is told to whoever waits for one of its outcomes, and the other ends no process', async (t) => {
  const unowned: unknown[] = []
  const note = (reason: unknown): void => void unowned.push(reason)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const env = new LmdbEnvironment(tempFolder(t), { numbered: [], byBytes: ['rows'] })
  await env.close()
  await t.rejects(env.write(() => 1).committed, new Fault('unavailable'))
  await t.rejects(env.write(() => 1).durable, new Fault('unavailable'))
  await t.rejects(
    env.writeDurably(() => 1),
    new Fault('unavailable'),
  )
  await new Promise((resolve) => setImmediate(resolve))
  t.same(unowned, [])
})
