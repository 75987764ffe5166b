/** Answers that are none in this format; how calls fail whatever the format is tested beside. */
import { test } from 'tap'
import type { ProviderFailure } from '../../../../src/gateway/providers/port/provider.js'
import { openAiBench, providerCall } from '../../../support/clients/openai-calls.js'
import { testClient } from '../../../support/clients/upstream-calls.js'
import { chunk } from '../../../support/data/chat-answers.js'
import { BROKEN, checkFailure, overloaded } from '../../../support/providers/expected-failures.js'
import type { Script } from '../../../support/providers/mock-upstream.js'
import { OPENAI } from '../../../support/providers/provider-formats.js'
import { eventually } from '../../../support/timing/eventually.js'
import { gate } from '../../../support/timing/gate.js'

const DOCUMENTS: Readonly<Record<string, object>> = {
  'no choices': { choices: [] },
  'choices without a message': { choices: [{ index: 0 }] },
}

for (const [name, body] of Object.entries(DOCUMENTS)) {
  test(`a whole answer with ${name} fails, asked for either way`, async (t) => {
    const { failure } = await OPENAI.bench(t, (peer) => peer.json(body))
    for (const how of ['complete', 'stream'] as const) checkFailure(t, await failure(how), BROKEN)
  })
}

const unnamed = chunk({ tool_calls: [{ index: 0, id: 'x', function: { arguments: '{}' } }] })

const STREAMS: Readonly<Record<string, Script>> = {
  'a terminator and nothing else': (peer) => peer.stream([]),
  'a tool call that is never named': (peer) => peer.stream([unnamed]),
}

for (const [name, script] of Object.entries(STREAMS)) {
  test(`a stream with ${name} fails`, async (t) => {
    const { client, failure } = await OPENAI.bench(t, script)
    checkFailure(t, await failure('stream'), BROKEN)
    await eventually(() => client.inFlight() === 0)
  })
}

test('an event of type error is one, also without a member that says so', async (t) => {
  const { client, failure } = await OPENAI.bench(t, (peer) => {
    peer.streamHead()
    peer.chunk('event: error\ndata: {"type":"overloaded_error","message":"m"}\n\n')
  })
  checkFailure(t, await failure('stream'), overloaded('maybe-processed'))
  await eventually(() => client.inFlight() === 0)
})

test('who waits is told of the end also where whoever takes it is defective', async (t) => {
  const defects: unknown[] = []
  const upstream = testClient(t, { onDefect: (error) => void defects.push(error) })
  const { mock, provider } = await openAiBench(
    t,
    (peer) => peer.json({ choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] }),
    { upstream },
  )
  const cause = new TypeError('a defect')
  const onEnd = () => {
    throw cause
  }
  const whole = gate<ProviderFailure>()
  provider.complete(providerCall(), { onEnd, onFailure: whole.open })
  t.match(await whole.opened, { fault: { kind: 'internal' }, class: 'maybe-processed' })
  mock.script = (peer) => peer.stream([chunk({ content: 'x' }), chunk({}, 'stop')])
  const live = gate<ProviderFailure>()
  provider.stream(providerCall(), { onEvent: () => {}, onFlush: () => {}, onEnd, onFailure: live.open })
  t.match(await live.opened, { fault: { kind: 'internal' }, class: 'maybe-processed' })
  await eventually(() => (defects.length === 2 ? true : null))
  t.same(defects, [cause, cause])
})
