/** Tapes that are read while a server goes on. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'tap'
import { formatStream, LONGEST_LINE, LONGEST_TAPE, readTape, type TapedStream } from '../../src/tape/tape.js'
import { readTapeFile } from '../../src/tape/tape-file.js'
import { makeFolder } from '../support/data/temp-folder.js'

const stream = (more: Partial<TapedStream> = {}): TapedStream => ({
  ...{ v: 1, at: 0, model: 'm', in: 1, out: 3, ttft: 100, gaps: [10, 20], tok: [1, 1, 1], end: 'stop' },
  ...more,
})

function fileOf(text: string): string {
  const file = join(makeFolder(), 'some.ndjson')
  writeFileSync(file, text)
  return file
}

test('a tape whose lines end anywhere in a slice is read as the whole text is', async (t) => {
  const streams = Array.from({ length: 400 }, (_, at) => {
    const events = (at * 37) % 300
    const gaps = Array.from({ length: Math.max(0, events - 1) }, (_each, gap) => gap * at)
    return stream({ at, model: `größe-${at}`, gaps, tok: Array(events).fill(1) })
  })
  const text = `${streams.map(formatStream).join('\n')}`
  t.same(await readTapeFile(fileOf(text)), { streams, bytes: Buffer.byteLength(text) })
  const { streams: unended } = await readTapeFile(fileOf(text.trimEnd()))
  t.same(unended, readTape(text), 'without a last newline')
  t.same(await readTapeFile(fileOf('')), { streams: [], bytes: 0 })
})

for (const [why, text, told] of [
  ['a bad line', `${formatStream(stream())}{\n`, /^line 2: no JSON$/],
  ['a bad last line', `${formatStream(stream())}{`, /^line 2: no JSON$/],
  ['a line without an end', `\n${'x'.repeat(3 * LONGEST_LINE)}`, /^line 2: it has more than 1 MiB$/],
  ['more than it may have', ' '.repeat(LONGEST_TAPE + 1), /^the tape has more than 64 MiB$/],
] as const) {
  test(`a file with ${why} is refused, with the reason`, async (t) => {
    await t.rejects(readTapeFile(fileOf(text)), { message: told })
  })
}

test('a file that is not there, or none, is refused', async (t) => {
  await t.rejects(readTapeFile('/nowhere/at-all.ndjson'), { message: /ENOENT/ })
  await t.rejects(readTapeFile(makeFolder()), { message: 'it is no file' })
})

test('the loop has its turns while a large tape is read', async (t) => {
  const line = formatStream(stream({ gaps: Array(1999).fill(215), tok: Array(2000).fill(1) }))
  const file = fileOf(line.repeat(2000))
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const { streams } = await readTapeFile(file)
  isOver = true
  delay.disable()
  t.equal(streams.length, 2000)
  // 24 MB in slices of 64 KiB; read at once there would be a handful of turns.
  t.ok(turns > 150, `${turns} turns`)
  t.comment(`longest delay ${delay.max / 1e6} ms`)
})
