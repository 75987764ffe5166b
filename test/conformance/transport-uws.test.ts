/** What the native transport does with its routes: a table of cases, and scenes that take more than one request. */
import { type Test, test } from 'tap'
import {
  chunked,
  connectRaw,
  type RawConnection,
  request as requestBytes,
} from '../support/clients/raw-http.js'
import { startEdge } from '../support/servers/native-edge.js'
import { jsonReply, Ledger } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'
import { type CarriedRequest, type Case, filled, get } from './transport-case.js'
import { FRAMING_CASES } from './transport-cases-framing.js'
import { INPUT_CASES } from './transport-cases-input.js'
import { REPLY_CASES } from './transport-cases-replies.js'
import { STREAMED_CASES } from './transport-cases-streamed.js'
import { type OpenCall, SHORT_DEADLINE_MS, type Stage, stage } from './transport-routes.js'

const CASES: readonly Case[] = [...INPUT_CASES, ...REPLY_CASES, ...FRAMING_CASES, ...STREAMED_CASES]

interface CarriedReply {
  readonly status: number
  /** Names in lower case. */
  header(name: string): string | undefined
  readonly body: Buffer
  /** The server announced the close, and closed; otherwise the connection has served on. */
  readonly close: boolean
}

/** The routes on a server of their own. */
interface Bound extends Stage {
  readonly ledger: Ledger
  readonly port: number
}

async function bind(t: Test, strictProxy: boolean): Promise<Bound> {
  const ledger = new Ledger()
  const bound = stage(ledger)
  const { port } = await startEdge(t, bound.routes, { strictProxy })
  return { ...bound, ledger, port }
}

function bytes({ method, url, headers = [], host, body, chunked: inChunks }: CarriedRequest): Buffer {
  return requestBytes({
    method,
    target: url,
    headers: (inChunks ? [...headers, 'Transfer-Encoding: chunked'] : headers).map(headerPair),
    ...(host === null ? { host } : {}),
    ...(body === undefined ? {} : { body: inChunks ? chunked(body, 400) : body }),
  })
}

function headerPair(line: string): [name: string, value: string] {
  const end = line.indexOf(': ')
  return [line.slice(0, end), line.slice(end + 2)]
}

/** A connection whose server said that it closes does so; any other serves another request. */
async function followUp(connection: RawConnection, close: boolean): Promise<void> {
  if (close) {
    if ((await connection.ended()) !== 'fin') throw new Error('the close was a reset')
    if (connection.unread.byteLength > 0) throw new Error(`after the answer came ${connection.unread}`)
    return
  }
  await connection.send(requestBytes({ target: '/follow-up' }))
  const reply = await connection.read()
  if (reply.body.toString() !== 'served on') throw new Error(`the connection answers ${reply.status}`)
}

/** Sends a request. Rejects when the connection ends without a whole answer. */
async function send({ port }: Bound, request: CarriedRequest): Promise<CarriedReply> {
  const connection = await connectRaw(port)
  try {
    await connection.send(bytes(request))
    const { status, fields, header, body } = await connection.read({ head: request.method === 'HEAD' })
    const close = header('connection') === 'close'
    await followUp(connection, close)
    const has = (name: string): boolean => fields.some(([field]) => field === name)
    return { status, header: (name) => (has(name) ? header(name) : undefined), body, close }
  } finally {
    connection.destroy()
  }
}

/** Sends a request and leaves when `when` resolves. */
async function leave({ port }: Bound, request: CarriedRequest, when: Promise<unknown>): Promise<void> {
  const connection = await connectRaw(port)
  await connection.send(bytes(request))
  await when
  connection.destroy()
}

test('the native transport conforms', async (t) => {
  const strict = await bind(t, false)
  const behindProxy = await bind(t, true)
  for (const one of CASES) {
    await t.test(one.name, (t) => check(t, one, one.strictProxy ? behindProxy : strict))
  }
  const names = new Set(CASES.map(({ name }) => name))
  t.equal(names.size, CASES.length, 'every case has a name of its own')
  for (const [name, play] of Object.entries(SCENES)) await t.test(name, (t) => play(t, strict))
})

