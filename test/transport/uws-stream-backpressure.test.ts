// Runs in a process of its own: it measures memory.
import { test } from 'tap'
import { askRaw, type RawConnection, turn } from '../support/clients/raw-http.js'
import { pausedReader } from '../support/servers/native-edge.js'
import { event, numbers, produce, streamBench, type Told } from '../support/servers/stream-bench.js'
import { eventually } from '../support/timing/eventually.js'

const MIB = 1024 * 1024
/** A slow reader rests after so many bytes. */
const REST_BYTES = 128 * 1024

const PACES: Record<string, (go: () => void) => void> = {
  'at once': (go) => go(),
  'in a later turn': (go) => void setImmediate(go),
  'after a while': (go) => void setTimeout(go, 5),
}

for (const [when, pace] of Object.entries(PACES)) {
  for (const [bytes, count] of [
    [100, 60_000],
    [16_000, 1_000],
    [200_000, 80],
  ] as const) {
    test(`a slow reader gets ${count} events of ${bytes} bytes once and in order (resumed ${when})`, async (t) => {
      const told: Told = { refusals: 0 }
      const all = await streamBench(t, { start: produce(count, bytes, told, pace) })
      const connection = await pausedReader(t, all.port, { target: '/stream' })
      await eventually(() => told.refusals > 0)
      t.equal(all.producers[0]!.drains, 0, 'and not yet to go on')
      connection.resume()
      const chunks: Buffer[] = []
      let unrested = 0
      await connection.readHead()
      for (let next = await connection.chunk(); next !== null; next = await connection.chunk()) {
        chunks.push(next)
        unrested += next.byteLength
        if (unrested < REST_BYTES) continue
        unrested = 0
        connection.pause()
        await turn()
        connection.resume()
      }
      const text = Buffer.concat(chunks).toString()
      t.strictSame(
        numbers(text),
        Array.from({ length: count }, (_, i) => i),
      )
      await all.ledger.balanced()
      t.match(all.ledger.last, { status: 200, bytesOut: text.length, aborted: false })
      t.ok(all.producers[0]!.drains > 0, 'it was told to go on')
      t.equal(all.producers[0]!.gone, 0)
      await connection.send({ target: '/ping' })
      t.equal((await connection.read()).text, 'pong', 'and the connection goes on')
    })
  }
}

test('bytes that wait are pushed out although the producer has nothing more to say', async (t) => {
  let written = 0
  const all = await streamBench(t, {
    start: ({ sink }) => {
      while (sink.write(event(written++))) {
        // Until the reader is behind; then nothing, not even when it has caught up.
      }
    },
  })
  const connection = await pausedReader(t, all.port, { target: '/stream' })
  await eventually(() => written > 0)
  connection.resume()
  await connection.readHead()
  let text = ''
  while (numbers(text).length < written) text += await connection.chunk()
  t.strictSame(
    numbers(text),
    Array.from({ length: written }, (_, i) => i),
  )
})

test('what waits for a reader that does not read is what the producer wrote before it was told', async (t) => {
  const count = 10
  const told: Told = { refusals: 0 }
  const all = await streamBench(t, { start: produce(100_000, 64_000, told, (go) => go()) })
  const before = process.memoryUsage().rss
  const readers: RawConnection[] = []
  for (let i = 0; i < count; i++) {
    const reader = await pausedReader(t, all.port, { target: '/stream' })
    readers.push(reader)
  }
  await eventually(() => told.refusals === count)
  const grown = process.memoryUsage().rss - before
  t.ok(grown < count * 2 * MIB, `${grown} bytes for ${count} readers`)
  t.equal((await askRaw(all.port, { target: '/ping' })).status, 200, 'others are served')
})

test('a producer that does not stop when told is cut', async (t) => {
  const all = await streamBench(t, {
    start: ({ sink }) => {
      const flood = (): void => {
        for (let i = 0; i < 4; i++) sink.write(event(i, 64_000))
        if (all.producers[0]!.gone === 0) setImmediate(flood)
      }
      setImmediate(flood)
    },
  })
  const before = process.memoryUsage().rss
  await pausedReader(t, all.port, { target: '/stream' })
  await all.ledger.balanced()
  t.match(all.ledger.last, { status: 200, aborted: true })
  t.equal(all.producers[0]!.gone, 1)
  const grown = process.memoryUsage().rss - before
  t.ok(grown < 30 * MIB, `${grown} bytes`)
  t.strictSame(all.defects, [])
})

test('a producer that ends right after its reader was found slow loses nothing', async (t) => {
  let written = 0
  const all = await streamBench(t, {
    start: ({ sink }) => {
      while (sink.write(event(written++))) {
        // Until the reader is behind.
      }
      sink.end()
    },
  })
  const connection = await pausedReader(t, all.port, { target: '/stream' })
  await all.ledger.balanced()
  t.match(all.ledger.last, { status: 200, aborted: false })
  connection.resume()
  const reply = await connection.read()
  t.strictSame(
    numbers(reply.text),
    Array.from({ length: written }, (_, i) => i),
  )
})
