/** What bodies that are still coming take, of whom, and what they cost everybody else. */
import { type Test, test } from 'tap'
import { z } from 'zod'
import { ANONYMOUS, type Principal } from '../../src/base/principal.js'
import { BodyBudget } from '../../src/http/body-budget.js'
import { gateway } from '../../src/http/dialects/gateway.js'
import type { PipelineOptions } from '../../src/http/pipeline.js'
import { bytesReply, jsonReply } from '../../src/http/reply.js'
import { chunked, split, turn } from '../support/clients/raw-http.js'
import { connected, pausedReader, startEdge } from '../support/servers/native-edge.js'
import { pipelineOf, probe } from '../support/servers/pipeline.js'
import { eventually } from '../support/timing/eventually.js'
import { gate } from '../support/timing/gate.js'

const KIB = 1024
const MIB = 1024 * KIB

/** The organization whose name the credential is. */
const authority: PipelineOptions['authority'] = {
  authorize: (name) => ({ ...ANONYMOUS, organizationId: name, keyHash: name }) satisfies Principal,
}

/** Two faces with a budget each, on a socket. `/hold` waits for the gate with its body read. */
async function bench(t: Test, over: Partial<PipelineOptions> = {}, total = 16 * MIB) {
  const held = gate<void>()
  const bodies = { practice: new BodyBudget(256 * KIB, 64 * KIB), gateway: new BodyBudget(total, total / 8) }
  const body = z.object({ text: z.string() })
  const chat = { method: 'POST', dialect: gateway, access: 'key', bodyLimit: total / 8, body } as const
  const { routes, counted } = pipelineOf(
    [
      probe('/fine'),
      probe('/large', { handle: () => bytesReply(200, 'text/plain', LARGE) }),
      probe('/take', { method: 'POST', body, bodyLimit: 64 * KIB }),
      probe('/chat', { ...chat, handle: ({ body: { text } }) => jsonReply(200, text.length) }),
      probe('/hold', {
        ...chat,
        handle: async () => {
          await held.opened
          return jsonReply(200, {})
        },
      }),
      probe('/upload', {
        ...chat,
        body: undefined as never,
        upload: { mediaType: 'text/plain', schema: { type: 'string' } },
        handle: (_input, call) =>
          new Promise((resolve) => {
            call.incoming?.read({
              onData: () => {},
              onEnd: () => resolve(bytesReply(200, 'text/plain', 'all of it')),
              onFailure: () => {},
            })
          }),
      }),
    ],
    { authority, bodies, ...over },
  )
  let waiting = 0
  const observed = routes.map((route) => ({
    ...route,
    onWaiting: (change: 1 | -1) => {
      waiting += change
      route.onWaiting?.(change)
    },
  }))
  const { port } = await startEdge(t, observed)
  /** A request of which `sent` bytes of the body are sent, of `length`. */
  const begin = async (target: string, length: number, sent: number, organization = '') => {
    const connection = await connected(t, port, {
      method: 'POST',
      target,
      headers: [
        ['Content-Type', 'application/json'],
        ['Content-Length', String(length)],
        ...(organization === '' ? [] : [['Authorization', organization] as const]),
      ],
      body: textBody(length).subarray(0, sent),
    })
    return { ...connection, connection, finish: () => connection.send(textBody(length).subarray(sent)) }
  }
  return {
    port,
    bodies,
    waiting: () => waiting,
    begin,
    counted,
    held,
    get: () => connected(t, port, { target: '/fine' }),
  }
}

/** More than the kernel holds for a reader that takes nothing. */
const LARGE = Buffer.alloc(8 * MIB, 'x')

/** JSON of so many bytes. */
function textBody(length: number): Buffer {
  return Buffer.from(`{"text":"${'x'.repeat(length - 11)}"}`)
}

test('requests that are not complete are no work: they shed nobody, and are judged when they are complete', async (t) => {
  const { bodies, waiting, begin, counted, get } = await bench(t, { maxInFlight: 10 })
  const half = []
  for (let n = 0; n < 30; n++) half.push(await begin('/take', 100, 20))
  await eventually(() => counted.take?.arrived === 30)
  t.equal(waiting(), 30)
  t.equal((await (await get()).read()).status, 200, 'a read')
  const whole = await begin('/chat', 100, 100, 'org-1')
  t.equal((await whole.connection.read()).status, 200, 'a chat')
  for (const { finish } of half) await finish()
  for (const { connection } of half) t.equal((await connection.read()).status, 200)
  t.equal(waiting(), 0)
  t.equal(bodies.practice.taken, 0)
})

