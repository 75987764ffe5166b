/** What is recorded can be read: a tape ends where its readers do. */
import { test } from 'tap'
import { GrowingTape } from '../../src/tape/growing-tape.js'
import { formatStream, LONGEST_LINE, LONGEST_TAPE, readTape, type TapedStream } from '../../src/tape/tape.js'

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

test('a stream that is too long for a line ends the tape, and the short ones behind it are not kept either', async (t) => {
  const { lines, told, tape } = grow({ streams: 10 })
  const long = { ...stream(65_536), gaps: Array(65_535).fill(1e12) }
  t.ok(formatStream(long).length > LONGEST_LINE)
  for (const next of [stream(), long, stream(), long]) tape.add(next)
  t.same([tape.kept, tape.passed, lines.length], [1, 3, 1])
  t.same(told, ['the next stream is longer than 1 MiB'])
})

test('a stream as long as a line may be is kept, and can be read', async (t) => {
  const { lines, told, tape } = grow({ streams: 10 })
  const short = { ...stream(65_536), gaps: Array(65_535).fill(1e12) }
  const over = formatStream(short).length - 1 - LONGEST_LINE
  // Each of them is shorter by twelve characters; the name of the model makes up the rest.
  const fewer = Math.ceil(over / 12)
  const gaps = short.gaps.map((gap: number, at) => (at < fewer ? 1 : gap))
  const longest = { ...short, gaps, model: `größe${'x'.repeat(12 * fewer - over)}` }
  t.equal(formatStream(longest).length, LONGEST_LINE + 1, 'with the end of the line')
  tape.add(longest)
  t.same([tape.kept, told], [1, []])
  t.equal(readTape(lines.join('')).length, 1)
  tape.add({ ...longest, model: `${longest.model}x` })
  t.same(told, ['the next stream is longer than 1 MiB'])
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
