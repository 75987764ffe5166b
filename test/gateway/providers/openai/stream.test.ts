import fc from 'fast-check'
import { test } from 'tap'
import type { ChatEvent } from '../../../../src/gateway/formats/canonical.js'
import {
  chunk,
  GENERATION,
  openAiBench,
  providerCall,
  Streamed,
  streamed,
} from '../../../support/clients/openai-calls.js'
import type { Script } from '../../../support/providers/mock-upstream.js'
import { usage } from '../../../support/providers/scripted-provider.js'
import { eventually } from '../../../support/timing/eventually.js'

/** What a delta of choice 0 becomes. */
const delta = (value: object): ChatEvent => ({ type: 'delta', choice: 0, delta: value })
const STOP: ChatEvent = { type: 'finish', choice: 0, reason: 'stop', native: 'stop' }
const STOP_UNSAID: ChatEvent = { type: 'finish', choice: 0, reason: 'stop', native: null }
const USAGE = usage(1, 2)
const MADE = `call_${GENERATION.slice(4)}`

const call = (fragment: object): unknown => chunk({ tool_calls: [fragment] })
const fn = (name?: string, text?: unknown): object => ({
  ...(name === undefined ? {} : { name }),
  ...(text === undefined ? {} : { arguments: text }),
})

const RARE = {
  refusal: 'r',
  reasoning_details: [{ type: 'reasoning.summary', summary: 's' }],
  audio: { id: 'i' },
  images: [{ image_url: { url: 'u' } }],
  annotations: [{ type: 'x' }],
}
/** The deltas of a tool call: its beginning, and a later piece of its arguments. */
const opened = (index: number, id: string, name: string, text: string): ChatEvent =>
  delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }] })
const argued = (index: number, text: string): ChatEvent =>
  delta({ tool_calls: [{ index, function: { arguments: text } }] })

const reads = (chunks: readonly unknown[], events: readonly ChatEvent[]) => [chunks, events] as const

