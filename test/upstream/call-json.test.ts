/** Calls of services that take JSON and answer with it: what goes out, what comes back, and what ends them. */
import tap, { test } from 'tap'
import { type JsonCall, jsonCaller } from '../../src/upstream/call-json.js'
import { createUpstreamClient } from '../../src/upstream/client.js'
import { mockUpstream } from '../support/providers/mock-upstream.js'

const service = await mockUpstream(tap)
const client = createUpstreamClient({})
tap.teardown(() => client.close())
const callJson = jsonCaller(client)

function call(more: Partial<JsonCall> = {}): ReturnType<typeof callJson> {
  return callJson({
    url: `${service.origin}/v1/moderations?a=b`,
    headers: [['authorization', 'Bearer k']],
    body: { input: ['x'] },
    caller: 'org',
    signal: new AbortController().signal,
    timeoutMs: 5_000,
    maxAnswerBytes: 1_000,
    ...more,
  })
}

test('a body goes out with its headers, and the answer comes back with its status', async (t) => {
  service.script = (peer) => peer.answer(201, '{"ok":true}')
  t.strictSame(await call(), { ok: true, status: 201, value: { ok: true } })
  service.script = (peer) => peer.answer(500, 'no JSON')
  t.strictSame(await call(), { ok: true, status: 500, value: undefined })
})

test('answers that are too large, late or broken are told without a word of them', async (t) => {
  service.script = (peer) => peer.answer(200, JSON.stringify('x'.repeat(2_000)))
  t.strictSame(await call(), { ok: false, reason: 'the answer is too large' })
  service.script = () => {}
  t.strictSame(await call({ timeoutMs: 100 }), { ok: false, reason: 'no answer in time' })
  t.match(await call({ url: 'http://127.0.0.1:1/x' }), { ok: false, reason: /refused/ })
})

test('a caller that leaves ends the call', async (t) => {
  service.script = () => {}
  const leaving = new AbortController()
  const answer = call({ signal: leaving.signal })
  leaving.abort()
  t.strictSame(await answer, { ok: false, reason: 'the caller has left' })
  t.strictSame(await call({ signal: AbortSignal.abort() }), { ok: false, reason: 'the caller has left' })
  t.equal(client.inFlight(), 0)
})
