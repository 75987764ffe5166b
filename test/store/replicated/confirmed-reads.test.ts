/** No process of a machine reads what is older than what the machine says that it has. */
import { t } from 'tap'
import { sleep, systemClock } from '../../../src/base/clock.js'
import { Replica } from '../../../src/store/replicated/replica.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { KEY, SPACE, startReplicaReader } from '../../support/peers/replica-reader.js'

const ROUNDS = 60

const positionAt = (version: number) => ({ version, change: `change ${version}` })
const entriesAt = (version: number) => [{ space: SPACE, key: KEY, value: Buffer.from(String(version)) }]

t.test(
  'processes that read without a pause, one of them stopped again and again, while all is loaded anew and changed',
  async (t) => {
    const folder = tempFolder(t)
    const [loader, other] = [0, 1].map(() => {
      const replica = new Replica(folder, systemClock)
      replica.table(SPACE, () => {})
      t.after(() => replica.close())
      return replica
    }) as [Replica, Replica]
    await loader.reload(null, async (take) => {
      await take(entriesAt(1))
      return positionAt(1)
    })
    const readers = [await startReplicaReader(folder), await startReplicaReader(folder)]
    const [stopped] = readers
    for (const { child, end } of readers) {
      t.after(() => {
        child.kill('SIGCONT')
        return end()
      })
    }
    let applied = 0
    for (let round = 0; round < ROUNDS; round++) {
      const from = loader.position()!
      const [first, second] = [from.version + 1, from.version + 2]
      const { loading } = await new Promise<{ loading: Promise<void> }>((resolve) => {
        const loading = loader.reload(from, async (take) => {
          await take(entriesAt(second))
          resolve({ loading })
          return positionAt(second)
        })
      })
      stopped!.child.kill(round % 2 === 0 ? 'SIGSTOP' : 'SIGCONT')
      // Before, while and after the sets change.
      await sleep(round % 30, systemClock)
      const change = { to: positionAt(first), entries: entriesAt(first) }
      if (await other.apply(from, change)) applied++
      await loading
    }
    stopped!.child.kill('SIGCONT')
    t.ok(loader.position()!.version > ROUNDS)
    t.comment(`${applied} changes came first`)
    for (const { ask } of readers) {
      const { reads, stale } = await ask({})
      t.ok(reads > 0)
      t.same(stale, [])
    }
  },
)
