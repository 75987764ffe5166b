/** Journals: what is written is read, whole batches only, over segments, and on a disk that is full. */

import {
  closeSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'tap'
import { JournalReader } from '../../src/ledger/journal/journal-reader.js'
import { JournalWriter } from '../../src/ledger/journal/journal-writer.js'
import {
  batchBytes,
  isWriterAlive,
  journalName,
  listJournals,
  segmentPath,
  writerPid,
} from '../../src/ledger/journal/segment-format.js'
import type { JournalPosition } from '../../src/store/ledger/writable-ledger.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { eventually } from '../support/timing/eventually.js'

const NAME = journalName(1_700_000_000_000, 4711, 0)
const BEGIN: JournalPosition = { segment: 0, offset: 0 }

function writerIn(folder: string, segmentBytes?: number): { writer: JournalWriter; troubles: string[] } {
  const troubles: string[] = []
  const writer = new JournalWriter({
    folder,
    journal: NAME,
    onFailing: () => troubles.push('troubled'),
    onRecovered: () => troubles.push('recovered'),
    ...(segmentBytes !== undefined && { segmentBytes }),
  })
  return { writer, troubles }
}

/** All lines behind a position, and the position behind them. */
function readAll(folder: string, from = BEGIN): { lines: string[]; position: JournalPosition } {
  const reader = new JournalReader(folder, NAME)
  const lines: string[] = []
  let position = from
  for (let more = true; more; ) {
    const part = reader.read(position)
    lines.push(...part.lines)
    position = part.position
    more = part.more
  }
  reader.close()
  return { lines, position }
}

test('lines of one turn are one batch, and are read in their order', async (t) => {
  const folder = tempFolder(t)
  const { writer } = writerIn(folder)
  writer.append('one\n')
  writer.append('two\n')
  t.strictSame(readAll(folder).lines, [], 'nothing is written in the middle of a turn')
  await writer.whenWritten()
  const first = readAll(folder)
  t.strictSame(first.lines, ['one', 'two'])
  writer.append('three\n')
  await writer.whenWritten()
  t.strictSame(readAll(folder, first.position).lines, ['three'])
  writer.append('at the end\n')
  writer.close()
  t.strictSame(readAll(folder).lines, ['one', 'two', 'three', 'at the end'])
})

test('whatever the lines and the segments, they are read as they were written', async (t) => {
  const line = fc
    .string({ minLength: 1, maxLength: 200, unit: 'grapheme' })
    .map((text) => text.replaceAll('\n', ' '))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(line, { minLength: 1, maxLength: 5 }), { maxLength: 12 }),
      async (turns) => {
        const folder = tempFolder(t)
        const { writer } = writerIn(folder, 1024)
        for (const lines of turns) {
          for (const each of lines) writer.append(`${each}\n`)
          await writer.whenWritten()
        }
        writer.close()
        const read = readAll(folder).lines.map((each) => Buffer.from(each, 'latin1').toString())
        t.strictSame(read, turns.flat())
      },
    ),
    { numRuns: 60 },
  )
})

test('a batch that is torn at any byte is not there, and those before it are', async (t) => {
  const folder = tempFolder(t)
  const { writer } = writerIn(folder)
  writer.append('whole\n')
  await writer.whenWritten()
  const { position } = readAll(folder)
  writer.close()
  const torn = batchBytes('this one is torn\n')
  const path = segmentPath(folder, NAME, 0)
  for (let bytes = 0; bytes < torn.length; bytes++) {
    truncateSync(path, position.offset)
    const file = openSync(path, 'r+')
    writeSync(file, torn, 0, bytes, position.offset)
    closeSync(file)
    t.strictSame(readAll(folder), { lines: ['whole'], position })
    // The rest are zeros, as room that was made in advance.
    truncateSync(path, position.offset + 1000)
    t.strictSame(readAll(folder), { lines: ['whole'], position })
  }
})

test('a segment is left for the next one when it is long', async (t) => {
  const folder = tempFolder(t)
  const { writer } = writerIn(folder, 4096)
  for (let turn = 0; turn < 30; turn++) {
    writer.append(`${String(turn).padStart(500, '.')}\n`)
    await writer.whenWritten()
  }
  writer.close()
  t.ok(listJournals(folder).get(NAME)!.length >= 4)
  t.equal(readAll(folder).lines.length, 30)
})

test('room for the calls that are open is made in advance', (t) => {
  const folder = tempFolder(t)
  const { writer } = writerIn(folder)
  t.equal(statSync(segmentPath(folder, NAME, 0)).size, 0)
  t.ok(writer.hasRoomFor(0))
  t.ok(statSync(segmentPath(folder, NAME, 0)).size >= 1024 * 1024)
  t.ok(writer.hasRoomFor(5_000))
  t.ok(statSync(segmentPath(folder, NAME, 0)).size >= 5_000 * 1024)
  writer.close()
  t.end()
})

