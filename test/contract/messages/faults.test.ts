/** What a caller of messages sees when a provider fails: every row of the table of fault models, whole and streamed. */
import tap, { type Test, test } from 'tap'
import { MessagesReply, MessagesStreamEvent } from '../../../src/features/messages/response-schema.js'
import { askMessages, assembled, message } from '../../support/clients/messages-calls.js'
import { FAULT_TABLE, type SeenStreamed, type SeenWhole } from '../../support/models/fault-table.js'
import { type Asked, startGateway } from '../../support/servers/gateway-server.js'

/** One worker: a flap counts the calls of a worker. The table tells what is seen when nothing is tried again. */
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    providers: { lab: { kind: 'simulated', name: 'Lab', allow_request_faults: true, breaker: false } },
    models: { 'lab/plain': { endpoints: [{ provider: 'lab', simulation: { tokens: { constant: 32 } } }] } },
  },
})
tap.teardown(() => server.stop())

/** The word of this format for each status (contract/gateway 1.6). */
const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  429: 'rate_limit_error',
  502: 'api_error',
  503: 'overloaded_error',
  524: 'timeout_error',
  529: 'overloaded_error',
}
const REASONS: Readonly<Record<string, string>> = { stop: 'end_turn', content_filter: 'refusal' }

function refusedAs(t: Test, asked: Asked, seen: Extract<SeenWhole, { errorType: string }>): void {
  t.equal(asked.status, seen.status)
  t.match(asked.headers.get('content-type'), /^application\/json/)
  t.equal(asked.headers.get('retry-after'), seen.retryAfter === null ? null : String(seen.retryAfter))
  const body = asked.json()
  t.match(body, {
    type: 'error',
    error: { type: TYPES[seen.status], message: /./, error_type: seen.errorType },
    metadata: { provider_name: String },
  })
  t.equal(body.request_id, asked.headers.get('x-generation-id'))
}

function streamedAs(t: Test, asked: Asked, seen: SeenStreamed): void {
  if ('errorType' in seen) {
    refusedAs(t, asked, seen)
    return
  }
  t.equal(asked.status, 200)
  const events = asked.events()
  for (const event of events) t.ok(MessagesStreamEvent.safeParse(event).success, JSON.stringify(event))
  if ('finishReason' in seen) {
    t.equal(assembled(events).stop_reason, REASONS[seen.finishReason])
    return
  }
  const deltas = events.filter(({ type }) => type === 'content_block_delta')
  t.equal(deltas.length, seen.tokensBefore)
  t.match(events.at(-1), {
    type: 'error',
    error: { type: TYPES[seen.chunk.code], error_type: seen.chunk.errorType },
    request_id: asked.headers.get('x-generation-id'),
  })
  t.notOk(
    events.some(({ type }) => type === 'message_stop' || type === 'message_delta'),
    'nothing tells of a complete answer',
  )
}

for (const { model, nonStreaming, streaming } of FAULT_TABLE) {
  // It takes its 20 seconds, and nothing of it is the format's.
  if (model === 'sim/fault-slow-first-token') continue
  test(`${model} whole`, async (t) => {
    const asked = await askMessages(server, message({ model }))
    if ('errorType' in nonStreaming) {
      refusedAs(t, asked, nonStreaming)
      return
    }
    t.equal(asked.status, 200)
    t.ok(MessagesReply.safeParse(asked.json()).success)
    t.equal(asked.json().stop_reason, REASONS[nonStreaming.finishReason])
  })

  test(`${model} streamed`, async (t) => {
    // A flap fails at every other call, beginning with the first; this is its second.
    if (model === 'sim/fault-flap') await askMessages(server, message({ model }))
    streamedAs(t, await askMessages(server, message({ model, stream: true })), streaming)
  })
}

test('a failure behind the last word is no complete answer either', async (t) => {
  const headers = { 'X-Service-Simulate': 'fault=no-terminator; tokens=3' }
  const events = (await askMessages(server, message({ model: 'lab/plain', stream: true }), headers)).events()
  t.strictSame(
    events.map(({ type }) => type),
    [
      'message_start',
      'content_block_start',
      ...Array(3).fill('content_block_delta'),
      'content_block_stop',
      'error',
    ],
  )
})

test('a silence behind the first event is broken by a ping', { timeout: 60_000 }, async (t) => {
  const headers = { 'X-Service-Simulate': 'gap_ms=17000; tokens=2' }
  const ask = (more: object): Promise<Asked> =>
    askMessages(server, message({ model: 'lab/plain', stream: true }), { ...headers, ...more })
  const [kept, silent] = await Promise.all([ask({}), ask({ 'X-Service-Keep-Alive': 'disabled' })])
  const types = kept.events().map(({ type }) => type)
  t.strictSame(types.slice(0, 4), ['message_start', 'content_block_start', 'content_block_delta', 'ping'])
  t.equal(assembled(kept.events()).stop_reason, 'end_turn')
  t.notMatch(silent.text, /ping|PROCESSING/, 'unless the caller wants none')
})
