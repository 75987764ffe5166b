/** What items and files may hold, and what becomes of a store whose disk is full but for its reserve. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { NO_LIMITS, type StoreLimits } from '../../src/store/disk-reserve.js'
import { type LmdbStore, openLmdbStore } from '../../src/store/lmdb/open.js'
import { tempFolder } from '../support/data/temp-folder.js'

function openLimited(
  t: Test,
  limits: Partial<StoreLimits>,
  path = tempFolder(t),
): { store: LmdbStore; path: string } {
  const store = openLmdbStore({
    path,
    unixSeconds: () => 1_700_000_000,
    limits: { ...NO_LIMITS, ...limits },
  })
  t.after(() => store.close())
  return { store, path }
}

const item = (size: number) => ({ name: 'x'.repeat(size), description: '', price: 1 })
/** Bytes of an item with a name of this size. */
const jsonBytes = (store: LmdbStore, id: number): number => store.items.read(id)!.byteLength
const NO_ROOM = { name: 'Fault', kind: 'unavailable', retryAfter: 30 }

test('items are taken up to their bytes; what is removed or becomes smaller makes room', async (t: Test) => {
  const { store } = openLimited(t, { itemBytes: 1_000 })
  const { items } = store
  for (let n = 0; n < 4; n++) await items.create(item(150))
  await t.rejects(items.create(item(500)), NO_ROOM)
  t.equal(items.lastId(), 4, 'a refused item takes no id')
  await t.rejects(items.replace(1, item(600)), NO_ROOM)
  t.match(Buffer.from(items.read(1)!).toString(), 'x'.repeat(150), 'and changes nothing')
  t.ok(await items.replace(1, item(10)))
  t.equal(jsonBytes(store, 1) < 100, true)
  t.ok(await items.remove(2))
  t.match(await items.create(item(150)), { id: 5 })
})

test('of changes that share a transaction only those without room are refused', async (t) => {
  const { store } = openLimited(t, { itemBytes: 1_000 })
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => store.items.create(item(100))))
  const made = outcomes.filter(({ status }) => status === 'fulfilled').length
  t.equal(made, Math.floor(1_000 / jsonBytes(store, 1)))
  t.equal(store.items.lastId(), made)
})

async function forgetItemBytes(path: string): Promise<void> {
  const { open } = await import('lmdb')
  const root = open({ path, encoding: 'binary', noSubdir: false, maxDbs: 32 })
  await root.openDB({ name: 'item-counter', encoding: 'binary', keyEncoding: 'uint32' }).remove(1)
  await root.close()
}

test('the bytes of items are known after a restart, and those of a store that never counted them are counted', async (t) => {
  const path = tempFolder(t)
  const first = openLmdbStore({ path, unixSeconds: () => 0 })
  for (let n = 0; n < 40; n++) await first.items.create(item(100))
  await first.items.remove(7)
  const bytes = 39 * jsonBytes(first, 1) + 60
  await first.close()
  await forgetItemBytes(path)
  const { store } = openLimited(t, { itemBytes: bytes + 100 }, path)
  await t.rejects(store.items.create(item(200)), NO_ROOM)
  t.ok(await store.items.create(item(1)))
  const { store: other } = openLimited(t, { itemBytes: bytes + 100 }, path)
  await t.rejects(other.items.create(item(60)), NO_ROOM, 'as another process sees it')
})

test('counting the items of an old store takes no long time: what was seen by then stands for the rest', async (t) => {
  const path = tempFolder(t)
  const first = openLmdbStore({ path, unixSeconds: () => 0 })
  for (let n = 0; n < 40; n++) await first.items.create(item(100))
  const each = jsonBytes(first, 20)
  await first.close()
  await forgetItemBytes(path)
  const { store } = openLimited(t, { itemBytes: 46 * each }, path)
  const { now } = performance
  t.teardown(() => {
    performance.now = now
  })
  let slow = 0
  performance.now = () => (slow += 2_500)
  // Of three pages the first, with 16 items, has been seen.
  await t.rejects(store.items.create(item(100)), NO_ROOM)
  for (let id = 1; id <= 40; id++) t.ok(await store.items.remove(id))
  performance.now = now
  for (let n = 0; n < 10; n++) t.ok(await store.items.create(item(100)), 'what was deleted has made room')
})