test('a long line has room where it leaves that of the calls that are open, and costs nobody a refusal', (t) => {
  const folder = tempFolder(t)
  const { writer } = writerIn(folder)
  t.ok(writer.hasRoomFor(100))
  const line = 'x'.repeat(400_000)
  t.equal(writer.hasRoomForLine(line), true)
  t.ok(statSync(segmentPath(folder, NAME, 0)).size >= 3 * line.length + 100 * 2048)
  writer.close()
  const full = tempFolder(t)
  symlinkSync('/dev/full', segmentPath(full, NAME, 0))
  const there = writerIn(full)
  t.equal(there.writer.hasRoomForLine('x'.repeat(600)), true)
  t.equal(there.writer.hasRoomForLine(line), false)
  t.equal(there.writer.hasRoomForLine(line), false)
  t.same(there.troubles, [])
  there.writer.close()
  t.end()
})

test('a name tells who writes; other files are none', (t) => {
  const folder = tempFolder(t)
  t.equal(writerPid(NAME), 4711)
  closeSync(openSync(join(folder, 'notes.txt'), 'w'))
  closeSync(openSync(segmentPath(folder, NAME, 3), 'w'))
  closeSync(openSync(segmentPath(folder, NAME, 0), 'w'))
  t.strictSame([...listJournals(folder)], [[NAME, [0, 3]]])
  t.equal(readdirSync(folder).length, 3)
  t.end()
})

test('a journal is written as long as its process lives', (t) => {
  t.equal(isWriterAlive(journalName(0, process.pid, 0)), true)
  // The first process of the machine is no worker of ours.
  t.equal(isWriterAlive(journalName(0, 1, 0)), /node/.test(process.title) && process.pid === 1)
  t.equal(isWriterAlive(journalName(0, 2 ** 22 + 1, 0)), false)
  t.end()
})

test('a length that no file holds is taken for the end', async (t) => {
  const folder = tempFolder(t)
  const { writer } = writerIn(folder)
  writer.append('whole\n')
  await writer.whenWritten()
  const { position } = readAll(folder)
  writer.close()
  const file = openSync(segmentPath(folder, NAME, 0), 'r+')
  writeSync(file, Buffer.from([0xfe, 0xff, 0xff, 0xff, 1, 2, 3, 4]), 0, 8, position.offset)
  closeSync(file)
  t.strictSame(readAll(folder), { lines: ['whole'], position })
  t.strictSame(readAll(folder, position), { lines: [], position })
})

test('a heading stands above the first of its lines in every batch, and nowhere else', async (t) => {
  const folder = tempFolder(t)
  const { writer } = writerIn(folder)
  writer.append('one\n', 'first:\n')
  writer.appendLazily('two\n', 'first:\n')
  writer.append('three\n', 'second:\n')
  await writer.whenWritten()
  writer.append('four\n', 'second:\n')
  t.equal(writer.flush(), true)
  writer.close()
  const expected = ['first:', 'one', 'two', 'second:', 'three', 'second:', 'four']
  t.strictSame(readAll(folder).lines, expected)
  writer.append('too late\n')
  await writer.whenWritten()
  t.strictSame(readAll(folder).lines, expected, 'nobody waits for what is written too late')
})

test('a line that no answer waits for is written a moment later, and with one that does where that comes first', async (t) => {
  const folder = tempFolder(t)
  const { writer } = writerIn(folder)
  const written = (): readonly string[] => readAll(folder).lines
  writer.appendLazily('alone\n')
  await eventually(() => written().length === 1)
  writer.appendLazily('taken along\n')
  writer.append('by this one\n')
  await writer.whenWritten()
  t.strictSame(written(), ['alone', 'taken along', 'by this one'])
  writer.appendLazily('after a write\n')
  await eventually(() => written().length === 4)
  t.strictSame(written().at(-1), 'after a write')
  writer.close()
})

test('a journal that nobody takes has a bound: no call begins beyond it, lines of those under way are written', async (t) => {
  const folder = tempFolder(t)
  const told: boolean[] = []
  const writer = new JournalWriter({
    folder,
    journal: NAME,
    onFailing: (error) => t.fail(String(error)),
    onRecovered: () => {},
    segmentBytes: 4096,
    most: { bytes: 4 * 4096, onFull: (isFull) => told.push(isFull) },
  })
  const line = `${'x'.repeat(1000)}\n`
  const write = (): void => {
    writer.append(line)
    writer.flush()
  }
  let calls = 0
  for (; writer.hasRoomFor(0) && calls < 100; calls++) write()
  t.equal(calls, 17, 'until the fifth segment has begun')
  t.same(told, [true])
  write()
  t.equal(readAll(folder).lines.length, 18, 'what is over is written')
  rmSync(segmentPath(folder, NAME, 0))
  await eventually(() => writer.hasRoomFor(0))
  t.same(told, [true, false])
  writer.close()
})
