/** A replica that is loaded anew: its machine says so when no process reads by the set of before any more. */
import { type Test, t } from 'tap'
import { Replica } from '../../../src/store/replicated/replica.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { eventually } from '../../support/timing/eventually.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const SPACE = 'account-keys'
const KEPT = Buffer.from('kept')
const GONE = Buffer.from('gone')
const FIRST = { version: 1, change: 'first' }
const SECOND = { version: 5, change: 'fifth' }

/** A process of the machine. */
function openProcess(t: Test, folder: string) {
  const clock = new FakeClock()
  const replica = new Replica(folder, clock)
  t.after(() => replica.close())
  const table = replica.table(SPACE, () => {})
  const read = (key: Buffer): string | null => {
    const value = replica.getUnbounded(table, key)
    const text = value === undefined ? null : value.toString('latin1', 0, value.length)
    replica.releaseSnapshot()
    return text
  }
  /** A single read and a list, in one snapshot. */
  const readBoth = (key: Buffer): string[] => {
    return replica.inSnapshot(() => {
      const one = replica.getUnbounded(table, key)
      const first = one === undefined ? [] : [one.toString('latin1', 0, one.length)]
      return [...first, ...replica.valuesWithPrefix(table, key).map(String)]
    })
  }
  return { clock, replica, read, readBoth }
}

const entry = (key: Buffer, value: string) => ({ space: SPACE, key, value: Buffer.from(value) })

/** Two processes that have read a first loading, and one of them at work on the second. */
async function reloading(t: Test) {
  const folder = tempFolder(t)
  const [loader, other] = [openProcess(t, folder), openProcess(t, folder)]
  await loader.replica.reload(null, async (take) => {
    await take([entry(KEPT, 'old'), entry(GONE, 'old')])
    return FIRST
  })
  t.strictSame(other.replica.position(), FIRST)
  t.equal(other.read(KEPT), 'old')
  const done = loader.replica.reload(FIRST, async (take) => {
    await take([entry(KEPT, 'new')])
    return SECOND
  })
  let isDone = false
  void done.then(() => {
    isDone = true
  })
  // The sets have changed, and time has to pass.
  await eventually(() => loader.clock.pending > 0)
  return { loader, other, done, isDone: () => isDone }
}

t.test('what was loaded counts when every process reads it, and not before', async (t) => {
  const { loader, other, done, isDone } = await reloading(t)
  t.strictSame(other.replica.position(), FIRST)
  loader.clock.advance(5)
  other.clock.advance(5)
  // Before the machine says that it has them, all of its processes do.
  t.equal(other.read(KEPT), 'new')
  t.equal(other.read(GONE), null)
  t.strictSame(other.replica.position(), FIRST)
  t.equal(isDone(), false)
  loader.clock.advance(5)
  await done
  t.strictSame(other.replica.position(), SECOND)
  t.equal(loader.read(GONE), null)
})

t.test('a process that stood still for all of it finds what there is', async (t) => {
  const { loader, other, done } = await reloading(t)
  loader.clock.advance(10)
  await done
  t.equal(other.read(KEPT), 'new')
  t.equal(other.read(GONE), null)
})

t.test('a change that is applied while the sets change is read at once by every process', async (t) => {
  const { loader, other, done } = await reloading(t)
  const to = { version: 2, change: 'second' }
  const entries = [entry(KEPT, 'changed'), { space: SPACE, key: GONE, value: null }]
  t.equal(await other.replica.apply(FIRST, { to, entries }), true)
  t.strictSame(other.replica.position(), to, 'and the machine may say so')
  t.equal(other.read(KEPT), 'changed')
  t.equal(other.read(GONE), null)
  loader.clock.advance(10)
  await done
  t.strictSame(loader.replica.position(), to, 'which stays, whatever was loaded')
  t.equal(loader.read(KEPT), 'changed')
})

t.test('reads of one snapshot are of one set', async (t) => {
  const { loader, other, done } = await reloading(t)
  t.strictSame(other.readBoth(KEPT), ['new', 'new'])
  t.strictSame(other.readBoth(GONE), [])
  loader.clock.advance(10)
  await done
})
