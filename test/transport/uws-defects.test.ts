import { type Test, test } from 'tap'
import type { Reply, ResponseBody, Route } from '../../src/transport/exchange.js'
import { askRaw } from '../support/clients/raw-http.js'
import { connected, startEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'

const boom = (): never => {
  throw new Error('on purpose')
}
const fine: Reply = { status: 200, headers: [], body: 'fine' }
const nonsense = 42 as unknown as ResponseBody
const badHeader = { status: 200, headers: [['X-Bad', Symbol('no text')]], body: '' } as unknown as Reply
const withHeader = (value: string): Reply => ({ ...fine, headers: [['X-Bad', value]] })

interface Case {
  readonly route: Partial<Route>
  /** The caller gets the answer all the same. */
  readonly answered?: true
  /** Body of the request. */
  readonly body?: string
}

const CASES: Record<string, Case> = {
  'answers with an exception': { route: { answer: boom } },
  'answers with an exception after the body': { route: { answer: boom, readsBody: true }, body: 'abc' },
  'answers with a rejection': { route: { answer: () => Promise.reject(new Error('on purpose')) } },
  'answers late with a rejection': {
    route: { answer: () => new Promise((_, reject) => setImmediate(() => reject(new Error('on purpose')))) },
  },
  'answers with nothing': { route: { answer: () => undefined as unknown as Reply } },
  'answers late with nothing': { route: { answer: async () => undefined as unknown as Reply } },
  'answers with a body that is none': { route: { answer: () => ({ ...fine, body: nonsense }) } },
  'answers late with a body that is none': { route: { answer: async () => ({ ...fine, body: nonsense }) } },
  'answers with a header that is none': { route: { answer: () => badHeader } },
  'answers late with a header that is none': { route: { answer: async () => badHeader } },
  'answers with a header that brings another': { route: { answer: () => withHeader('a\r\nX-More: b') } },
  'answers late with a header that brings another': { route: { answer: async () => withHeader('a\nX: b') } },
  'answers with a header that ends in the middle of a line': { route: { answer: () => withHeader('a\rb') } },
  'throws when it is asked to admit': { route: { admit: boom } },
  'throws when it is asked to refuse': { route: { refuse: boom, bodyLimit: 2 }, body: 'abc' },
  'throws when a call arrives': { route: { onArrival: boom } },
  'throws when a call is settled': { route: { onSettled: boom }, answered: true },
  'throws when a late call is settled': {
    route: { onSettled: boom, answer: async () => fine },
    answered: true,
  },
}

async function play(t: Test, one: Case): Promise<void> {
  const ledger = new Ledger()
  const routes = [
    testRoute(ledger, 'POST', '/defect', () => fine, one.route),
    testRoute(new Ledger(), 'GET', '/ping', () => ({ ...fine, body: 'pong' })),
  ]
  const { port, defects, server } = await startEdge(t, routes)
  const connection = await connected(t, port, { method: 'POST', target: '/defect', body: one.body ?? '' })
  if (one.answered) t.equal((await connection.read()).text, 'fine')
  else t.equal((await connection.rest()).byteLength, 0, 'the call is cut without an answer')
  t.equal(defects.length, 1, 'the log is told once')
  t.ok(defects[0] instanceof Error)
  if (one.route.onArrival === undefined && one.route.onSettled === undefined) {
    await ledger.balanced()
    t.equal(ledger.settlements.length, 1)
    t.match(ledger.last, { aborted: true })
  }
  t.equal(server.inFlight(), 0)
  t.equal((await askRaw(port, { target: '/ping' })).body.toString(), 'pong', 'others are served')
}

for (const [what, one] of Object.entries(CASES)) {
  test(`a route that ${what} harms nothing but its call`, (t) => play(t, one))
}
