import { test } from 'tap'
import { TurnBudget } from '../../src/transport/turn-budget.js'
import { askRaw, request, turn } from '../support/clients/raw-http.js'
import { connected, startEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'

const PING = request({ target: '/ping' })
const REQUESTS = 1_500

async function bench(t: Parameters<typeof startEdge>[0], turnMs: number) {
  const ledger = new Ledger()
  const routes = [testRoute(ledger, 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' }))]
  return { ...(await startEdge(t, routes, { turnMs })), ledger }
}

test('a thousand requests are answered in their turn, and then those of the next 10 ms', async (t) => {
  const budget = new TurnBudget()
  for (let one = 0; one < 999; one++) t.equal(budget.enter(one * 1_000), null)
  t.equal(budget.enter(0), null)
  t.equal(budget.enter(9.9), null)
  const late = budget.enter(10)
  t.ok(late)
  t.equal(budget.enter(60), late, 'all that are late wait for the same turn')
  await late
  await turn()
  t.equal(budget.enter(70), null, 'and a new one begins')
})

test('a caller that sends thousands of requests ahead is stopped when the turn has lasted too long', async (t) => {
  const { port, ledger } = await bench(t, 0)
  const connection = await connected(t, port)
  await connection.send(Buffer.concat(Array(REQUESTS).fill(PING)))
  await connection.ended()
  await ledger.balanced()
  t.equal(ledger.arrived, 1_000, 'the thousandth waits, and what stands behind it is not run')
  t.equal((await askRaw(port, { target: '/ping' })).text, 'pong', 'others are served')
})

test('within the time all of them are answered, in order', async (t) => {
  const { port, ledger } = await bench(t, 60_000)
  const connection = await connected(t, port)
  await connection.send(Buffer.concat(Array(REQUESTS).fill(PING)))
  for (let one = 0; one < REQUESTS; one++)
    if ((await connection.read()).text !== 'pong') t.fail(`answer ${one}`)
  t.equal(ledger.arrived, REQUESTS)
})

test('callers that wait for their answers get them in the next turn', async (t) => {
  const { port, ledger } = await bench(t, 0)
  const connections = await Promise.all(Array.from({ length: 50 }, () => connected(t, port)))
  for (let round = 0; round < 40; round++) {
    const replies = await Promise.all(connections.map((one) => one.ask({ target: '/ping' })))
    t.ok(replies.every(({ text }) => text === 'pong'))
  }
  t.equal(ledger.arrived, 2_000)
})
