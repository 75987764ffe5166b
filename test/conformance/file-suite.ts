/** What every implementation of the store of files has to do (src/store/file-store.ts). */
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import type { FileListQuery, FileReader, FileRecord, FileStore } from '../../src/store/file-store.js'
import { FILE } from '../support/data/new-file.js'

/** Stores of several processes, or machines, that are one. */
interface OpenedFiles {
  readonly stores: readonly [FileStore, FileStore, ...FileStore[]]
  /** Names of the contents that take up room, begun or whole. */
  contents(): Promise<readonly string[]>
  /** Takes away what was written of files that have not been committed, as if it had stood still for too long. */
  loseUnfinished(): Promise<void>
}

interface FileStoreKind {
  readonly name: string
  /** The test that the suite's tests belong to, where they need what ends with it. */
  readonly within?: Test
  /** New and empty; ends with the test. */
  open(t: Test, limits?: { readonly files: number; readonly fileBytes: number }): Promise<OpenedFiles>
}

/** Bytes; something of a content is stored at its first full block. */
export const MORE_THAN_A_BLOCK = 600_000
const NEWEST = { newestFirst: true, after: null, before: null, limit: 10 }

export async function readAll(reading: FileReader): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (;;) {
    const piece = Buffer.from(await reading.read())
    if (piece.length === 0) break
    pieces.push(piece)
  }
  reading.close()
  return Buffer.concat(pieces)
}

type Declare = (name: string, run: (t: Test, kind: FileStoreKind) => Promise<void>) => void

/** Declares the suite's tests for one implementation. */
export function fileSuite(kind: FileStoreKind): void {
  const declare: Declare = (name, run) => {
    const body = (t: Test): Promise<void> => run(t, kind)
    const titled = `${kind.name}: ${name}`
    void (kind.within === undefined ? test(titled, body) : kind.within.test(titled, body))
  }
  contents(declare)
  endings(declare)
  records(declare)
  quotas(declare)
}

function contents(declare: Declare): void {
  declare('what was written in any pieces is read in any part', async (t, kind) => {
    const [one, two] = (await kind.open(t)).stores
    const piece = fc.uint8Array({ maxLength: 70_000 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 12 }),
        fc.nat(),
        fc.nat(),
        async (pieces, from, count) => {
          const writing = one.beginFile(FILE.organizationId)
          for (const each of pieces) await writing.write(each)
          const record = await writing.commit(FILE)
          const whole = Buffer.concat(pieces)
          t.equal(record.sizeBytes, whole.length)
          const start = whole.length === 0 ? 0 : from % whole.length
          const length = Math.min(count, whole.length - start)
          const read = await readAll(await two.openContent(record, start, length))
          t.ok(read.equals(whole.subarray(start, start + length)))
          t.ok(await two.isIntact(record))
        },
      ),
      { numRuns: 25 },
    )
  })

  declare('sizes around the borders of pieces are as good as all others', async (t, kind) => {
    const [one, two] = (await kind.open(t)).stores
    const piece = 256 * 1024
    for (const size of [0, 1, piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 1]) {
      const content = Buffer.alloc(size, `${size};`)
      const record = await one.createFile(FILE, content)
      t.ok((await readAll(await two.openContent(record, 0, size))).equals(content))
      t.ok(await two.isIntact(record))
      const last = Math.max(0, size - 2)
      t.ok((await readAll(await two.openContent(record, last, size - last))).equals(content.subarray(last)))
    }
  })

  declare('what is written without waiting for the disk is stored in its order', async (t, kind) => {
    const [files] = (await kind.open(t)).stores
    const pieces = Array.from({ length: 30 }, (_, i) => Buffer.alloc(400_000 + i, `${i},`))
    const writing = files.beginFile(FILE.organizationId)
    const waits: unknown[] = []
    for (const piece of pieces) {
      const sent = Buffer.from(piece)
      waits.push(writing.write(sent))
      // It was borrowed. And the loop has no turn in which it could hear of the disk.
      sent.fill(0)
      await null
    }
    await Promise.all(waits)
    const record = await writing.commit(FILE)
    const whole = Buffer.concat(pieces)
    t.ok((await readAll(await files.openContent(record, 0, whole.length))).equals(whole))
  })
}