const STREAMS = {
  'the usual one': reads(
    [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'a' }),
      chunk({ content: 'b' }),
      chunk({}, 'stop'),
      { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
    ],
    [delta({ content: 'a' }), delta({ content: 'b' }), STOP, { type: 'usage', usage: USAGE }],
  ),
  'a reason beside the last content': reads(
    [chunk({ content: 'a' }, 'stop')],
    [delta({ content: 'a' }), STOP],
  ),
  'a reason told twice': reads(
    [chunk({ content: 'a' }, 'stop'), chunk({}, 'stop')],
    [delta({ content: 'a' }), STOP],
  ),
  'no reason': reads([chunk({ content: 'a' })], [delta({ content: 'a' }), STOP_UNSAID]),
  'only a role': reads([chunk({ role: 'assistant' })], [STOP_UNSAID]),
  'nulls and empty texts': reads(
    [
      chunk({
        role: '',
        content: null,
        reasoning: '',
        refusal: null,
        tool_calls: null,
        audio: null,
        images: null,
        reasoning_details: [],
      }),
      chunk({ content: 'a' }),
    ],
    [delta({ content: 'a' }), STOP_UNSAID],
  ),
  'reasoning in either spelling': reads(
    [chunk({ reasoning: 'a' }), chunk({ reasoning_content: 'b' }), chunk({ content: 'c' })],
    [delta({ reasoning: 'a' }), delta({ reasoning: 'b' }), delta({ content: 'c' }), STOP_UNSAID],
  ),
  'rare members': reads([chunk(RARE)], [delta(RARE), STOP_UNSAID]),
  'the last figures count': reads(
    [
      { choices: [], usage: { prompt_tokens: 9, completion_tokens: 9 } },
      chunk({ content: 'a' }),
      { choices: [], usage: null },
      { x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } },
    ],
    [delta({ content: 'a' }), STOP_UNSAID, { type: 'usage', usage: USAGE }],
  ),
  'a tier, once': reads(
    [
      { ...(chunk({ content: 'a' }) as object), service_tier: 'flex' },
      { ...(chunk({ content: 'b' }) as object), service_tier: 'flex' },
    ],
    [{ type: 'tier', serviceTier: 'flex' }, delta({ content: 'a' }), delta({ content: 'b' }), STOP_UNSAID],
  ),
  'log probabilities': reads(
    [
      {
        choices: [
          { index: 0, delta: { content: 'a' }, logprobs: { content: [{ token: 'a', logprob: -1 }] } },
        ],
      },
    ],
    [
      {
        type: 'delta',
        choice: 0,
        delta: { content: 'a' },
        logprobs: { content: [{ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }], refusal: null },
      },
      STOP_UNSAID,
    ],
  ),
  'events that say nothing': reads(
    ['', '{"type":"ping"}', '{"choices":null}', chunk({ content: 'a' })],
    [delta({ content: 'a' }), STOP_UNSAID],
  ),
  'a message where the delta belongs': reads(
    [{ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] }],
    [delta({ content: 'a' }), STOP],
  ),
  'two choices': reads(
    [
      {
        choices: [
          { index: 0, delta: { content: 'a' } },
          { index: 1, delta: { content: 'b' }, finish_reason: 'stop' },
        ],
      },
    ],
    [
      delta({ content: 'a' }),
      { type: 'delta', choice: 1, delta: { content: 'b' } },
      { type: 'finish', choice: 1, reason: 'stop', native: 'stop' },
      STOP_UNSAID,
    ],
  ),
  'a tool call': reads(
    [
      call({ index: 0, id: 'x', type: 'function', function: fn('f', '') }),
      call({ index: 0, function: fn(undefined, '{"a"') }),
      call({ index: 0, id: null, type: null, function: fn(undefined, ':1}') }),
      chunk({}, 'tool_calls'),
    ],
    [
      opened(0, 'x', 'f', ''),
      argued(0, '{"a"'),
      argued(0, ':1}'),
      { type: 'finish', choice: 0, reason: 'tool_calls', native: 'tool_calls' },
    ],
  ),
  'tool calls without an index, told apart by id and by order': reads(
    [
      call({ id: 'x', function: fn('f', '1') }),
      call({ function: fn(undefined, '2') }),
      call({ id: 'y', function: fn('g', '3') }),
      call({ id: 'x', function: fn(undefined, '4') }),
      call({ function: fn(undefined, '5') }),
    ],
    [
      opened(0, 'x', 'f', '1'),
      argued(0, '2'),
      opened(1, 'y', 'g', '3'),
      argued(0, '4'),
      argued(1, '5'),
      STOP_UNSAID,
    ],
  ),
  'parallel tool calls all under index 0': reads(
    [
      call({ index: 0, id: 'x', function: fn('f', '1') }),
      call({ index: 0, id: 'y', function: fn('g', '2') }),
    ],
    [opened(0, 'x', 'f', '1'), opened(1, 'y', 'g', '2'), STOP_UNSAID],
  ),
  'a new id for every fragment of one call': reads(
    [
      call({ index: 0, id: 'x', function: fn('f', '') }),
      call({ index: 0, id: 'x2', function: fn(undefined, '1') }),
    ],
    [opened(0, 'x', 'f', ''), argued(0, '1'), STOP_UNSAID],
  ),
  'a name repeated in every fragment': reads(
    [
      call({ index: 0, id: 'x', function: fn('f', '1') }),
      call({ index: 0, id: 'x', function: fn('f', '2') }),
    ],
    [opened(0, 'x', 'f', '1'), argued(0, '2'), STOP_UNSAID],
  ),
  'indexes that do not begin at 0, without an id': reads(
    [call({ index: 3, function: fn('f', { a: 1 }) })],
    [opened(0, `${MADE}_0`, 'f', '{"a":1}'), STOP_UNSAID],
  ),
  'a name that comes late': reads(
    [call({ index: 0, id: 'x', function: fn(undefined, '{') }), call({ index: 0, function: fn('f', '}') })],
    [opened(0, 'x', 'f', '{}'), STOP_UNSAID],
  ),
  'the old single call': reads(
    [chunk({ function_call: fn('f', '') }), chunk({ function_call: fn(undefined, '{}') }, 'function_call')],
    [
      opened(0, `${MADE}_0`, 'f', ''),
      argued(0, '{}'),
      { type: 'finish', choice: 0, reason: 'tool_calls', native: 'function_call' },
    ],
  ),
}

for (const [name, [chunks, events]] of Object.entries(STREAMS)) {
  test(`a stream with ${name}`, async (t) => {
    const { provider } = await openAiBench(t, (peer) => peer.stream(chunks))
    const one = streamed(provider)
    t.equal(await one.end.opened, 'ended')
    t.strictSame(one.events, events)
  })
}

