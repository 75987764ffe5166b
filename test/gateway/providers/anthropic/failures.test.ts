import { test } from 'tap'
import { NEVER_ABORTED } from '../../../../src/base/cancellation.js'
import { messagesCall, streamedMessages, textBlock } from '../../../support/clients/messages-face-calls.js'
import { BROKEN, checkFailure } from '../../../support/providers/expected-failures.js'
import { anthropicBench, breakingOff, wireEvents } from '../../../support/providers/mock-anthropic.js'
import type { Script } from '../../../support/providers/mock-upstream.js'
import { ANTHROPIC } from '../../../support/providers/provider-formats.js'
import { freePort } from '../../../support/servers/listen.js'
import { eventually } from '../../../support/timing/eventually.js'

const ALL = wireEvents({ content: [textBlock('abcdefgh')] })

// ── Answers that are none ───────────────────────────────────────────────────

const cut = (count: number): Script => breakingOff(ALL.slice(0, count), (peer) => peer.endChunks())
const sent = (...events: object[]): Script => breakingOff([ALL[0]!, ...(events as never[])])
const start = (index: number): object => ({
  type: 'content_block_start',
  index,
  content_block: textBlock(''),
})
const delta = (index: number): object => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'text_delta', text: 'a' },
})
const stop = (index: number): object => ({ type: 'content_block_stop', index })

const STREAMS: Readonly<Record<string, Script>> = {
  'that ends before its begin': cut(0),
  'that ends after its begin': cut(1),
  'that ends in the middle of a block': cut(4),
  'that ends between its end and its terminator': cut(ALL.length - 1),
  'whose terminator comes in the middle of a block': sent(start(0), { type: 'message_stop' }),
  'whose terminator comes without an end': sent({ type: 'message_stop' }),
  'whose blocks do not begin at 0': sent(start(1)),
  'that leaves out a number': sent(start(0), stop(0), start(2)),
  'that begins a block within another': sent(start(0), start(1)),
  'with a delta of no block': sent(delta(0)),
  'with a delta of a closed block': sent(start(0), stop(0), delta(0)),
  'with a delta that says nothing': sent(start(0), { type: 'content_block_delta', index: 0 }),
  'that closes a block twice': sent(start(0), stop(0), stop(0)),
  'with a block without a kind': sent({ type: 'content_block_start', index: 0, content_block: {} }),
}

for (const [name, script] of Object.entries(STREAMS)) {
  test(`a stream ${name} fails`, async (t) => {
    const { client, failure } = await ANTHROPIC.bench(t, script)
    checkFailure(t, await failure('stream'), { ...BROKEN, code: '200' })
    await eventually(() => client.inFlight() === 0)
  })
}

const DOCUMENTS: Readonly<Record<string, unknown>> = {
  'no content': { type: 'message', role: 'assistant' },
  'no assistant': { type: 'message', role: 'user', content: [] },
  'a block that is none': { type: 'message', role: 'assistant', content: ['text'] },
}

for (const [name, body] of Object.entries(DOCUMENTS)) {
  test(`a whole answer with ${name} fails, asked for either way`, async (t) => {
    const { failure } = await ANTHROPIC.bench(t, (peer) => peer.json(body))
    for (const how of ['complete', 'stream'] as const) checkFailure(t, await failure(how), BROKEN)
  })
}

test('an error event that names no type is an error', async (t) => {
  const untyped = 'event: error\ndata: {"error":{"type":"overloaded_error"}}\n\n'
  const { failure } = await ANTHROPIC.bench(
    t,
    breakingOff(ALL.slice(0, 4), (peer) => peer.chunk(untyped)),
  )
  t.match(await failure('stream'), { fault: { kind: 'provider-overloaded' }, status: 529 })
})

test('figures that came before a failure are told before it, once something was said', async (t) => {
  const bench = await anthropicBench(t, cut(ALL.length - 1))
  const streamed = streamedMessages(bench.provider.messages)
  await streamed.end.opened
  t.same(streamed.told.slice(-2), ['usage', 'failed'])
  const empty = wireEvents({ content: [] })
  bench.mock.script = breakingOff(empty.slice(0, -1), (peer) => peer.endChunks())
  const silent = streamedMessages(bench.provider.messages)
  await silent.end.opened
  t.same(silent.told, ['start', 'failed'], 'another endpoint may still answer')
})

test('a count that nobody takes is a fault', async (t) => {
  const baseUrl = `http://127.0.0.1:${await freePort()}`
  const { provider } = await anthropicBench(t, () => {}, { baseUrl })
  t.match(await provider.countMessages(messagesCall(), NEVER_ABORTED), { kind: 'provider-failed' })
})