test('what no operation reads of a body is no work either', async (t) => {
  const { port, waiting, get } = await bench(t, { maxInFlight: 10 })
  const unread = []
  for (let n = 0; n < 30; n++) {
    const target = n % 2 === 0 ? '/fine' : '/nowhere'
    unread.push(await connected(t, port, { target, headers: [['Content-Length', '10']], body: 'half' }))
  }
  await eventually(() => waiting() === 30)
  t.equal((await (await get()).read()).status, 200)
  for (const connection of unread) connection.destroy()
  await eventually(() => waiting() === 0)
})

test('answers that wait for slow readers shed nobody', async (t) => {
  const { port, waiting, get } = await bench(t, { maxInFlight: 10 })
  const readers = []
  for (let n = 0; n < 12; n++) readers.push(await pausedReader(t, port, { target: '/large' }))
  await eventually(() => waiting() === 12)
  t.equal((await (await get()).read()).status, 200)
  for (const reader of readers) reader.resume()
  await Promise.all(readers.map((reader) => reader.read()))
  t.equal(waiting(), 0)
})

test('complete requests beyond the limit are shed, also those whose bodies came late', async (t) => {
  const { begin, counted, held, get } = await bench(t, { maxInFlight: 3 })
  const late = await begin('/chat', 100, 20, 'org-1')
  await eventually(() => counted.chat?.arrived === 1)
  const waiting = []
  for (let n = 0; n < 3; n++) waiting.push(await begin('/hold', 100, 100, 'org-1'))
  await eventually(() => counted.hold?.arrived === 3)
  t.equal((await (await get()).read()).status, 503)
  await late.finish()
  const shed = await late.connection.read()
  t.equal(shed.status, 503)
  t.match(shed.header('retry-after'), /^[1-9]/)
  held.open()
  for (const { connection } of waiting) t.equal((await connection.read()).status, 200)
  t.equal((await (await get()).read()).status, 200)
})

test('an organization may have a quarter of the memory for bodies; another one still has room', async (t) => {
  const { bodies, waiting, begin } = await bench(t)
  const size = 2 * MIB
  const own = [await begin('/chat', size, size - 10, 'org-1'), await begin('/chat', size, size - 10, 'org-1')]
  await eventually(() => bodies.gateway.taken === 2 * size)
  const refused = await begin('/chat', size, size - 10, 'org-1')
  const reply = await refused.connection.read()
  t.equal(reply.status, 429)
  t.match(reply.header('retry-after'), /^[1-9]/)
  const other = await begin('/chat', size, size - 10, 'org-2')
  for (const { finish, connection } of [...own, other]) {
    await finish()
    t.equal((await connection.read()).status, 200)
  }
  t.equal(bodies.gateway.taken, 0, 'all of it was given back')
  t.equal(waiting(), 1, 'what still comes of the refused one is thrown away')
  refused.connection.destroy()
  await eventually(() => waiting() === 0)
})

test('when organizations have all of it together, the next one is told to come back', async (t) => {
  const { bodies, begin } = await bench(t)
  const size = 2 * MIB
  for (const name of ['1', '2', '3', '4'])
    for (let n = 0; n < 2; n++) await begin('/chat', size, size - 10, `org-${name}`)
  await eventually(() => bodies.gateway.taken === 16 * MIB)
  const refused = await begin('/chat', 1000, 500, 'org-5')
  const reply = await refused.connection.read()
  t.equal(reply.status, 503)
  t.match(reply.header('retry-after'), /^[1-9]/)
})

test('who leaves gives back what the body took', async (t) => {
  const { bodies, waiting, begin } = await bench(t)
  const { connection } = await begin('/chat', 2 * MIB, MIB, 'org-1')
  await eventually(() => bodies.gateway.taken > 0)
  connection.destroy()
  await eventually(() => bodies.gateway.taken === 0 && waiting() === 0)
  t.pass()
})