const PLAIN = [chunk({ content: 'é' }), chunk({ content: '😀' }), chunk({ content: '€' }, 'stop')]
const READ = [delta({ content: 'é' }), delta({ content: '😀' }), delta({ content: '€' }), STOP]
const frame = (eol: string): string =>
  [...PLAIN.map((c) => JSON.stringify(c)), '[DONE]'].map((d) => `data: ${d}${eol}${eol}`).join('')

const FRAMINGS: Readonly<Record<string, string>> = {
  LF: frame('\n'),
  CRLF: frame('\r\n'),
  CR: frame('\r'),
  'comments and ids': frame('\n').replaceAll(
    'data: ',
    ': PROCESSING\n\nid: 1\nretry: 5\nevent: message\ndata: ',
  ),
  'a byte order mark': `\ufeff${frame('\n')}`,
  'no space after the colon': frame('\n').replaceAll('data: ', 'data:'),
  'events over several lines': frame('\n').replaceAll('"choices":', '\ndata: "choices":'),
  'a terminator without its blank line': frame('\n').trimEnd(),
  'something after the terminator': `${frame('\n')}data: {"CANARY"\n\n`,
}

for (const [name, text] of Object.entries(FRAMINGS)) {
  test(`framing: ${name}`, async (t) => {
    const { provider } = await openAiBench(t, (peer) => {
      peer.streamHead({ 'content-type': 'Text/Event-Stream; charset=utf-8' })
      peer.chunk(text)
      peer.endChunks()
    })
    const one = streamed(provider)
    t.equal(await one.end.opened, 'ended')
    t.strictSame(one.events, READ)
  })
}

test('a stream that ends with its connection needs its terminator all the same', async (t) => {
  const { mock, provider } = await openAiBench(t, (peer) => {
    peer.head(200, { 'content-type': 'text/event-stream', connection: 'close' })
    peer.write(frame('\n'))
    peer.cut()
  })
  t.equal(await streamed(provider).end.opened, 'ended')
  mock.script = (peer) => {
    peer.head(200, { 'content-type': 'text/event-stream', connection: 'close' })
    peer.write(frame('\n').replace('data: [DONE]\n\n', ''))
    peer.cut()
  }
  t.match(await streamed(provider).end.opened, { fault: { kind: 'provider-failed' } })
})

test('however its bytes are cut, a stream reads the same', async (t) => {
  let text = ''
  let sizes: number[] = []
  const { provider } = await openAiBench(t, (peer) => {
    peer.streamHead()
    const bytes = Buffer.from(text)
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length]!
      peer.chunk(bytes.subarray(at, at + size))
      at += size
    }
    peer.endChunks()
  })
  const texts = fc.constantFrom(...Object.values(FRAMINGS))
  const property = fc.asyncProperty(
    texts,
    fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }),
    async (one, cuts) => {
      text = one
      sizes = cuts
      const receiver = streamed(provider)
      t.equal(await receiver.end.opened, 'ended')
      t.strictSame(receiver.events, READ)
    },
  )
  await fc.assert(property, { numRuns: 150 })
})

test('the first event comes before the last is made, and each turn is followed by a flush', async (t) => {
  const { mock, provider } = await openAiBench(t, (peer) => {
    peer.streamHead()
    peer.event(PLAIN[0])
  })
  const one = streamed(provider)
  await one.first.opened
  await eventually(() => one.flushes === 1)
  t.same(one.told, ['delta'])
  const [peer] = mock.peers
  peer!.event(PLAIN[1])
  await eventually(() => one.flushes === 2)
  peer!.event(PLAIN[2])
  peer!.event('[DONE]')
  t.equal(await one.end.opened, 'ended')
})

test('the end is told with the terminator, and the connection serves again once the body has ended', async (t) => {
  const { mock, client, provider } = await openAiBench(t, (peer) => {
    peer.streamHead()
    for (const one of [...PLAIN, '[DONE]']) peer.event(one)
  })
  t.equal(await streamed(provider).end.opened, 'ended')
  t.equal(client.inFlight(), 1, 'the body has not ended yet')
  mock.peers[0]!.event('{"late":1}')
  mock.peers[0]!.endChunks()
  await eventually(() => client.inFlight() === 0)
  mock.script = (peer) => peer.stream(PLAIN)
  t.equal(await streamed(provider).end.opened, 'ended')
  t.equal(mock.peers.length, 1)
})

