import { test } from 'tap'
import { type StreamFaults, streamOfBody, withStreamFaults } from '../../../src/lab/faults/stream-faults.js'
import type { ResponseSink, StreamResponseBody } from '../../../src/transport/exchange.js'
import { eventually } from '../../support/timing/eventually.js'

function token(text: string): string {
  return `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`
}

/** A transport that keeps what is written. */
class RecordingSink implements ResponseSink {
  readonly writes: string[] = []
  ended = false
  readonly #leavers: (() => void)[] = []
  resume: (() => void) | null = null

  get text(): string {
    return this.writes.join('')
  }

  write(chunk: string | Uint8Array): boolean {
    this.writes.push(Buffer.from(chunk as string).toString('latin1'))
    return true
  }

  end(): void {
    this.ended = true
  }

  onDrain(resume: () => void): void {
    this.resume = resume
  }

  onAbort(leave: () => void): void {
    this.#leavers.push(leave)
  }

  leave(): void {
    for (const leave of this.#leavers) leave()
  }
}

interface FaultyStreamScene {
  readonly taken: RecordingSink
  readonly source: ResponseSink
  readonly applied: string[]
  /** What the source was told: that its reader has gone. */
  readonly told: string[]
  dropped: number
}

function startFaultyStream(troubles: StreamFaults): FaultyStreamScene {
  const taken = new RecordingSink()
  const told: string[] = []
  const applied: string[] = []
  let source: ResponseSink | null = null
  const body: StreamResponseBody = {
    heartbeat: ': filler\n\n',
    padding: '\n',
    closingFrame: 'data: {"error":{}}\n\n',
    start: (sink) => {
      source = sink
      sink.onAbort(() => told.push('gone'))
    },
  }
  const made = { taken, applied, told, dropped: 0 }
  const troubledBody = withStreamFaults(body, troubles, {
    onFault: (kind) => applied.push(kind),
    drop: () => void made.dropped++,
  })
  if (troubledBody.heartbeat !== body.heartbeat || troubledBody.closingFrame !== body.closingFrame)
    throw new Error('other words')
  troubledBody.start(taken)
  return Object.assign(made, { source: source! })
}

test('events in one write are told apart', async (t) => {
  const { source, taken, applied } = startFaultyStream({ error: { token: 2 } })
  source.write(token('a') + token('b') + token('c') + token('d'))
  t.equal(taken.text, `${token('a')}${token('b')}data: {"error":{}}\n\n`)
  t.ok(taken.ended)
  t.same(applied, ['error-at-token'])
})

test('events without text are no tokens', async (t) => {
  const { source, taken } = startFaultyStream({ error: { token: 1 } })
  source.write(': comment\n\n')
  source.write(token(''))
  source.write(token('a'))
  t.notOk(taken.ended)
  source.write(token('b'))
  t.ok(taken.ended)
})

for (const kind of ['error', 'cut'] as const) {
  test(`after ${kind} at a token the source is told to stop, and nothing more is written`, async (t) => {
    const made = startFaultyStream({ [kind]: { token: 0 } })
    const { source, taken, told } = made
    source.write(token('a'))
    const { length } = taken.writes
    source.write(token('b'))
    source.end()
    t.equal(taken.writes.length, length)
    t.same(told, ['gone'])
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(made.dropped, kind === 'cut' ? 1 : 0)
  })
}

test('what is written during a stall comes behind it, in order, and then the end', async (t) => {
  const { source, taken } = startFaultyStream({ stall: { token: 1, ms: 30 } })
  source.write(token('a'))
  source.write(token('b'))
  source.write(token('c'))
  source.end()
  t.equal(taken.text, token('a'))
  t.notOk(taken.ended)
  await eventually(() => taken.ended)
  t.equal(taken.text, token('a') + token('b') + token('c'))
})

test('a source that writes on during a stall is told to wait, and to go on', async (t) => {
  const { source, taken } = startFaultyStream({ stall: { token: 0, ms: 30 } })
  let resumed = 0
  source.onDrain(() => void resumed++)
  source.write(token('a'))
  t.equal(source.write('x'.repeat(2 * 1024 * 1024)), false)
  await eventually(() => resumed === 1)
  t.equal(taken.text.length, token('a').length + 2 * 1024 * 1024)
})

test('a reader that leaves during a stall ends it', async (t) => {
  const { source, taken } = startFaultyStream({ stall: { token: 0, ms: 20 } })
  source.write(token('a'))
  taken.leave()
  await new Promise((resolve) => setTimeout(resolve, 40))
  t.equal(taken.text, '')
})

test('characters are cut behind their first byte, and the bytes stay', async (t) => {
  const { source, taken, applied } = startFaultyStream({ splitUtf8: true })
  source.write('plain')
  source.write('a € b ß c')
  source.end()
  await eventually(() => taken.ended)
  t.equal(Buffer.from(taken.text, 'latin1').toString(), 'plaina € b ß c')
  t.same(
    taken.writes.map((write) => Buffer.from(write, 'latin1').at(-1)!.toString(16)),
    ['6e', 'e2', 'c3', '63'],
  )
  t.equal(applied.length, 2)
})

test('a throttled body keeps its pace', async (t) => {
  const taken = new RecordingSink()
  const begun = performance.now()
  withStreamFaults(
    streamOfBody('x'.repeat(1_000)),
    { bytesPerS: 5_000 },
    { onFault: () => {}, drop: () => {} },
  ).start(taken)
  await eventually(() => taken.ended)
  const ms = performance.now() - begun
  t.ok(ms >= 145, `${ms} ms for 1,000 bytes at 5,000 a second`)
  t.same(
    taken.writes.map(({ length }) => length),
    [250, 250, 250, 250],
  )
})

test('a farewell stands before the end', async (t) => {
  const { source, taken } = startFaultyStream({ closingComment: () => ': bye\n\n' })
  source.write('a')
  source.end()
  t.same(taken.writes, ['a', ': bye\n\n'])
})
