/** What a caller and the server see while the admission of a call is waited for. */
import { type Test, test } from 'tap'
import type { Reply, Route } from '../../src/transport/exchange.js'
import { connected, startEdge, type TestEdge } from '../support/servers/native-edge.js'
import { jsonReply, Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'
import { type Gate, gate } from '../support/timing/gate.js'

const MIB = 1024 * 1024
const LIMIT = 32 * MIB
const NOT_YOU = jsonReply(401, { who: 'not you' })

interface Bench extends TestEdge {
  readonly ledger: Ledger
  /** Decisions that are waited for, in the order of the calls. */
  readonly decisions: Gate<Reply | null>[]
  /** Bodies that were answered, in bytes. */
  readonly answered: number[]
}

async function bench(t: Test): Promise<Bench> {
  const ledger = new Ledger()
  const decisions: Gate<Reply | null>[] = []
  const answered: number[] = []
  const admit = (): Promise<Reply | null> => {
    const decision = gate<Reply | null>()
    decisions.push(decision)
    return decision.opened
  }
  const answer: Route['answer'] = (call) => {
    answered.push(call.body.byteLength)
    return jsonReply(200, { bytes: call.body.byteLength })
  }
  const over = { bodyLimit: LIMIT, readsBody: true, admit }
  const routes = [
    testRoute(ledger, 'POST', '/locked', answer, over),
    testRoute(ledger, 'POST', '/hasty', answer, { ...over, deadlineMs: 300 }),
    testRoute(ledger, 'POST', '/broken', answer, {
      ...over,
      admit: () => Promise.reject(new Error('on purpose')),
    }),
    testRoute(ledger, '*', '/*', () => jsonReply(404, {})),
  ]
  return { ...(await startEdge(t, routes)), ledger, decisions, answered }
}

test('the sender of a large body is held back until its call is admitted, and then all of it is read', async (t) => {
  const { port, ledger, decisions, answered } = await bench(t)
  const connection = await connected(t, port)
  let sent = false
  const sending = connection
    .send({ method: 'POST', target: '/locked', body: Buffer.alloc(LIMIT) })
    .then(() => {
      sent = true
    })
  await eventually(() => decisions.length === 1)
  // Another call goes through meanwhile; as many turns as it takes, the large body stays where it is.
  for (let n = 0; n < 20; n++) {
    const other = await connected(t, port, { target: '/nowhere' })
    t.equal((await other.read()).status, 404)
  }
  t.equal(sent, false, 'most of it is still with the sender')
  t.strictSame(answered, [])
  decisions[0]!.open(null)
  t.strictSame(JSON.parse((await connection.read()).text), { bytes: LIMIT })
  await sending
  t.equal((await connection.ask({ target: '/nowhere' })).status, 404, 'the connection serves on')
  t.equal(ledger.open, 0)
})

test('a call that is refused after a wait is never answered by its route, however much of its body has come', async (t) => {
  const { port, ledger, decisions, answered, defects } = await bench(t)
  for (const [at, size] of [0, 3, 100_000, 5 * MIB].entries()) {
    const connection = await connected(t, port)
    connection.pause()
    const sending = connection.send({ method: 'POST', target: '/locked', body: Buffer.alloc(size) })
    await eventually(() => decisions.length === at + 1)
    decisions[at]!.open(NOT_YOU)
    connection.resume()
    const reply = await connection.read()
    t.equal(reply.status, 401)
    t.strictSame(JSON.parse(reply.text), { who: 'not you' })
    await sending.catch(() => {})
    connection.destroy()
    await ledger.balanced()
  }
  t.strictSame(answered, [])
  t.strictSame(defects, [])
})

test('a caller that leaves while its admission is waited for is settled once, and nothing is answered', async (t) => {
  const { port, ledger, server, decisions, answered, defects } = await bench(t)
  for (const [at, decided] of [null, NOT_YOU].entries()) {
    const connection = await connected(t, port, { method: 'POST', target: '/locked', body: 'abc' })
    await eventually(() => decisions.length === at + 1)
    t.equal(server.inFlight(), 1)
    connection.destroy()
    await ledger.balanced(at + 1)
    t.match(ledger.last, { status: 0, aborted: true })
    decisions[at]!.open(decided)
  }
  await eventually(() => server.inFlight() === 0)
  t.strictSame(answered, [])
  t.strictSame(defects, [])
})

test('the deadline of a call counts while its admission is waited for', async (t) => {
  const { port, ledger, decisions, answered } = await bench(t)
  const connection = await connected(t, port, { method: 'POST', target: '/hasty', body: 'abc' })
  t.equal((await connection.read()).status, 504)
  decisions[0]!.open(null)
  await ledger.balanced()
  t.match(ledger.last, { status: 504 })
  t.strictSame(answered, [])
})

test('a defect while the admission is waited for cuts the call', async (t) => {
  const { port, ledger, answered, defects } = await bench(t)
  const connection = await connected(t, port, { method: 'POST', target: '/broken', body: 'abc' })
  t.equal(await connection.ended(), 'fin')
  await ledger.balanced()
  t.match(defects, [{ message: 'on purpose' }])
  t.strictSame(answered, [])
})
