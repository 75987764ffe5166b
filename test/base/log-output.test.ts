/** The place of the log: what it does when nobody takes its lines. */
import { type Test, test } from 'tap'
import { createLog } from '../../src/base/log.js'
import { LogOutput } from '../../src/base/log-output.js'
import { FakeClock } from '../support/timing/fake-clock.js'

/** A pipe with room for so many bytes, which refuses as the system does. */
function pipeWithRoom(room: number, refusal = 'EAGAIN') {
  const clock = new FakeClock()
  const pieces: string[] = []
  const pipe = { room, pieces, clock, text: (): string => pieces.join('') }
  const take = (bytes: Uint8Array): number => {
    if (pipe.room === 0) throw Object.assign(new Error(refusal), { code: refusal })
    const taken = Math.min(pipe.room, bytes.length)
    pipe.room -= taken
    pieces.push(Buffer.from(bytes.subarray(0, taken)).toString())
    return taken
  }
  const runLater = (ms: number, task: () => void): void => void clock.runAfter(ms, task)
  return { pipe, output: (gatherBytes = 0) => new LogOutput({ take, runLater, gatherBytes }) }
}

const MIB = 1024 * 1024
const line = (n: number): string => `${String(n).padStart(9, '0')}\n`

test('a line is written at once', async (t: Test) => {
  const { pipe, output } = pipeWithRoom(MIB)
  output().write('one\n')
  t.same(pipe.pieces, ['one\n'])
  t.equal(pipe.clock.pending, 0)
})

test('lines that are refused wait, also the rest of one that was taken in part, and follow in order', async (t) => {
  const { pipe, output } = pipeWithRoom(13)
  const log = output()
  for (let n = 1; n <= 3; n++) log.write(line(n))
  t.equal(pipe.text().length, 13)
  pipe.room = MIB
  pipe.clock.advance(1_000)
  t.equal(pipe.text(), line(1) + line(2) + line(3))
  log.write(line(4))
  t.equal(pipe.text(), line(1) + line(2) + line(3) + line(4), 'and the next one goes at once')
})

test('a reader who never reads costs a bounded memory, and no call of the system per line', async (t) => {
  const { pipe, output } = pipeWithRoom(0)
  const log = output()
  let dropped = 0
  log.onRecovered = (count) => {
    dropped = count
  }
  const lines = 300_000
  for (let n = 0; n < lines; n++) log.write(line(n))
  pipe.room = Number.POSITIVE_INFINITY
  pipe.clock.advance(1_000)
  const kept = pipe.text().length / 10
  t.equal(kept, Math.floor(MIB / 10))
  t.equal(pipe.text().slice(-10), line(kept - 1), 'the first ones were kept')
  t.equal(dropped, lines - kept, 'and what was left out is counted')
  t.ok(
    pipe.pieces.every((piece) => piece.length <= 4096 && piece.endsWith('\n')),
    'whole lines a piece',
  )
})

test('the log says how many lines were left out, once, when somebody takes lines again', async (t) => {
  const { pipe, output } = pipeWithRoom(0)
  const log = createLog('info', 'worker-1', output())
  for (let n = 0; n < 20_000; n++) log.info({ n }, 'said')
  pipe.room = Number.POSITIVE_INFINITY
  pipe.clock.advance(1_000)
  const lines = pipe
    .text()
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text))
  t.match(lines.at(-1), { level: 50, process: 'worker-1', dropped: 20_001 - lines.length })
  log.info('on')
  t.equal(pipe.text().trimEnd().split('\n').length, lines.length + 1)
})

for (const refusal of ['EPIPE', 'ENOSPC', 'EIO']) {
  test(`${refusal} ends nothing, and the line is offered again`, async (t) => {
    const { pipe, output } = pipeWithRoom(0, refusal)
    const log = output()
    log.write(line(1))
    log.flushSync()
    pipe.room = MIB
    pipe.clock.advance(1_000)
    t.equal(pipe.text(), line(1))
  })
}

test('gathered lines go together: when there are enough of them, after a while, and at the end', async (t) => {
  const { pipe, output } = pipeWithRoom(MIB)
  const log = output(30)
  log.write(line(1))
  t.same(pipe.pieces, [])
  pipe.clock.advance(250)
  t.same(pipe.pieces, [line(1)])
  for (let n = 2; n <= 4; n++) log.write(line(n))
  t.same(pipe.pieces.slice(1), [line(2) + line(3) + line(4)])
  log.write(line(5))
  log.flushSync()
  t.equal(pipe.text().slice(-10), line(5))
})
