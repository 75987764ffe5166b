/** What is recorded can be read: a tape ends where its readers do. */
import { test } from 'tap'
import { GrowingTape } from '../../src/tape/growing-tape.js'
import { formatStream, LONGEST_TAPE, readTape, type TapedStream } from '../../src/tape/tape.js'

const stream = (events = 1): TapedStream => ({
  ...{ v: 1, at: 0, model: 'größe', in: 1, out: 3, ttft: 100, end: 'stop' },
  ...{ gaps: Array(events - 1).fill(12_345), tok: Array(events).fill(1) },
})

function grow(limits: { readonly streams: number; readonly bytes?: number }) {
  const lines: string[] = []
  const told: string[] = []
  const tape = new GrowingTape({
    ...limits,
    write: (line) => lines.push(line),
    onFull: (why) => told.push(why),
  })
  return { lines, told, tape }
}

test('it is full with as many streams as were asked for, and says so once', async (t) => {
  const { lines, told, tape } = grow({ streams: 2 })
  for (let at = 0; at < 5; at++) tape.add(stream())
  t.same([tape.kept, tape.passed, lines.length], [2, 3, 2])
  t.same(told, ['it has 2 streams'])
})

test('it is full with as many bytes, and a shorter stream is not kept then either', async (t) => {
  const bytes = Buffer.byteLength(formatStream(stream()))
  const { lines, told, tape } = grow({ streams: 10, bytes: 2 * bytes + 10 })
  for (const events of [1, 9, 1]) tape.add(stream(events))
  t.same([tape.kept, tape.passed], [1, 2])
  t.equal(told.length, 1)
  t.equal(readTape(lines.join('')).length, 1)
})

test('unless told otherwise it ends with what a reader takes', async (t) => {
  let bytes = 0
  const write = (line: string) => (bytes += Buffer.byteLength(line))
  const tape = new GrowingTape({ streams: 1000, write, onFull: () => {} })
  const long = stream(65_536)
  while (tape.passed === 0) tape.add(long)
  t.ok(bytes <= LONGEST_TAPE && bytes > LONGEST_TAPE - Buffer.byteLength(formatStream(long)), String(bytes))
})

test('a disk that is full ends the tape and not the relay', async (t) => {
  const told: string[] = []
  const write = (): void => {
    throw new Error('ENOSPC: no space left on device, write')
  }
  const tape = new GrowingTape({ streams: 9, write, onFull: (why) => told.push(why) })
  tape.add(stream())
  tape.add(stream())
  t.same([tape.kept, tape.passed, told.length], [0, 2, 1])
  t.match(told[0], /ENOSPC/)
})
