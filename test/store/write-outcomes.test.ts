import { test } from 'tap'
import type { Fault } from '../../src/base/fault.js'
import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { tempFolder } from '../support/data/temp-folder.js'

const kindOf = (outcome: Promise<unknown>): Promise<unknown> =>
  outcome.then(
    () => null,
    (error: Fault) => error.kind,
  )

test('a write that fails is told to whoever waits for one of its outcomes, and the other ends no process', async (t) => {
  const unowned: unknown[] = []
  const note = (reason: unknown): void => void unowned.push(reason)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const env = new LmdbEnvironment(tempFolder(t))
  await env.close()
  t.equal(await kindOf(env.write(() => 1).committed), 'unavailable')
  t.equal(await kindOf(env.write(() => 1).durable), 'unavailable')
  t.equal(await kindOf(env.writeDurably(() => 1)), 'unavailable')
  await new Promise((resolve) => setImmediate(resolve))
  t.same(unowned, [])
})