test('a large body counts until its call is over, a small one until it is complete', async (t) => {
  const { bodies, waiting, begin, held, counted } = await bench(t)
  const small = await begin('/hold', 100 * KIB, 50, 'org-1')
  const large = await begin('/hold', 2 * MIB, 50, 'org-1')
  await eventually(() => waiting() === 2)
  await small.finish()
  await large.finish()
  await eventually(() => waiting() === 0)
  t.equal(counted.hold?.arrived, 2)
  t.equal(bodies.gateway.taken, 2 * MIB)
  held.open()
  for (const { connection } of [small, large]) t.equal((await connection.read()).status, 200)
  t.equal(bodies.gateway.taken, 0)
})

test('what is declared takes nothing, and bytes that come one by one take no more than bytes', async (t) => {
  const { bodies, begin } = await bench(t)
  const { connection } = await begin('/chat', 2 * MIB, 10, 'org-1')
  await eventually(() => bodies.gateway.taken > 0)
  t.equal(bodies.gateway.taken, KIB)
  for (let n = 0; n < 100; n++) await connection.send(Buffer.from('x'))
  t.equal(bodies.gateway.taken, KIB)
})

test('addresses without a key have a budget of their own, and are told that there is no room', async (t) => {
  const { bodies, begin } = await bench(t)
  const half = await begin('/take', 64 * KIB, 60 * KIB)
  await eventually(() => bodies.practice.taken === 64 * KIB)
  const refused = await begin('/take', 64 * KIB, 60 * KIB)
  const reply = await refused.connection.read()
  t.equal(reply.status, 503)
  t.same(JSON.parse(reply.text), { detail: 'Service temporarily unavailable' })
  const chat = await begin('/chat', 64 * KIB, 60 * KIB, 'org-1')
  await chat.finish()
  t.equal((await chat.connection.read()).status, 200, 'the other face')
  await half.finish()
  t.equal((await half.connection.read()).status, 200)
})

test('bodies that are read as streams count by number', async (t) => {
  const { bodies, waiting, begin } = await bench(t)
  const uploads = []
  for (let n = 0; n < 8; n++) uploads.push(await begin('/upload', 1000, 10, 'org-1'))
  await eventually(() => waiting() === 8)
  t.equal(bodies.gateway.taken, 4 * MIB)
  const refused = await begin('/upload', 1000, 10, 'org-1')
  t.equal((await refused.connection.read()).status, 429)
  const other = await begin('/upload', 1000, 10, 'org-2')
  for (const { finish, connection } of [...uploads, other]) {
    await finish()
    t.equal((await connection.read()).status, 200)
  }
  t.equal(bodies.gateway.taken, 0)
})

test('of a caller who is not known yet nothing is counted, and all of it as soon as the caller is known', async (t) => {
  const known = gate<void>()
  const late: PipelineOptions['authority'] = {
    authorize: async (name) => {
      await known.opened
      return { ...ANONYMOUS, organizationId: name }
    },
  }
  const { bodies, waiting, begin } = await bench(t, { authority: late })
  const { connection, finish } = await begin('/chat', MIB, 100 * KIB, 'org-1')
  await eventually(() => waiting() === 1)
  t.equal(bodies.gateway.taken, 0)
  known.open()
  await eventually(() => bodies.gateway.taken >= 100 * KIB)
  await finish()
  t.equal((await connection.read()).status, 200)
  t.equal(bodies.gateway.taken, 0)
})

test('a large body that comes in many pieces, declared or in chunks, is the body that was sent', async (t) => {
  const { port, bodies } = await bench(t)
  const body = textBody(2 * MIB)
  const framings = [
    { headers: [['Content-Length', String(body.byteLength)]], pieces: split(body, 100_000) },
    { headers: [['Transfer-Encoding', 'chunked']], pieces: split(chunked(body, 300_000), 100_000) },
  ] as const
  for (const { headers, pieces } of framings) {
    const connection = await connected(t, port, {
      method: 'POST',
      target: '/chat',
      headers: [['Content-Type', 'application/json'], ['Authorization', 'org-1'], ...headers],
    })
    for (const piece of pieces) {
      await connection.send(piece)
      await turn()
    }
    t.match(await connection.read(), { status: 200, text: String(body.byteLength - 11) })
    t.equal(bodies.gateway.taken, 0)
  }
})
