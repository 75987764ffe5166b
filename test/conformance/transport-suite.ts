/** The conformance suite: what any transport has to do with its routes. */
import type { Test } from 'tap'
import type { Route } from '../../src/transport/exchange.js'
import { jsonReply, Ledger } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'
import { type CarriedRequest, type Case, filled } from './transport-case.js'
import { FRAMING_CASES } from './transport-cases-framing.js'
import { INPUT_CASES } from './transport-cases-input.js'
import { REPLY_CASES } from './transport-cases-replies.js'
import { STREAMED_CASES } from './transport-cases-streamed.js'
import { type OpenCall, SHORT_DEADLINE_MS, type Stage, stage } from './transport-routes.js'

const CASES: readonly Case[] = [...INPUT_CASES, ...REPLY_CASES, ...FRAMING_CASES, ...STREAMED_CASES]

export interface CarriedReply {
  readonly status: number
  /** Names in lower case. */
  header(name: string): string | undefined
  readonly body: Buffer
  /** The server announced the close. A carrier with a connection also proves that it closed, or else serves on. */
  readonly close: boolean
}

/** One transport, bound to routes. */
interface Carrier {
  /** Sends a request. Rejects when the connection ends without a whole answer. */
  send(request: CarriedRequest): Promise<CarriedReply>
  /** Sends a request and leaves when `when` resolves; resolves when the caller has gone. */
  leave(request: CarriedRequest, when: Promise<unknown>): Promise<void>
}

/** Where a transport cannot do what the table says, and why. */
export interface Difference {
  readonly reason: string
  /** `page`: the body is not the route's. `count`: nor does the ledger hear of it. */
  readonly lacks: 'page' | 'count'
}

export interface Transport {
  bind(t: Test, routes: readonly Route[], allowChunked: boolean): Promise<Carrier>
  /** By name of the case. */
  readonly differences: Readonly<Record<string, Difference>>
}

interface Bound extends Stage {
  readonly ledger: Ledger
  readonly carrier: Carrier
}

async function bind(t: Test, transport: Transport, allowChunked: boolean): Promise<Bound> {
  const ledger = new Ledger()
  const bound = stage(ledger)
  return { ...bound, ledger, carrier: await transport.bind(t, bound.routes, allowChunked) }
}

/** Runs the table and the scenes against one transport. */
export async function conform(t: Test, transport: Transport): Promise<void> {
  const strict = await bind(t, transport, false)
  const behindProxy = await bind(t, transport, true)
  for (const one of CASES) {
    const difference = transport.differences[one.name]
    await t.test(one.name, (t) => check(t, one, one.allowChunked ? behindProxy : strict, difference))
  }
  const names = new Set(CASES.map(({ name }) => name))
  t.equal(names.size, CASES.length, 'every case has a name of its own')
  t.strictSame(
    Object.keys(transport.differences).filter((name) => !names.has(name)),
    [],
    'every difference belongs to a case',
  )
  for (const [name, play] of Object.entries(SCENES)) await t.test(name, (t) => play(t, strict))
}

async function check(t: Test, one: Case, bound: Bound, difference?: Difference): Promise<void> {
  const { ledger, carrier } = bound
  const before = ledger.arrived
  const reply = await carrier.send(one.request)
  t.equal(reply.status, one.status, 'status')
  t.equal(reply.close, one.close === true, 'close')
  if (difference === undefined) checkContent(t, one, reply)
  if (difference?.lacks === 'count') {
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

const GET_OPEN: CarriedRequest = { method: 'GET', url: '/open' }

/** Behaviour that takes more than a request and its reply. */
const SCENES: Record<string, (t: Test, bound: Bound) => Promise<void>> = {
  'an answer that is slow but in time is sent and nobody is called gone': async (t, bound) => {
    const next = nextOpen(bound)
    const asked = bound.carrier.send(GET_OPEN)
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
    const asked = [bound.carrier.send(GET_OPEN), bound.carrier.send(GET_OPEN), bound.carrier.send(GET_OPEN)]
    await eventually(() => bound.open.length === count + 3)
    t.equal((await bound.carrier.send({ method: 'GET', url: '/ping' })).status, 200)
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
    const asked = bound.carrier.send({ method: 'GET', url: '/overdue' })
    const one = await next
    const reply = await asked
    t.ok(performance.now() - started >= SHORT_DEADLINE_MS - 5, 'not before the deadline')
    t.equal(reply.status, 504)
    t.equal(reply.body.toString(), '{"fault":"deadline-exceeded"}')
    t.ok(reply.close, 'and the connection is closed')
    await bound.ledger.balanced(before + 1)
    one.answer.open(jsonReply(200, { too: 'late' }))
    t.equal((await bound.carrier.send({ method: 'GET', url: '/ping' })).status, 200)
    await bound.ledger.balanced(before + 2)
    t.equal(bound.ledger.arrived, before + 2, 'settled once')
    t.match(bound.ledger.settlements.at(-2), { status: 504, aborted: false })
    t.equal(one.gone, 1)
    t.ok(one.call.aborted)
  },

  'a caller that leaves is told to the handler once and is settled once as aborted': async (t, bound) => {
    const before = bound.ledger.arrived
    const next = nextOpen(bound)
    await bound.carrier.leave(GET_OPEN, next)
    const one = await next
    await bound.ledger.balanced(before + 1)
    t.match(bound.ledger.last, { status: 0, bytesOut: 0, aborted: true })
    await eventually(() => one.gone > 0)
    one.answer.open(jsonReply(200, { nobody: 'hears' }))
    t.equal((await bound.carrier.send({ method: 'GET', url: '/ping' })).status, 200)
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
    await bound.carrier.leave({ method: 'GET', url: '/stream/open' }, next)
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
    const asked = bound.carrier.send({ method: 'GET', url: '/stream/overdue' })
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
    const headers = [['Content-Length', '1000']] as const
    const body = filled(100)
    const arrives = eventually(() => takens.length > count)
    await bound.carrier.leave({ method: 'POST', url: '/taken', headers, body }, arrives).catch(() => {})
    await bound.ledger.balanced(before + 1)
    await eventually(() => takens.at(-1)!.failed === 1)
    t.match(bound.ledger.last, { status: 0, bytesOut: 0, aborted: true })
    t.match(takens.at(-1), { ended: 0, failed: 1 })
  },

  'a body of known size that cannot be read to its end cuts the answer, and is closed': async (t, bound) => {
    const before = bound.ledger.arrived
    await t.rejects(bound.carrier.send({ method: 'GET', url: '/sized/broken' }))
    await bound.ledger.balanced(before + 1)
    t.match(bound.ledger.last, { aborted: true })
    t.equal((await bound.carrier.send({ method: 'GET', url: '/sized/small' })).status, 206)
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
  await t.rejects(bound.carrier.send({ method: 'GET', url }))
  await bound.ledger.balanced(before + 1)
  t.match(bound.ledger.last, { status: 0, aborted: true })
  t.equal((await bound.carrier.send({ method: 'GET', url: '/ping' })).status, 200, 'and the server lives')
  await bound.ledger.balanced(before + 2)
}