async function check(t: Test, one: Case, bound: Bound): Promise<void> {
  const { ledger } = bound
  const before = ledger.arrived
  const reply = await send(bound, one.request)
  t.equal(reply.status, one.status, 'status')
  t.equal(reply.close, one.close === true, 'close')
  if (one.ownPage === undefined) checkContent(t, one, reply)
  if (one.ownPage === 'uncounted') {
    t.equal(ledger.arrived, before, 'not counted')
    return
  }
  await ledger.balanced(before + 1)
  t.equal(ledger.arrived, before + 1, 'counted once')
  t.match(ledger.last, { status: one.status, aborted: false }, 'settled as it was answered')
  if (one.bytesIn !== undefined) t.equal(ledger.last?.bytesIn, one.bytesIn, 'bytes in')
  if (one.bytesOut !== undefined) t.equal(ledger.last?.bytesOut, one.bytesOut, 'bytes out')
}

function checkContent(t: Test, one: Case, reply: CarriedReply): void {
  if (one.body !== undefined) {
    const expected = Buffer.from(one.body)
    // Not `t.same`: a difference in 300 kB is no help as a diff.
    t.ok(reply.body.equals(expected), `body of ${expected.byteLength} bytes`, {
      found: reply.body.subarray(0, 200).toString('latin1'),
    })
  }
  if (one.sees !== undefined) {
    const seen: Record<string, unknown> = JSON.parse(reply.body.toString())
    for (const [name, value] of Object.entries(one.sees))
      t.strictSame(seen[name], value, `the route sees ${name}`)
  }
  for (const [name, value] of Object.entries(one.headers ?? {})) {
    t.equal(reply.header(name), value ?? undefined, name)
  }
}

/** The next call that stays open; to be asked for before the request is sent. */
async function nextOpen({ open }: Bound): Promise<OpenCall> {
  const count = open.length
  await eventually(() => open.length > count)
  return open[count]!
}

const GET_OPEN = get('/open')

