/** How an answer ended, and what answered it: as the provider says it, in either format, whole and streamed. */
import tap, { test } from 'tap'
import { askMessages, assembled } from '../../support/clients/messages-calls.js'
import { speaking } from '../../support/providers/mock-anthropic.js'
import { mockUpstream, type Script } from '../../support/providers/mock-upstream.js'
import { mockChunk, mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import { askChat, type Json, startGateway } from '../../support/servers/gateway-server.js'

const openAi = await mockUpstream(tap)
const spare = await mockUpstream(tap)
const theirs = await mockUpstream(tap, speaking({ content: [] }))
const kind = (origin: string) => ({ kind: 'openai', base_url: `${origin}/v1`, breaker: false })
const PRICES = { prompt: '0.000001', completion: '0.000002' }
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    providers: {
      other: { ...kind(openAi.origin), name: 'Other' },
      spare: { ...kind(spare.origin), name: 'Spare' },
      theirs: { kind: 'anthropic', name: 'Theirs', base_url: theirs.origin },
    },
    models: {
      'acme/other': { endpoints: [{ provider: 'other', prices: PRICES }] },
      'acme/both': { endpoints: [{ provider: 'other' }, { provider: 'spare', prices: PRICES }] },
      'acme/theirs': { endpoints: [{ provider: 'theirs' }] },
    },
  },
})
tap.teardown(() => server.stop())

const ASKED = [{ role: 'user', content: 'x' }]
const chat = (more: object) => askChat(server, { model: 'acme/other', messages: ASKED, ...more })
const messages = (more: object) =>
  askMessages(server, { model: 'acme/other', max_tokens: 9, messages: ASKED, ...more })
const choiceOf = (chunk: Json) => chunk.choices[0]

/** Answers whole or streamed: content, then the members of the last choice. */
function ending(content: string, last: Json, more: object = {}): Script {
  return (peer, { body }) => {
    const { finish_reason, ...rest } = last
    if (!(JSON.parse(body) as Json).stream) {
      const choices = [{ index: 0, message: { role: 'assistant', content }, ...last }]
      peer.json(mockCompletion('', { choices, ...more }))
      return
    }
    const end = mockChunk({}, finish_reason as string, more) as Json
    Object.assign(choiceOf(end), rest)
    peer.stream([...(content === '' ? [] : [mockChunk({ content }, null, more)]), end])
  }
}

test('the fingerprint of the provider reaches callers of chat', async (t) => {
  openAi.script = ending('hi', { finish_reason: 'stop' }, { system_fingerprint: 'fp_1' })
  t.equal((await chat({})).json().system_fingerprint, 'fp_1')
  const chunks = (await chat({ stream: true })).events().filter((event) => event !== '[DONE]')
  t.strictSame([...new Set(chunks.map((chunk: Json) => chunk.system_fingerprint))], ['fp_1'])
  const asked = await askMessages(
    server,
    { model: 'acme/other', max_tokens: 9, messages: ASKED },
    { 'X-Service-Metadata': 'enabled' },
  )
  t.strictSame(asked.json().service_metadata.untranslated, ['answer.system_fingerprint'])
})

test('without one it is null, and no member of a chunk', async (t) => {
  // It would stand in every chunk, so a long one is none.
  for (const more of [{}, { system_fingerprint: 'x'.repeat(257) }]) {
    openAi.script = ending('hi', { finish_reason: 'stop' }, more)
    t.equal((await chat({})).json().system_fingerprint, null)
    for (const chunk of (await chat({ stream: true })).events())
      t.notOk(Object.hasOwn(Object(chunk), 'system_fingerprint'))
  }
})