function endings(declare: Declare): void {
  declare(
    'a file is seen by every process when its writer has been told so, and not before',
    async (t, kind) => {
      const opened = await kind.open(t)
      const [one, two] = opened.stores
      const writing = one.beginFile(FILE.organizationId)
      await writing.write(Buffer.alloc(MORE_THAN_A_BLOCK))
      t.equal((await opened.contents()).length, 1)
      t.strictSame((await two.filesOf(FILE.workspaceId, NEWEST)).files, [])
      const [unfinished] = await opened.contents()
      t.equal(await two.file(unfinished!), null)
      const record = await writing.commit(FILE)
      t.strictSame(await two.file(record.id), record)
      t.ok(Object.isFrozen(record))
      t.ok(Object.isFrozen(await two.file(record.id)))
      t.ok(await two.removeFile(record.id))
      t.equal(await one.file(record.id), null)
      t.notOk(await one.removeFile(record.id))
    },
  )

  declare('what is abandoned leaves nothing, also in the middle of a write', async (t, kind) => {
    const opened = await kind.open(t)
    const [files] = opened.stores
    const writing = files.beginFile(FILE.organizationId)
    const written = writing.write(Buffer.alloc(4_000_000))
    await writing.abandon()
    await written
    t.strictSame(await opened.contents(), [])
    await t.rejects(async () => writing.write(Buffer.from('x')), Fault)
    await t.rejects(writing.commit(FILE), Fault)
    const kept = files.beginFile(FILE.organizationId)
    const { id } = await kept.commit(FILE)
    await kept.abandon()
    t.strictSame(await opened.contents(), [id], 'what was committed stays')
  })

  declare('a reading goes on when its file is deleted meanwhile', async (t, kind) => {
    const [one, two] = (await kind.open(t)).stores
    const content = Buffer.alloc(1_000_000, 'abc')
    const record = await one.createFile(FILE, content)
    const reading = await one.openContent(record, 0, content.length)
    const { byteLength: first } = await reading.read()
    await two.removeFile(record.id)
    t.ok((await readAll(reading)).equals(content.subarray(first)))
    t.notOk(await one.isIntact(record))
    await t.rejects(one.openContent(record, 0, 1))
  })

  declare('a content that was swept before its record came is no file', async (t, kind) => {
    const opened = await kind.open(t)
    const [files] = opened.stores
    const writing = files.beginFile(FILE.organizationId)
    await writing.write(Buffer.alloc(MORE_THAN_A_BLOCK))
    t.equal((await opened.contents()).length, 1)
    await opened.loseUnfinished()
    await t.rejects(writing.commit(FILE), Fault)
    await writing.abandon()
    t.strictSame(await opened.contents(), [])
  })

  declare('of several removals exactly one has removed the file', async (t, kind) => {
    const { stores } = await kind.open(t)
    const { id } = await stores[0].createFile(FILE, Buffer.from('x'))
    const removed = await Promise.all([...stores, ...stores].map((files) => files.removeFile(id)))
    t.equal(removed.filter((each) => each).length, 1)
  })
}

