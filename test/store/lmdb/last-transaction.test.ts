/** No commit is lost to a process that opens the environment at the wrong moment (LMDB's ITS#9496). */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'
import { tempFolder } from '../../support/data/temp-folder.js'

const PEER = fileURLToPath(new URL('../../support/peers/environment-peer.js', import.meta.url))
const KEY = 1

/** An environment that holds a number, which `increment` reads and writes in one transaction. */
function counterIn(t: Test, folder: string) {
  const env = new LmdbEnvironment(folder)
  t.after(() => env.close())
  const table = env.table('counter')
  const read = (): number => Number(env.get(table, KEY)?.toString() ?? 0)
  return {
    read: () => env.inSnapshot(() => read()),
    /** Resolves with the number as it was before. */
    increment: () =>
      env.writeDurably(() => {
        const before = read()
        table.put(KEY, Buffer.from(String(before + 1)))
        return before
      }),
  }
}

for (const count of [1, 2, 3]) {
  test(`a change made when the last transaction's number is ${count} too low keeps all before it`, async (t) => {
    const folder = tempFolder(t)
    const counter = counterIn(t, folder)
    for (let i = 0; i < 5; i++) await counter.increment()
    execFileSync(process.execPath, [PEER, 'set-back', folder, String(count)])
    await counter.increment()
    t.equal(counter.read(), 6)
    await Promise.all([counter.increment(), counter.increment()])
    t.equal(counter.read(), 8)
  })

  test(`an environment whose number is ${count} too low shows its last change when another process has opened it`, async (t) => {
    const folder = tempFolder(t)
    const counter = counterIn(t, folder)
    for (let i = 0; i < 5; i++) await counter.increment()
    execFileSync(process.execPath, [PEER, 'set-back', folder, String(count)])
    execFileSync(process.execPath, [PEER, 'open', folder])
    t.equal(counter.read(), 5)
  })
}

test('no change is lost while another process opens and closes the environment', async (t) => {
  const folder = tempFolder(t)
  const counter = counterIn(t, folder)
  await counter.increment()
  const peer = spawn(process.execPath, [PEER, 'reopen', folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => peer.kill())
  await once(peer.stdout, 'data')
  const wrong: string[] = []
  for (let done = 1; done < 1_500; done++) {
    const before = await counter.increment()
    if (before !== done) wrong.push(`${before} after ${done} changes`)
  }
  t.same(wrong, [])
})