for (const member of ['stop_reason', 'matched_stop']) {
  test(`the stop sequence that a chat server tells as ${member}`, async (t) => {
    openAi.script = ending('One', { finish_reason: 'stop', [member]: 'END' })
    t.match(choiceOf((await chat({ stop: ['END'] })).json()), { finish_reason: 'stop', stop_reason: 'END' })
    const chunks = (await chat({ stop: 'END', stream: true })).events()
    t.match(
      chunks.map((chunk: Json) => chunk.choices?.[0]?.stop_reason).filter((told) => told !== undefined),
      ['END'],
    )
    const stopped = { stop_reason: 'stop_sequence', stop_sequence: 'END' }
    const asked = { stop_sequences: ['no', 'END'] }
    t.match((await messages(asked)).json(), stopped)
    t.match(assembled((await messages({ ...asked, stream: true })).events()), stopped)
    // A word of the server's that was not asked for is no stop sequence.
    t.match((await messages({ stop_sequences: ['no'] })).json(), {
      stop_reason: 'end_turn',
      stop_sequence: null,
    })
  })
}

test('the id of a token is no stop sequence', async (t) => {
  openAi.script = ending('One', { finish_reason: 'stop', stop_reason: 151_643 })
  t.notOk(Object.hasOwn(choiceOf((await chat({ stop: ['END'] })).json()), 'stop_reason'))
})

test('the stop sequence that a messages server tells', async (t) => {
  theirs.script = speaking({
    content: [{ type: 'text', text: 'One' }],
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
  })
  const asked = { model: 'acme/theirs', stop: 'END' }
  const told = { finish_reason: 'stop', native_finish_reason: 'stop_sequence', stop_reason: 'END' }
  t.match(choiceOf((await chat(asked)).json()), told)
  const last = (await chat({ ...asked, stream: true }))
    .events()
    .find((chunk: Json) => chunk.choices?.[0]?.finish_reason)
  t.match(choiceOf(last), told)
})

const BROKEN = { finish_reason: 'error', error: { code: 503, message: 'the replica has gone' } }

test('an answer that breaks off with an error is no success', async (t) => {
  openAi.script = ending('Once upon', BROKEN)
  const whole = await chat({})
  t.equal(whole.status, 200)
  t.match(choiceOf(whole.json()), {
    message: { content: 'Once upon' },
    finish_reason: 'error',
    error: { code: 503, message: String, metadata: { error_type: 'provider_overloaded' } },
  })
  const body = { model: 'acme/other', messages: ASKED }
  const { service_metadata } = (await askChat(server, body, { 'X-Service-Metadata': 'enabled' })).json()
  t.match(service_metadata.endpoints.available, [{ selected: false }], 'its endpoint has failed')
  const stream = (await chat({ stream: true })).events()
  t.match(stream.at(-2), { error: { code: 503 }, choices: [{ finish_reason: 'error' }] })
  t.notOk(
    stream.some((chunk: Json) => chunk.usage !== undefined),
    'no figures as of a success',
  )

  t.match((await messages({})).json(), { type: 'error', error: { type: 'overloaded_error' } })
  const told = (await messages({ stream: true })).events()
  t.match(told.at(-1), { type: 'error', error: { type: 'overloaded_error' } })
  t.notOk(told.some((event: Json) => event.type === 'message_stop'))
})

for (const stream of [false, true]) {
  test(`one that has said nothing is rescued, ${stream ? 'streamed' : 'whole'}`, async (t) => {
    openAi.script = ending('', { finish_reason: 'error' })
    spare.script = (peer) => (stream ? peer.stream(mockStream('saved')) : peer.json(mockCompletion('saved')))
    const asked = await chat({ model: 'acme/both', stream })
    t.equal(asked.status, 200)
    t.match(asked.text, 'saved')
    t.match(asked.text, '"provider":"Spare"')
    const alone = await chat({ stream })
    t.equal(alone.status, 502)
  })
}

test('a server that answers a stream with a broken whole answer has failed as well', async (t) => {
  openAi.script = (peer) =>
    peer.json(mockCompletion('', { choices: [{ message: { content: 'Once' }, ...BROKEN }] }))
  const stream = (await chat({ stream: true })).events()
  t.match(stream.at(-2), { error: { code: 503 } })
  t.match(JSON.stringify(stream), 'Once')
})
