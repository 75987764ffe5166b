import { test } from 'tap'
import {
  addressKey,
  type Census,
  ConnectionBudget,
  countConnections,
  countRows,
} from '../../src/transport/connection-budget.js'
import { connectRaw } from '../support/clients/raw-http.js'
import { connected, startEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

/** The bytes of an IPv4 address. */
function ipv4(...bytes: readonly number[]): ArrayBuffer {
  return Uint8Array.from(bytes).buffer
}

const GREEDY = ipv4(192, 0, 2, 1)
const MODEST = ipv4(192, 0, 2, 2)

/** A budget of 100 whose census is known; `held` of them are open. */
async function scarceBudget(held: number, census: Census) {
  const budget = new ConnectionBudget(100, async () => census)
  for (let one = 0; one < held; one++) budget.opened(() => GREEDY)
  await new Promise((resolve) => setImmediate(resolve))
  return budget
}

test('while there are enough connections nobody is asked for an address', async (t) => {
  const budget = new ConnectionBudget(10, () => Promise.reject(new Error('nobody counts')))
  let asked = 0
  const address = (): ArrayBuffer => {
    asked++
    return MODEST
  }
  for (let one = 0; one < 5; one++) t.ok(budget.opened(address))
  t.equal(asked, 0)
  t.notOk(budget.scarce)
})

test('when they are scarce, an address with more than the average gets no more, and all others do', async (t) => {
  const budget = await scarceBudget(
    81,
    new Map([
      [addressKey(GREEDY), 81],
      [addressKey(MODEST), 1],
    ]),
  )
  t.ok(budget.scarce)
  t.notOk(budget.opened(() => GREEDY))
  budget.closed()
  t.ok(budget.opened(() => MODEST))
  t.ok(
    budget.opened(() => ipv4(192, 0, 2, 3)),
    'also one that nobody has seen before',
  )
  t.equal(budget.takeRefused(), 1)
  t.equal(budget.takeRefused(), 0)
})

test('one address alone may have nearly all there are, and others still find room', async (t) => {
  const budget = await scarceBudget(81, new Map([[addressKey(GREEDY), 81]]))
  for (let one = 81; one < 90; one++) t.ok(budget.opened(() => GREEDY))
  t.notOk(budget.opened(() => GREEDY))
  budget.closed()
  for (let one = 0; one < 10; one++) t.ok(budget.opened(() => MODEST))
  t.notOk(budget.opened(() => MODEST))
})

test('a flood that is quicker than the count finds the end as well', async (t) => {
  const budget = new ConnectionBudget(100, () => new Promise(() => {}))
  for (let one = 0; one < 20; one++) budget.opened(() => MODEST)
  let held = 0
  for (let one = 0; one < 100; one++) {
    if (budget.opened(() => GREEDY)) held++
    else budget.closed()
  }
  t.equal(held, 70)
  t.ok(budget.opened(() => MODEST))
})

test('addresses that cannot be counted are treated alike', async (t) => {
  const budget = new ConnectionBudget(10, () => Promise.reject(new Error('no table')))
  for (let one = 0; one < 10; one++) t.ok(budget.opened(() => GREEDY))
  t.notOk(budget.opened(() => GREEDY))
})

test('rows of the kernel are counted by address, for one port, and only while they are established', async (t) => {
  const rows = [
    '  sl  local_address rem_address   st tx_queue rx_queue',
    '   0: 0100007F:1F90 010200C0:C350 01 00000000:00000000',
    '   1: 0100007F:1F90 010200C0:C351 01 00000000:00000000',
    '   2: 0100007F:1F90 020200C0:C350 06 00000000:00000000',
    '   3: 0100007F:1F91 030200C0:C350 01 00000000:00000000',
    '   4: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF0000010200C0:C352 01 00000000:00000000',
    '   5: B80D0120000000000000000001000000:1F90 B80D0120010000000200000003000000:C350 01 00000000:00000000',
    '',
  ]
  const census: Census = new Map()
  countRows(rows.join('\n'), 8080, census)
  t.strictSame(
    census,
    new Map([
      [addressKey(GREEDY), 3],
      ['20010db800000001', 1],
    ]),
  )
})

test('a server closes what is beyond its budget as it comes, says so, and takes others when some have gone', async (t) => {
  const told: number[] = []
  const routes = [testRoute(new Ledger(), 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' }))]
  const options = { maxConnections: 5, onRefusedConnections: (count: number) => told.push(count) }
  const { port, server } = await startEdge(t, routes, options)
  const open = await Promise.all(Array.from({ length: 5 }, () => connected(t, port)))
  await eventually(() => server.connections() === 5)
  for (let one = 0; one < 20; one++) {
    const refused = await connectRaw(port)
    await refused.ended()
    refused.destroy()
    // Told at once; what else the next minute brings is told after it.
    if (one === 0) await eventually(() => told.length > 0)
  }
  t.strictSame(told, [1])
  t.equal(server.connections(), 5)
  const { header, text } = await open[0]!.ask({ target: '/ping' })
  t.equal(text, 'pong', 'the others are served')
  t.equal(header('connection'), 'close', 'and make room')
  await open[0]!.ended()
  await eventually(() => server.connections() === 4)
  const kept = await open[1]!.ask({ target: '/ping' })
  t.equal(kept.header('connection'), '', 'no longer when there are enough')
  const again = await connected(t, port)
  t.equal((await again.ask({ target: '/ping' })).text, 'pong')
  t.equal((await countConnections(port))?.has('7f000001'), true)
})
