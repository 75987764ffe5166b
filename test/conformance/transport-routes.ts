/** The routes that every transport serves in the conformance suite. */
import type { HttpCall, Reply, Route, StreamResponseBody } from '../../src/transport/exchange.js'
import { jsonReply, Ledger, NO_CONTENT, testRoute } from '../support/servers/test-routes.js'
import { type Gate, gate } from '../support/timing/gate.js'
import { BIG_BYTES } from './transport-case.js'
import { type StreamedStage, streamedStage } from './transport-streamed-routes.js'

/** Most bytes of body that the routes read. */
export const BODY_LIMIT = 1_000
/** Deadline of the routes that run late. */
export const SHORT_DEADLINE_MS = 300
export const BIG_TEXT = 'é0123456789'.repeat(30_000)

/** What a call that stays open tells the test. */
export interface OpenCall {
  readonly call: HttpCall
  /** How often `onAbort` of the call, or of a stream's sink, called back. */
  gone: number
  /** Lets the route answer. */
  readonly answer: Gate<Reply>
}

export interface Stage {
  readonly routes: readonly Route[]
  /** Calls of `/open` and `/stream/open`, in order of arrival. */
  readonly open: OpenCall[]
  readonly streamed: StreamedStage
}

const SEEN_HEADERS = ['x-one', 'x-two', 'content-type', 'authorization']
const reads = { readsBody: true, readsQuery: true, bodyLimit: BODY_LIMIT }

/** Everything a call shows its route. */
function seen(call: HttpCall): Reply {
  return jsonReply(200, {
    first: call.param(0),
    second: call.param(1),
    query: call.query,
    headers: SEEN_HEADERS.map((name) => call.header(name)),
    undeclared: call.header('x-undeclared'),
    body: Buffer.from(call.body).toString('hex'),
    address: call.address,
    gone: call.aborted,
    fresh: performance.now() - call.arrivedAt < 5_000,
  })
}

function openCall(call: HttpCall, open: OpenCall[]): OpenCall {
  const one: OpenCall = { call, gone: 0, answer: gate<Reply>() }
  open.push(one)
  call.onAbort(() => one.gone++)
  return one
}

function text(body: Reply['body'], status = 200): Reply {
  return { status, headers: [['Content-Type', 'text/plain']], body }
}

function stream(start: StreamResponseBody['start']): Reply {
  const body: StreamResponseBody = {
    heartbeat: ': filler\n',
    padding: '\n',
    closingFrame: 'last words',
    start,
  }
  return { status: 200, headers: [['Content-Type', 'text/event-stream']], body }
}

const late = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(() => resolve(value)))

/** Builds the routes; the ledger hears of every arrival and every end. */
export function stage(ledger: Ledger): Stage {
  const open: OpenCall[] = []
  const route = (method: string, path: string, answer: Route['answer'], more: Partial<Route> = {}): Route =>
    testRoute(ledger, method, path, answer, more)
  const headers = SEEN_HEADERS
  const streamed = streamedStage(ledger, SHORT_DEADLINE_MS)
  const routes = [
    ...streamed.routes,
    route('GET', '/ping', () => text('pong')),
    // For proving that a connection serves on: the ledger of the case must not hear of it.
    testRoute(new Ledger(), 'GET', '/follow-up', () => text('served on')),
    route('GET', '/seen', seen, { readsQuery: true, headers }),
    route('GET', '/blind', seen),
    route('GET', '/address', seen, { readsAddress: true }),
    route('POST', '/seen', seen, { ...reads, headers }),
    route('*', '/seen', () => jsonReply(405, {})),
    route('POST', '/echo', (call) => text(Uint8Array.from(call.body)), reads),
    route('POST', '/late-echo', async (call) => late(text(Buffer.from(call.body).toString('latin1'))), reads),
    route('POST', '/unread', seen, { bodyLimit: BODY_LIMIT }),
    route('GET', '/things', () => text('list')),
    route('GET', '/things/special', () => text('special')),
    route('*', '/things/postbox', () => jsonReply(405, {})),
    route('GET', '/things/{id}', seen, { readsQuery: true }),
    route('DELETE', '/things/{id}', () => NO_CONTENT),
    route('*', '/things/{id}', () => jsonReply(405, {})),
    route('GET', '/things/{id}/parts/{part}', seen),
    route('POST', '/full', () => text('never'), { ...reads, admit: () => jsonReply(503, { full: true }) }),
    route('GET', '/admitted-late', seen, { admit: () => late(null) }),
    route('POST', '/admitted-late', (call) => text(Uint8Array.from(call.body)), {
      ...reads,
      admit: () => late(null),
    }),
    route('POST', '/admitted-late/unread', seen, { bodyLimit: BODY_LIMIT, admit: () => late(null) }),
    route('POST', '/full-late', () => text('never'), {
      ...reads,
      admit: () => late(jsonReply(503, { full: true })),
    }),
    route('GET', '/full-late', () => text('never'), { admit: () => late(jsonReply(503, { full: true })) }),
    route('POST', '/refuses', () => text('never'), {
      ...reads,
      headers,
      refuse: (kind, call) => jsonReply(413, { fault: kind, one: call.header('x-one') }),
    }),
    route('GET', '/late', async () => late(text('late'))),
    route('GET', '/late-204', async () => late(NO_CONTENT)),
    route('GET', '/empty-text', () => text('')),
    route('GET', '/nothing', () => text(null)),
    route('GET', '/created', () => text('made', 201)),
    route('GET', '/umlaut', () => text('grün ☃')),
    route('GET', '/big-text', () => text(BIG_TEXT)),
    route('GET', '/big-bytes', () => text(BIG_BYTES)),
    route('GET', '/late-big-bytes', async () => late(text(BIG_BYTES))),
    route('GET', '/throws', () => {
      throw new Error('thrown on purpose')
    }),
    route('GET', '/rejects', () => Promise.reject(new Error('rejected on purpose'))),
    route('GET', '/open', (call) => openCall(call, open).answer.opened),
    route('GET', '/overdue', (call) => openCall(call, open).answer.opened, { deadlineMs: SHORT_DEADLINE_MS }),
    route('GET', '/stream', () =>
      stream((sink) => {
        sink.write('one ')
        setImmediate(() => {
          sink.write(Buffer.from('two '))
          setImmediate(() => {
            sink.write('three')
            sink.end()
            sink.write('too late')
          })
        })
      }),
    ),
    route('GET', '/stream/at-once', () =>
      stream((sink) => {
        sink.write('all')
        sink.end()
      }),
    ),
    route('GET', '/stream/empty', () => stream((sink) => sink.end())),
    route('GET', '/stream/open', (call) => openStream(call, open)),
    route('GET', '/stream/overdue', (call) => openStream(call, open), { deadlineMs: SHORT_DEADLINE_MS }),
    route('*', '/*', () => jsonReply(404, {}), { bodyLimit: BODY_LIMIT }),
  ]
  return { routes, open, streamed }
}

/** A stream that says one thing and then nothing; only the `onAbort` of its sink counts. */
function openStream(call: HttpCall, open: OpenCall[]): Reply {
  return stream((sink) => {
    const one: OpenCall = { call, gone: 0, answer: gate<Reply>() }
    sink.onAbort(() => one.gone++)
    sink.write('first words, ')
    open.push(one)
  })
}