const file = (organizationId: string) =>
  ({
    organizationId,
    workspaceId: `w-${organizationId}`,
    filename: 'f',
    origin: 'uploaded',
    purpose: null,
  }) as const
const TOO_MANY = { name: 'Fault', kind: 'forbidden', note: /delete some first/ }

function storedContents(path: string): string[] {
  return readdirSync(join(path, 'files'), { recursive: true })
    .map(String)
    .filter((name) => name.includes('file_'))
}

test('an organization has so many files and bytes in them; another one has its own', async (t) => {
  const { store, path } = openLimited(t, { files: 3, fileBytes: 100 })
  const { files } = store
  const create = (organization: string, bytes: number) =>
    files.createFile(file(organization), Buffer.alloc(bytes, 'x'))
  const [first] = [await create('a', 40), await create('a', 40)]
  await t.rejects(create('a', 30), TOO_MANY, 'bytes')
  t.equal(storedContents(path).length, 2, 'nothing is left of it')
  files.requireRoom('a')
  await create('a', 20)
  t.throws(() => files.requireRoom('a'), TOO_MANY)
  t.ok(await create('b', 100))
  t.ok(await files.removeFile(first.id))
  t.notOk(await files.removeFile(first.id), 'counted once')
  files.requireRoom('a')
  await create('a', 40)
  await t.rejects(create('a', 1), TOO_MANY, 'files')
})

test('files of a store that never counted them are counted', async (t) => {
  const path = tempFolder(t)
  const first = openLmdbStore({ path, unixSeconds: () => 0 })
  const old = await first.files.createFile(file('a'), Buffer.alloc(60))
  await first.files.createFile(file('b'), Buffer.alloc(90))
  await first.close()
  const { open } = await import('lmdb')
  const root = open({ path, encoding: 'binary', noSubdir: false, maxDbs: 32 })
  const table = root.openDB({ name: 'files', encoding: 'binary', keyEncoding: 'binary' })
  for (const key of ['counted', 'qa', 'qb']) await table.remove(Buffer.from(key))
  await root.close()
  const { store } = openLimited(t, { fileBytes: 100 }, path)
  await store.files.createFile(file('c'), Buffer.alloc(1))
  await t.rejects(store.files.createFile(file('a'), Buffer.alloc(50)), TOO_MANY)
  await t.rejects(store.files.createFile(file('b'), Buffer.alloc(20)), TOO_MANY)
  t.ok(await store.files.removeFile(old.id))
  t.ok(await store.files.createFile(file('a'), Buffer.alloc(100)))
})

test('items find room again where others were deleted, although the file of a store never shrinks', async (t) => {
  let isFull = false
  const { store } = openLimited(t, { takeRoom: (_bytes, isReuse) => isReuse === true || !isFull })
  const ids: number[] = []
  for (let n = 0; n < 3; n++) ids.push((await store.items.create(item(100))).id)
  isFull = true
  await t.rejects(store.items.create(item(100)), NO_ROOM)
  await store.items.remove(ids[0]!)
  t.ok(await store.items.create(item(90)))
  await t.rejects(store.items.create(item(90)), NO_ROOM)
})

test('on a disk that is full but for its reserve nothing grows, and all can be deleted', async (t) => {
  let isFull = false
  const { store, path } = openLimited(t, { takeRoom: () => !isFull })
  const { id } = await store.items.create(item(100))
  const kept = await store.files.createFile(file('a'), Buffer.alloc(600_000))
  isFull = true
  await t.rejects(store.items.create(item(1)), NO_ROOM)
  await t.rejects(store.items.replace(id, item(200)), NO_ROOM)
  for (const bytes of [1, 600_000, 6_000_000]) {
    await t.rejects(store.files.createFile(file('a'), Buffer.alloc(bytes)), NO_ROOM, `${bytes} bytes`)
  }
  t.equal(storedContents(path).length, 1)
  t.ok(await store.items.replace(id, item(50)))
  t.ok(await store.items.remove(id))
  t.ok(await store.files.removeFile(kept.id))
  isFull = false
  t.ok(await store.items.create(item(1)))
})
