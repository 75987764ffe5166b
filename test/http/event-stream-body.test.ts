import { test } from 'tap'
import { EventStreamBody } from '../../src/http/event-stream.js'

interface Bench {
  readonly stream: EventStreamBody
  readonly told: string[]
  readonly written: string[]
  /** The reader is slow from now on. */
  slow: boolean
  start(): void
  drain(): void
  leave(): void
}

function bench(keepAlive = true): Bench {
  const told: string[] = []
  const written: string[] = []
  let drain = (): void => {}
  let leave = (): void => {}
  const stream = new EventStreamBody(
    {
      pause: () => void told.push('pause'),
      resume: () => void told.push('resume'),
      cancel: () => void told.push('cancel'),
      closingEvents: () => 'data: last\n\n',
    },
    keepAlive,
  )
  const made: Bench = {
    stream,
    told,
    written,
    slow: false,
    start: () =>
      stream.start({
        write: (chunk) => {
          written.push(String(chunk))
          return !made.slow
        },
        end: () => void written.push('END'),
        onDrain: (resume) => {
          drain = resume
        },
        onAbort: (gone) => {
          leave = gone
        },
      }),
    drain: () => drain(),
    leave: () => leave(),
  }
  return made
}

test('what is pushed before the transport starts is written when it does', async (t) => {
  const { stream, written, start } = bench()
  stream.push('a')
  stream.flush()
  t.same(written, [])
  start()
  t.same(written, ['a'])
})

test('what is pushed between two flushes is written in one piece', async (t) => {
  const { stream, written, start } = bench()
  start()
  stream.push('a')
  stream.push('b')
  stream.flush()
  stream.flush()
  t.same(written, ['ab'])
})

test('an end before the start is kept', async (t) => {
  const { stream, written, start } = bench()
  stream.push('a')
  stream.end()
  start()
  t.same(written, ['a', 'END'])
})

test('the end writes what is left, once', async (t) => {
  const { stream, written, start } = bench()
  start()
  stream.push('a')
  stream.end()
  stream.end()
  t.same(written, ['a', 'END'])
})

test('a slow reader pauses the source once, and a drain resumes it', async (t) => {
  const all = bench()
  all.start()
  all.slow = true
  for (const event of ['a', 'b']) {
    all.stream.push(event)
    all.stream.flush()
  }
  t.same(all.told, ['pause'])
  all.drain()
  all.drain()
  t.same(all.told, ['pause', 'resume'])
})

test('a reader that leaves cancels the source', async (t) => {
  const all = bench()
  all.start()
  all.leave()
  t.same(all.told, ['cancel'])
})

test('a silence is broken with comments unless the caller does not want them', async (t) => {
  t.equal(bench().stream.heartbeat, ': SERVICE PROCESSING\n\n')
  t.equal(bench(false).stream.heartbeat, '')
})
