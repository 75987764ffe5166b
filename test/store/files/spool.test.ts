/** Bytes that wait between a caller and a provider. */
import { readdirSync, readlinkSync } from 'node:fs'
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { fileSpool } from '../../../src/store/files/spool.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { eventually } from '../../support/timing/eventually.js'

const KIB = 1024

/** Files of this process that lie, or lay, in the folder. */
function filesIn(folder: string): string[] {
  return readdirSync('/proc/self/fd')
    .map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    })
    .filter((path) => path.startsWith(folder))
}

async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Buffer[] = []
  // Each is good until the next one is asked for.
  for await (const piece of pieces) all.push(Buffer.from(piece))
  return Buffer.concat(all)
}

const patternBytes = (bytes: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, i) => (i * 31 + (i >> 9)) & 255))

test('bytes of any number come out as they went in, twice, and their place is given back', async (t) => {
  const folder = tempFolder(t)
  const spool = fileSpool(folder)
  for (const size of [0, 1, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, 3_000_000]) {
    const content = patternBytes(size)
    const writing = spool.beginWrite()
    for (let at = 0; at < size; at += 70_000) await writing.write(content.subarray(at, at + 70_000))
    const spooled = await writing.finish()
    t.equal(spooled.size, size)
    t.equal(filesIn(folder).length, size < 256 * KIB ? 0 : 1, `${size} bytes`)
    for (const read of await Promise.all([readAll(spooled.read()), readAll(spooled.read())])) {
      t.ok(read.equals(content))
    }
    spooled.discard()
    spooled.discard()
    await eventually(() => filesIn(folder).length === 0)
  }
})

test('a flood that does not wait is kept in its order', async (t) => {
  const folder = tempFolder(t)
  const content = patternBytes(12_000_000)
  const writing = fileSpool(folder).beginWrite()
  const waits: unknown[] = []
  for (let at = 0; at < content.length; at += 500_000) {
    waits.push(writing.write(content.subarray(at, at + 500_000)))
    // Two turns are enough for the file to be open, and too few for the disk.
    if (at <= 500_000) await new Promise((resolve) => setImmediate(resolve))
  }
  const spooled = await writing.finish()
  await Promise.all(waits)
  t.ok((await readAll(spooled.read())).equals(content))
  spooled.discard()
})

test('what is abandoned at any moment leaves nothing open', async (t) => {
  const folder = tempFolder(t)
  const spool = fileSpool(folder)
  const early = spool.beginWrite()
  early.abandon()
  const opening = spool.beginWrite()
  void opening.write(patternBytes(300_000))
  opening.abandon()
  const writing = spool.beginWrite()
  await writing.write(patternBytes(300_000))
  void writing.write(patternBytes(4_000_000))
  writing.abandon()
  const finishing = spool.beginWrite()
  await finishing.write(patternBytes(300_000))
  const finished = finishing.finish()
  finishing.abandon()
  await t.rejects(finished, Fault)
  await eventually(() => filesIn(folder).length === 0)
  t.same(filesIn(folder), [])
})

test('a spool that cannot be written says so', async (t) => {
  const writing = fileSpool('/dev/null').beginWrite()
  await writing.write(patternBytes(200_000))
  await t.rejects(async () => {
    for (let piece = 0; piece < 20; piece++) {
      await writing.write(patternBytes(300_000))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }, Fault)
  await t.rejects(writing.finish(), Fault)
  writing.abandon()
})
