import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { NO_LIMITS } from '../../src/store/disk-reserve.js'
import type { FileRecord } from '../../src/store/file-store.js'
import type { LmdbFileStore } from '../../src/store/lmdb/files.js'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { fileSuite, MORE_THAN_A_BLOCK } from '../conformance/file-suite.js'
import { FILE } from '../support/data/new-file.js'
import { openStore } from '../support/data/open-store.js'
import { tempFolder } from '../support/data/temp-folder.js'

const NEWEST = { newestFirst: true, after: null, before: null, limit: 10 }

let now = 1_700_000_000
const tick = (): number => (now += 0.001)
const openFiles = (t: Test, path = tempFolder(t)): LmdbFileStore => openStore(t, path, tick).files

/** A store in which one file is made before it is closed. */
async function storeOneFile(path: string, text: string): Promise<FileRecord> {
  const store = openLmdbStore({ path, unixSeconds: tick })
  const file = await store.files.createFile(FILE, Buffer.from(text))
  await store.close()
  return file
}

/** Names of all files below the folder of contents. */
function storedContents(path: string): string[] {
  if (!existsSync(join(path, 'files'))) return []
  const entries = readdirSync(join(path, 'files'), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort()
}

fileSuite({
  name: 'lmdb',
  open: async (t, limits) => {
    const path = tempFolder(t)
    const open = (): LmdbFileStore => {
      const store = openLmdbStore({ path, unixSeconds: tick, limits: { ...NO_LIMITS, ...limits } })
      t.after(() => store.close())
      return store.files
    }
    return {
      stores: [open(), open(), open()],
      contents: async () => storedContents(path),
      loseUnfinished: async () => {
        const incoming = join(path, 'files', 'incoming')
        for (const name of readdirSync(incoming)) rmSync(join(incoming, name))
      },
    }
  },
})

test('a file is seen by every process when its writer has been told so, and not before', async (t) => {
  const path = tempFolder(t)
  const [one, two] = [openFiles(t, path), openFiles(t, path)]
  const writing = one.beginFile(FILE.organizationId)
  await writing.write(Buffer.alloc(MORE_THAN_A_BLOCK))
  t.equal(storedContents(path).length, 1)
  t.strictSame(two.filesOf(FILE.workspaceId, NEWEST).files, [])
  const inPlace = storedContents(path).filter((name) => name.startsWith('file_'))
  t.equal(inPlace.length, 0, 'no content has its place yet')
  const record = await writing.commit(FILE)
  t.strictSame(two.file(record.id), record)
  t.ok(Object.isFrozen(record))
  t.ok(await two.removeFile(record.id))
  t.equal(one.file(record.id), null)
  t.notOk(await one.removeFile(record.id))
  t.strictSame(storedContents(path), [])
})

test('a sweep removes beginnings of the dead, sets aside what nobody accounts for, and touches nothing else', async (t) => {
  const path = tempFolder(t)
  const files = openFiles(t, path)
  const record = await files.createFile(FILE, Buffer.from('kept'))
  const incoming = join(path, 'files', 'incoming')
  const nameOf = (n: number): string => `file_${String(n).padStart(26, '0')}`
  const dead = 2 ** 22 + 1 // beyond the largest process number
  // The first process of all lives longer than this test.
  const first = `1.${readFileSync('/proc/1/stat', 'latin1').split(') ')[1]!.split(' ')[19]}`
  writeFileSync(join(incoming, `${dead}.1-${nameOf(1)}`), 'half')
  writeFileSync(join(incoming, `${process.pid}.1-${nameOf(2)}`), 'of a process of before with our number')
  writeFileSync(join(incoming, `${first}-${nameOf(3)}`), 'of a process that lives')
  writeFileSync(join(incoming, `${first}-${nameOf(4)}`), 'of another with its number')
  utimesSync(join(incoming, `${first}-${nameOf(4)}`), 0, 0)
  writeFileSync(join(incoming, 'somebody’s notes'), 'not ours')
  mkdirSync(join(path, 'files', '05'), { recursive: true })
  writeFileSync(join(path, 'files', '05', nameOf(5)), 'renamed, but never recorded')
  const asideFolder = join(path, 'files', 'set-aside')
  t.strictSame(await files.sweep(), { removed: 3, setAside: 2, putBack: 0, asideFolder })
  t.strictSame(
    storedContents(path),
    [record.id, `${first}-${nameOf(3)}`, nameOf(5), 'somebody’s notes'].sort(),
  )
  t.equal(readFileSync(join(asideFolder, nameOf(5)), 'utf8'), 'renamed, but never recorded')
  t.strictSame(await files.sweep(), { removed: 0, setAside: 0, putBack: 0, asideFolder })
})

test('a database that was replaced loses no file, and the right one finds all of them again', async (t) => {
  const path = tempFolder(t)
  const old = await storeOneFile(path, 'old')
  copyFileSync(join(path, 'data.mdb'), join(path, 'older.mdb'))
  const young = await storeOneFile(path, 'young')
  renameSync(join(path, 'data.mdb'), join(path, 'newest.mdb'))
  const expectedSweep = async (database: string): Promise<unknown> => {
    copyFileSync(join(path, database), join(path, 'data.mdb'))
    rmSync(join(path, 'lock.mdb'), { force: true })
    const store = openLmdbStore({ path, unixSeconds: tick })
    const swept = await store.files.sweep()
    t.strictSame(storedContents(path), [old.id, young.id], 'none is lost')
    await store.close()
    return swept
  }
  t.match(await expectedSweep('older.mdb'), { setAside: 1, putBack: 0, removed: 0 })
  await openLmdbStore({ path: join(path, 'none'), unixSeconds: tick }).close()
  t.match(await expectedSweep(join('none', 'data.mdb')), { setAside: 1, putBack: 0, removed: 0 })
  t.match(await expectedSweep('newest.mdb'), { setAside: 0, putBack: 2, removed: 0 })
  const again = openFiles(t, path)
  for (const file of [old, young]) t.ok(await again.isIntact(file))
})

for (const [state, lose] of [
  ['gone', (database: string) => rmSync(database)],
  ['empty', (database: string) => truncateSync(database)],
] as const) {
  test(`a store with files whose database is ${state} is not opened`, async (t) => {
    const path = tempFolder(t)
    const { id } = await storeOneFile(path, 'kept')
    lose(join(path, 'data.mdb'))
    t.throws(() => openLmdbStore({ path, unixSeconds: tick }), /holds stored files but .*data\.mdb.* is gone/)
    t.strictSame(storedContents(path), [id])
    rmSync(join(path, 'files'), { recursive: true })
    openFiles(t, path)
  })
}

test('texts that are no ids name nothing, on the disk least of all', async (t) => {
  const files = openFiles(t)
  const record = await files.createFile(FILE, Buffer.from('x'))
  const paths = ['', '..', '../data.mdb', `file_${'/'.repeat(26)}`]
  for (const id of [...paths, record.id.toUpperCase(), `${record.id}0`, 'x'.repeat(5_000)]) {
    t.equal(files.file(id), null)
    t.notOk(await files.removeFile(id))
    t.notOk(await files.isIntact({ ...record, id }).catch(() => false))
  }
  for (const workspace of ['', 'x'.repeat(5_000), FILE.workspaceId.slice(0, -1)]) {
    t.strictSame(files.filesOf(workspace, NEWEST), { files: [], hasMore: false })
  }
})