test('a server that holds its body open after the terminator is left', async (t) => {
  const { mock, client, provider } = await openAiBench(t, (peer) => {
    peer.streamHead()
    for (const one of [...PLAIN, '[DONE]']) peer.event(one)
  })
  const one = streamed(provider)
  t.equal(await one.end.opened, 'ended')
  one.flow.cancel()
  await mock.peers[0]!.closed()
  await eventually(() => client.sockets() === 0 && client.inFlight() === 0)
  t.equal(one.told.filter((word) => word === 'ended' || word === 'failed').length, 1)
})

test('figures that came before a failure are told before it', async (t) => {
  const { provider } = await openAiBench(t, (peer) => {
    peer.streamHead()
    peer.event({ ...(chunk({ content: 'a' }) as object), usage: { prompt_tokens: 1, completion_tokens: 2 } })
    peer.event('broken')
  })
  const one = streamed(provider)
  t.match(await one.end.opened, { fault: { kind: 'provider-failed' } })
  t.same(one.told, ['delta', 'usage', 'failed'])
})

test('the body that was sent is shown before the first event, when asked for', async (t) => {
  const { mock, provider } = await openAiBench(t, (peer) => peer.stream(PLAIN))
  const one = streamed(provider, providerCall({ debug: { echo_upstream_body: true } }))
  await one.end.opened
  t.equal(one.told[0], 'sent')
  t.same(one.body, JSON.parse(mock.requests[0]!.body))
  const silent = streamed(provider)
  await silent.end.opened
  t.notOk(silent.told.includes('sent'))
})

const STANDINGS: Readonly<Record<string, Script>> = {
  'before the head': () => {},
  'before the first event': (peer) => peer.streamHead(),
  'in the middle': (peer) => {
    peer.streamHead()
    peer.event(PLAIN[0])
  },
}

for (const [name, script] of Object.entries(STANDINGS)) {
  test(`a stream cancelled ${name} closes its socket and tells nothing more`, async (t) => {
    const { mock, client, provider } = await openAiBench(t, script)
    const one = streamed(provider)
    await eventually(() => mock.requests.length === 1)
    if (name === 'in the middle') await one.first.opened
    const told = [...one.told]
    one.flow.cancel()
    one.flow.cancel()
    await mock.peers[0]!.closed()
    await eventually(() => client.sockets() === 0 && client.inFlight() === 0)
    t.same(one.told, told)
  })
}

test('a receiver that cancels within an event hears nothing more, not even of the same bytes', async (t) => {
  const { client, provider } = await openAiBench(t, (peer) => {
    const text = frame('\n')
    peer.streamHead()
    peer.chunk(text)
    peer.endChunks()
  })
  class Leaving extends Streamed {
    override onEvent(event: ChatEvent): void {
      super.onEvent(event)
      this.flow.cancel()
    }
  }
  const one = streamed(provider, providerCall(), new Leaving())
  await one.first.opened
  await eventually(() => client.sockets() === 0)
  t.same(one.told, ['delta'])
  t.equal(one.flushes, 0)
})

test('a slow receiver stops the provider, and loses nothing', async (t) => {
  const EVENTS = 2_000
  let written = 0
  const { provider } = await openAiBench(t, (peer) => {
    peer.streamHead()
    const more = (): void => {
      while (written < EVENTS) {
        const last = ++written === EVENTS
        const taken = peer.event(chunk({ content: `${written} ${'x'.repeat(10_000)}` }))
        if (last) peer.event('[DONE]')
        if (last) peer.endChunks()
        if (!taken && !last) {
          peer.socket.once('drain', more)
          return
        }
      }
    }
    more()
  })
  const one = streamed(provider)
  await one.first.opened
  one.flow.pause()
  let seen = -1
  await eventually(async () => {
    const stood = seen === written
    seen = written
    await new Promise((resolve) => setTimeout(resolve, 100))
    return stood && seen === written
  })
  t.ok(written < EVENTS, `the provider stands at event ${written}`)
  const held = one.events.length
  t.ok(held < written)
  one.flow.resume()
  t.equal(await one.end.opened, 'ended')
  t.equal(one.events.length, EVENTS + 1)
  const numbers = one.events
    .slice(0, EVENTS)
    .map((event) => (event.type === 'delta' ? Number.parseInt(event.delta.content!, 10) : 0))
  t.ok(numbers.every((number, i) => number === i + 1))
})