function records(declare: Declare): void {
  declare('texts that are no ids name nothing', async (t, kind) => {
    const [files] = (await kind.open(t)).stores
    const record = await files.createFile(FILE, Buffer.from('x'))
    const paths = ['', '..', '../data.mdb', `file_${'/'.repeat(26)}`]
    for (const id of [...paths, record.id.toUpperCase(), `${record.id}0`, 'x'.repeat(5_000)]) {
      t.equal(await files.file(id), null)
      t.notOk(await files.removeFile(id))
      t.notOk(await files.isIntact({ ...record, id }).catch(() => false))
    }
    for (const workspace of ['', 'x'.repeat(5_000), FILE.workspaceId.slice(0, -1)]) {
      t.strictSame(await files.filesOf(workspace, NEWEST), { files: [], hasMore: false })
    }
  })

  declare('a name of any characters is kept', async (t, kind) => {
    const [one, two] = (await kind.open(t)).stores
    for (const filename of ['\0', '\ud800', '😀.txt', '"\\\u2028', 'x'.repeat(5_000)]) {
      const record = await one.createFile({ ...FILE, filename }, Buffer.from('x'))
      t.strictSame(await two.file(record.id), record)
    }
  })

  declare(
    'a list is a window on the files of a workspace, from any place, in both directions',
    async (t, kind) => {
      const { stores } = await kind.open(t)
      const made: FileRecord[] = []
      for (let n = 0; n < 12; n++) {
        const workspaceId = n % 4 === 3 ? `${FILE.workspaceId.slice(0, -1)}9` : FILE.workspaceId
        made.push(await stores[n % stores.length]!.createFile({ ...FILE, workspaceId }, Buffer.from(`${n}`)))
      }
      const gone = made[4]!
      await stores[0].removeFile(gone.id)
      const own = made.filter((file) => file !== gone && file.workspaceId === FILE.workspaceId)
      const place = fc.option(fc.constantFrom(...made.map(({ id }) => id), 'file_', 'zzz'))
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            newestFirst: fc.boolean(),
            after: place,
            before: place,
            limit: fc.integer({ min: 0, max: 12 }),
          }),
          async (asked) => {
            const query = asked.after === null ? asked : { ...asked, before: null }
            for (const files of stores)
              t.strictSame(await files.filesOf(FILE.workspaceId, query), pageOf(own, query))
          },
        ),
      )
    },
  )
}

/** The same said plainly. */
function pageOf(all: readonly FileRecord[], { newestFirst, after, before, limit }: FileListQuery) {
  const sign = newestFirst ? -1 : 1
  const sorted = [...all].sort((a, b) => (a.id < b.id ? -sign : sign))
  const isBehind = (id: string, place: string): boolean => (newestFirst ? id < place : id > place)
  if (limit < 1) return { files: [], hasMore: false }
  if (before !== null) {
    const ahead = sorted.filter(({ id }) => id !== before && !isBehind(id, before))
    return { files: ahead.slice(-limit), hasMore: ahead.length > limit }
  }
  const rest = after === null ? sorted : sorted.filter(({ id }) => isBehind(id, after))
  return { files: rest.slice(0, limit), hasMore: rest.length > limit }
}

function quotas(declare: Declare): void {
  declare(
    'an organization has as many files, and bytes in them, as it may have, wherever they come from',
    async (t, kind) => {
      const opened = await kind.open(t, { files: 5, fileBytes: 1_000 })
      const { stores } = opened
      const create = (n: number, bytes: number): Promise<FileRecord> =>
        stores[n % stores.length]!.createFile(FILE, Buffer.alloc(bytes))
      const storedOf = (outcomes: readonly PromiseSettledResult<FileRecord>[]): readonly FileRecord[] =>
        outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      const refusals = (outcomes: readonly PromiseSettledResult<unknown>[]): readonly string[] =>
        outcomes.flatMap((each) => (each.status === 'rejected' ? [(each.reason as Fault).kind] : []))
      const many = await Promise.allSettled(Array.from({ length: 15 }, (_, n) => create(n, 1)))
      const stored = storedOf(many)
      t.equal(stored.length, 5)
      t.same(new Set(refusals(many)), new Set(['forbidden']))
      for (const files of stores)
        await t.rejects(async () => files.requireRoom(FILE.organizationId), {
          name: 'Fault',
          kind: 'forbidden',
        })
      for (const files of stores) await files.requireRoom('01890000-0000-7000-8000-000000000009')
      t.equal((await opened.contents()).length, 5, 'what was refused has left nothing')
      await Promise.all(stored.map(({ id }, n) => stores[n % stores.length]!.removeFile(id)))
      const large = await Promise.allSettled(Array.from({ length: 9 }, (_, n) => create(n, 300)))
      t.equal(storedOf(large).length, 3)
      t.equal((await create(0, 100)).sizeBytes, 100, 'up to the last byte')
      await t.rejects(create(1, 1), { name: 'Fault', kind: 'forbidden' })
    },
  )
}