/** Behaviour that takes more than a request and its reply. */
const SCENES: Record<string, (t: Test, bound: Bound) => Promise<void>> = {
  'an answer that is slow but in time is sent and nobody is called gone': async (t, bound) => {
    const next = nextOpen(bound)
    const asked = send(bound, GET_OPEN)
    const one = await next
    t.equal(bound.ledger.open, 1, 'in flight until it is answered')
    t.notOk(one.call.aborted)
    one.answer.open(jsonReply(200, { slow: true }))
    t.equal((await asked).status, 200)
    await bound.ledger.balanced()
    t.match(bound.ledger.last, { status: 200, aborted: false })
    t.equal(one.gone, 0)
  },

  'calls that wait do not hold up each other': async (t, bound) => {
    const count = bound.open.length
    const asked = [send(bound, GET_OPEN), send(bound, GET_OPEN), send(bound, GET_OPEN)]
    await eventually(() => bound.open.length === count + 3)
    t.equal((await send(bound, get('/ping'))).status, 200)
    for (const one of bound.open.slice(count).reverse()) one.answer.open(jsonReply(201, {}))
    for (const reply of await Promise.all(asked)) t.equal(reply.status, 201)
    await bound.ledger.balanced()
  },

  'a call over its deadline is answered 504, its handler is told, and what it says later is dropped': async (
    t,
    bound,
  ) => {
    const before = bound.ledger.arrived
    const started = performance.now()
    const next = nextOpen(bound)
    const asked = send(bound, get('/overdue'))
    const one = await next
    const reply = await asked
    t.ok(performance.now() - started >= SHORT_DEADLINE_MS - 5, 'not before the deadline')
    t.equal(reply.status, 504)
    t.equal(reply.body.toString(), '{"fault":"deadline-exceeded"}')
    t.ok(reply.close, 'and the connection is closed')
    await bound.ledger.balanced(before + 1)
    one.answer.open(jsonReply(200, { too: 'late' }))
    t.equal((await send(bound, get('/ping'))).status, 200)
    await bound.ledger.balanced(before + 2)
    t.equal(bound.ledger.arrived, before + 2, 'settled once')
    t.match(bound.ledger.settlements.at(-2), { status: 504, aborted: false })
    t.equal(one.gone, 1)
    t.ok(one.call.aborted)
  },

  'a caller that leaves is told to the handler once and is settled once as aborted': async (t, bound) => {
    const before = bound.ledger.arrived
    const next = nextOpen(bound)
    await leave(bound, GET_OPEN, next)
    const one = await next
    await bound.ledger.balanced(before + 1)
    t.match(bound.ledger.last, { status: 0, bytesOut: 0, aborted: true })
    await eventually(() => one.gone > 0)
    one.answer.open(jsonReply(200, { nobody: 'hears' }))
    t.equal((await send(bound, get('/ping'))).status, 200)
    t.equal(bound.ledger.arrived, before + 2)
    t.equal(bound.ledger.open, 0, 'settled once')
    t.equal(one.gone, 1)
    t.ok(one.call.aborted)
    let late = 0
    one.call.onAbort(() => late++)
    t.equal(late, 1, 'who asks later hears at once')
  },

  'a stream whose caller leaves is told once and settled once as aborted': async (t, bound) => {
    const before = bound.ledger.arrived
    const next = nextOpen(bound)
    await leave(bound, get('/stream/open'), next)
    const one = await next
    await bound.ledger.balanced(before + 1)
    t.match(bound.ledger.last, { status: 200, aborted: true })
    await eventually(() => one.gone > 0)
    t.equal(one.gone, 1)
    t.equal(bound.ledger.arrived, before + 1)
  },

  'a stream over its deadline ends with its last words': async (t, bound) => {
    const before = bound.ledger.arrived
    const next = nextOpen(bound)
    const asked = send(bound, get('/stream/overdue'))
    const one = await next
    const reply = await asked
    t.equal(reply.status, 200)
    t.equal(reply.body.toString(), 'first words, last words')
    await bound.ledger.balanced(before + 1)
    t.match(bound.ledger.last, { status: 200, bytesOut: reply.body.byteLength, aborted: true })
    t.equal(one.gone, 1)
  },

  'a route that throws gives no answer and is settled as aborted': (t, bound) =>
    defective(t, bound, '/throws'),
  'a route that rejects gives no answer and is settled as aborted': (t, bound) =>
    defective(t, bound, '/rejects'),

  'an upload whose caller leaves is told to its reader once': async (t, bound) => {
    const { takens } = bound.streamed
    const before = bound.ledger.arrived
    const count = takens.length
    const headers = ['Content-Length: 1000']
    const body = filled(100)
    const arrives = eventually(() => takens.length > count)
    await leave(bound, { method: 'POST', url: '/taken', headers, body }, arrives).catch(() => {})
    await bound.ledger.balanced(before + 1)
    await eventually(() => takens.at(-1)!.failed === 1)
    t.match(bound.ledger.last, { status: 0, bytesOut: 0, aborted: true })
    t.match(takens.at(-1), { ended: 0, failed: 1 })
  },

  'a body of known size that cannot be read to its end cuts the answer, and is closed': async (t, bound) => {
    const before = bound.ledger.arrived
    await t.rejects(send(bound, get('/sized/broken')))
    await bound.ledger.balanced(before + 1)
    t.match(bound.ledger.last, { aborted: true })
    t.equal((await send(bound, get('/sized/small'))).status, 206)
    const { served } = bound.streamed
    await eventually(() => served.closed === served.opened)
    await bound.ledger.balanced()
  },

  'everything that arrived was settled': async (t, bound) => {
    await bound.ledger.balanced()
    t.equal(bound.ledger.open, 0)
  },
}

async function defective(t: Test, bound: Bound, url: string): Promise<void> {
  const before = bound.ledger.arrived
  await t.rejects(send(bound, { method: 'GET', url }))
  await bound.ledger.balanced(before + 1)
  t.match(bound.ledger.last, { status: 0, aborted: true })
  t.equal((await send(bound, get('/ping'))).status, 200, 'and the server lives')
  await bound.ledger.balanced(before + 2)
}
