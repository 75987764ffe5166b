/** Streams whose pieces come in another order than the messages format wants, and streams that go wrong. */
import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { ChatDelta, ChatEvent, ToolCallDelta } from '../../../src/gateway/formats/canonical.js'
import type {
  ContentBlockEvent,
  MessagesAnswer,
  MessagesEvent,
} from '../../../src/gateway/formats/messages.js'
import type {
  CallHandle,
  ChatApi,
  MessagesApi,
  ProviderFailure,
  StreamReceiver,
} from '../../../src/gateway/providers/port/provider.js'
import { chatOverMessages } from '../../../src/gateway/translation/chat-over-messages.js'
import { toReasoningDetail } from '../../../src/gateway/translation/messages-over-chat/reasoning.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'
import {
  assembledMessage,
  messagesCall,
  StreamedMessages,
  streamedMessages,
  textBlock,
  wholeMessage,
} from '../../support/clients/messages-face-calls.js'
import { Streamed, streamed } from '../../support/clients/openai-calls.js'
import { completion as said, usage } from '../../support/providers/scripted-provider.js'
import { streamFaults } from '../../support/schemas/messages-schemas.js'

const FIGURES = usage(3, 4)
const delta = (value: ChatDelta): ChatEvent => ({ type: 'delta', choice: 0, delta: value })
const finish = (reason: 'stop' | 'length' | 'tool_calls' | 'error'): ChatEvent => ({
  type: 'finish',
  choice: 0,
  reason,
  native: reason,
})
const calls = (...fragments: ToolCallDelta[]): ChatEvent => delta({ tool_calls: fragments })
const begin = (index: number, name: string, text = ''): ToolCallDelta => ({
  index,
  id: `id_${index}`,
  type: 'function',
  function: { name, arguments: text },
})
const more = (index: number, text: string): ToolCallDelta => ({ index, function: { arguments: text } })
const use = (index: number, name: string, input: object) => ({
  type: 'tool_use',
  id: `id_${index}`,
  name,
  input,
  caller: { type: 'direct' },
})

const OWN = { format: 'anthropic-claude-v1', index: 0 } as const
const details = (...reasoning_details: NonNullable<ChatDelta['reasoning_details']>): ChatDelta => ({
  reasoning_details,
})
const spoken = (text: string, index: number) => ({ type: 'reasoning.text', text, index })
const thinking = (text: string, signature = '') => ({ type: 'thinking', thinking: text, signature })

const WAITS = { queueMs: 1, connectMs: 2 }
const NO_FLOW = { pause: () => {}, resume: () => {}, cancel: () => {} }

/** The flow of a call that has done this by now. */
function after(flow: CallHandle, done: () => unknown): CallHandle {
  done()
  return flow
}

/** A chat provider that tells these events and ends. */
function telling(events: readonly ChatEvent[], end: 'ended' | ProviderFailure = 'ended'): ChatApi {
  return {
    stream: (_call, receiver) => {
      setImmediate(() => {
        for (const event of events) receiver.onEvent(event)
        if (end === 'ended') receiver.onEnd()
        else receiver.onFailure(end)
      })
      return NO_FLOW
    },
    complete: () => NO_FLOW,
  }
}

async function heard(events: readonly ChatEvent[]): Promise<StreamedMessages> {
  const stream = streamedMessages(messagesOverChat(telling(events)))
  await stream.end.opened
  return stream
}

const becomes = (events: readonly ChatEvent[], content: readonly object[]) => [events, content] as const

const ORDERS = {
  'calls announced together, filled by turns': becomes(
    [
      calls(begin(0, 'f'), begin(1, 'g'), begin(2, 'h')),
      calls(more(1, '{"b"')),
      calls(more(0, '{"a":')),
      calls(more(2, '{}')),
      calls(more(1, ':2}'), more(0, '1}')),
      finish('tool_calls'),
    ],
    [use(0, 'f', { a: 1 }), use(1, 'g', { b: 2 }), use(2, 'h', {})],
  ),
  'calls without arguments': becomes(
    [calls(begin(0, 'f')), calls(begin(1, 'g')), finish('tool_calls')],
    [use(0, 'f', {}), use(1, 'g', {})],
  ),
  'arguments that are null': becomes([calls(begin(0, 'f', 'null')), finish('tool_calls')], [use(0, 'f', {})]),
  'text after a call': becomes(
    [calls(begin(0, 'f', '{}')), delta({ content: 'a' }), delta({ content: 'b' }), finish('tool_calls')],
    [use(0, 'f', {}), textBlock('ab')],
  ),
  'text within a call': becomes(
    [
      calls(begin(0, 'f', '{"a"')),
      delta({ content: 'a' }),
      calls(more(0, ':1}')),
      delta({ content: 'b' }),
      finish('tool_calls'),
    ],
    [use(0, 'f', { a: 1 }), textBlock('ab')],
  ),
  'space after the end of a call': becomes(
    [calls(begin(0, 'f', '{}')), calls(begin(1, 'g', '{}')), calls(more(0, ' \n')), finish('tool_calls')],
    [use(0, 'f', {}), use(1, 'g', {})],
  ),
  'reasoning and text by turns': becomes(
    [
      delta({ reasoning: 'a' }),
      delta({ content: 'b' }),
      delta({ reasoning: 'c' }),
      delta({ content: 'd' }),
      finish('stop'),
    ],
    [thinking('a'), textBlock('b'), thinking('c'), textBlock('d')],
  ),
  'a signature that comes last': becomes(
    [
      delta({
        reasoning: 'a',
        reasoning_details: [{ type: 'reasoning.text', text: 'a', ...OWN }],
      }),
      delta(details({ type: 'reasoning.text', signature: 'cw==', ...OWN })),
      finish('stop'),
    ],
    [thinking('a', 'cw==')],
  ),
  'two thoughts told apart by their number': becomes(
    [delta(details(spoken('a', 0))), delta(details(spoken('b', 0), spoken('c', 1))), finish('stop')],
    [thinking('ab'), thinking('c')],
  ),
  'another choice, which nobody asked for': becomes(
    [{ type: 'delta', choice: 1, delta: { content: 'x' } }, delta({ content: 'a' }), finish('stop')],
    [textBlock('a')],
  ),
}

for (const [name, [events, content]] of Object.entries(ORDERS)) {
  test(`blocks come one after the other: ${name}`, async (t) => {
    const stream = await heard(events)
    t.equal(await stream.end.opened, 'ended')
    t.strictSame(assembledMessage(stream.events).content, content)
    t.same(streamFaults(stream.events), [])
  })
}

test('the first call goes out as it comes, before the others are complete', async (t) => {
  let receiver!: StreamReceiver<ChatEvent>
  const stream = streamedMessages(
    messagesOverChat({ ...telling([]), stream: (_call, told) => after(NO_FLOW, () => (receiver = told)) }),
  )
  receiver.onEvent(calls(begin(0, 'f', '{"a":')))
  receiver.onEvent(calls(begin(1, 'g', '{}')))
  const pieces = (): (string | undefined)[] =>
    stream.events.flatMap((event) => (event.type === 'block' ? [pieceIn(event.event)] : []))
  t.same(pieces(), ['f', '{"a":'])
  receiver.onEvent(calls(more(0, '1}')))
  t.same(pieces(), ['f', '{"a":', '1}', undefined, 'g', '{}'])
})

function pieceIn(event: ContentBlockEvent): string | undefined {
  if (event.type === 'content_block_start') return event.content_block.name as string
  return event.type === 'content_block_delta' ? (event.delta.partial_json as string) : undefined
}

const BROKEN: Readonly<Record<string, readonly ChatEvent[]>> = {
  'arguments cut off': [calls(begin(0, 'f', '{"a"')), finish('tool_calls')],
  'arguments that are no object': [calls(begin(0, 'f', '[]')), finish('tool_calls')],
  'a call that goes on after its end': [
    calls(begin(0, 'f', '{}')),
    calls(begin(1, 'g', '{}')),
    calls(more(0, '{"late":1}')),
    finish('tool_calls'),
  ],
  'an error for an end': [delta({ content: 'a' }), finish('error')],
}

for (const [name, events] of Object.entries(BROKEN)) {
  test(`an answer with ${name} is a failure, streamed and whole`, async (t) => {
    const stream = await heard([...events, { type: 'usage', usage: FIGURES }])
    const failure = { fault: { kind: 'provider-failed' }, class: 'maybe-processed' }
    t.match(await stream.end.opened, failure)
    t.same(stream.told.slice(-2), ['usage', 'failed'])
    t.notOk(stream.told.includes('stop'))
    if (name.includes('after its end')) return
    const message = { role: 'assistant' as const, content: null, refusal: null, tool_calls: [] as object[] }
    for (const event of events) {
      if (event.type !== 'delta') continue
      for (const { index: _, ...call } of event.delta.tool_calls ?? []) message.tool_calls.push(call)
    }
    const reason = (events.at(-1) as { reason: 'stop' }).reason
    const choices = [{ index: 0, message, finishReason: reason, native: null, logprobs: null }]
    const completion = { choices, usage: null, serviceTier: null } as never
    const face = messagesOverChat({
      stream: () => NO_FLOW,
      complete: (_call, told) => after(NO_FLOW, () => told.onEnd(completion)),
    })
    t.match(await wholeMessage(face), failure)
  })
}

test('arguments that the limit cut off are an answer', async (t) => {
  const stream = await heard([calls(begin(0, 'f', '{"a": "b')), finish('length')])
  t.equal(await stream.end.opened, 'ended')
  t.equal(assembledMessage(stream.events).stop.stop_reason, 'max_tokens')
  t.same(streamFaults(stream.events), [])
})

test('figures of a failed answer are told only when something was said', async (t) => {
  const failure: ProviderFailure = { fault: new Fault('provider-failed'), class: 'refused', status: 500 }
  const figures: ChatEvent = { type: 'usage', usage: FIGURES }
  const silent = streamedMessages(messagesOverChat(telling([figures], failure)))
  t.equal(await silent.end.opened, failure)
  t.same(silent.told, ['failed'])
  const begun = streamedMessages(messagesOverChat(telling([delta({ content: 'a' }), figures], failure)))
  t.equal(await begun.end.opened, failure)
  t.same(begun.told, ['start', 'block', 'block', 'usage', 'failed'])
})

test('whoever leaves within an event hears no more of it, and the provider’s call ends', async (t) => {
  let cancelled = 0
  const flow = { ...NO_FLOW, cancel: () => void cancelled++ }
  const chat: ChatApi = {
    ...telling([]),
    stream: (call, told) =>
      after(flow, () => telling([delta({ content: 'a' }), finish('stop')]).stream(call, told)),
  }
  const receiver = new (class extends StreamedMessages {
    override onEvent(event: MessagesEvent): void {
      super.onEvent(event)
      if (this.told.length === 1) this.flow.cancel()
    }
  })()
  streamedMessages(messagesOverChat(chat), messagesCall(), receiver)
  await receiver.first.opened
  await new Promise((resolve) => setImmediate(resolve))
  t.same(receiver.told, ['start'])
  t.equal(cancelled, 1)

  const events: MessagesEvent[] = [
    {
      type: 'stop',
      stop: {
        stop_reason: 'refusal',
        stop_sequence: null,
        stop_details: { explanation: 'no' },
        container: null,
      },
    },
  ]
  const messages = {
    complete: () => NO_FLOW,
    stream: (_call: unknown, told: StreamReceiver<MessagesEvent>) => {
      setImmediate(() => events.forEach((event) => told.onEvent(event)))
      return flow
    },
  } as MessagesApi
  const other = new (class extends Streamed {
    override onEvent(event: ChatEvent): void {
      super.onEvent(event)
      this.flow.cancel()
    }
  })()
  streamed(chatOverMessages(messages) as never, undefined, other)
  await other.first.opened
  t.same(other.told, ['delta'])
  t.equal(cancelled, 2)
})

test('pauses reach the provider, and its waits are known', async (t) => {
  const told: string[] = []
  const flow = {
    pause: () => told.push('pause'),
    resume: () => told.push('resume'),
    cancel: () => told.push('cancel'),
    waits: () => WAITS,
  }
  const face = { stream: () => flow, complete: () => flow } as unknown as ChatApi & MessagesApi
  for (const one of [
    messagesOverChat(face).stream(messagesCall(), new StreamedMessages()),
    streamed(chatOverMessages(face) as never).flow,
  ]) {
    one.pause()
    one.resume()
    t.equal(one.waits?.(), WAITS)
    one.cancel()
  }
  t.same(told, ['pause', 'resume', 'cancel', 'pause', 'resume', 'cancel'])
})

// ── Any order at all ────────────────────────────────────────────────────────

interface Piece {
  readonly lane: number
  readonly text: string
}

const INPUTS = [{ a: 1 }, { b: '{"x"}' }, { c: [[], {}] }] as const

/** Three calls, each cut into pieces, shuffled together without changing the order within a call. */
const shuffledCalls = fc
  .tuple(fc.array(fc.nat({ max: 2 }), { minLength: 6, maxLength: 40 }), fc.integer({ min: 1, max: 4 }))
  .map(([lanes, size]): Piece[] => {
    const left = INPUTS.map((input) => JSON.stringify(input).match(new RegExp(`.{1,${size}}`, 'gs')) ?? [])
    const order = [...lanes, ...[0, 1, 2].flatMap((lane) => Array.from({ length: 30 }, () => lane))]
    return order.flatMap((lane) => {
      const text = left[lane]?.shift()
      return text === undefined ? [] : [{ lane, text }]
    })
  })

test('however the pieces of parallel calls are mixed, each call is whole and the format kept', async (t) => {
  const property = fc.asyncProperty(shuffledCalls, fc.nat({ max: 20 }), async (pieces, textAt) => {
    const begun = new Set<number>()
    const events = pieces.flatMap(({ lane, text }, at) => {
      const fragment = begun.has(lane) ? more(lane, text) : begin(lane, `f${lane}`, text)
      begun.add(lane)
      return at === textAt ? [delta({ content: 'x' }), calls(fragment)] : [calls(fragment)]
    })
    const stream = await heard([...events, finish('tool_calls')])
    if ((await stream.end.opened) !== 'ended') throw new Error('the stream failed')
    const { content } = assembledMessage(stream.events)
    const inputs = Object.fromEntries(
      content.filter(({ type }) => type === 'tool_use').map(({ name, input }) => [name, input]),
    )
    t.strictSame(inputs, { f0: INPUTS[0], f1: INPUTS[1], f2: INPUTS[2] })
    t.same(streamFaults(stream.events), [])
  })
  await fc.assert(property, { numRuns: 500 })
})

test('whole answers cross as streamed ones do', async (t) => {
  const face = messagesOverChat({
    stream: () => NO_FLOW,
    complete: (_call, receiver) => after(NO_FLOW, () => receiver.onEnd(said('hello'))),
  })
  t.match(await wholeMessage(face), {
    content: [textBlock('hello')],
    stop: { stop_reason: 'end_turn' },
    usage: FIGURES,
  })
})

const TIERS: readonly (readonly [served: string, told: string | null])[] = [
  ['default', 'standard'],
  ['priority', 'priority'],
  ['flex', null],
]

for (const [serviceTier, word] of TIERS) {
  test(`an answer served as ${serviceTier} says ${word ?? 'that this is lost'}, streamed and whole`, async (t) => {
    const figures: ChatEvent = { type: 'usage', usage: FIGURES }
    const chat: ChatApi = {
      ...telling([{ type: 'tier', serviceTier }, delta({ content: 'x' }), finish('stop'), figures]),
      complete: (_call, receiver) =>
        after(NO_FLOW, () => receiver.onEnd({ ...said('x', FIGURES), serviceTier })),
    }
    const call = messagesCall({}, { droppedFields: [] })
    const whole = (await wholeMessage(messagesOverChat(chat), call)) as MessagesAnswer
    t.strictSame(whole.wireUsage, word === null ? null : { service_tier: word })
    t.strictSame(call.droppedFields, word === null ? ['answer.service_tier'] : [])
    const streaming = messagesCall({ stream: true }, { droppedFields: [] })
    const stream = streamedMessages(messagesOverChat(chat), streaming)
    await stream.end.opened
    t.strictSame(assembledMessage(stream.events).wireUsage, whole.wireUsage)
    t.strictSame(streaming.droppedFields, call.droppedFields)
  })
}

const THOUGHTS: readonly (readonly [what: string, pieces: readonly ChatDelta[], back: object])[] = [
  [
    'without details',
    [{ reasoning: 'se' }, { reasoning: 'cret' }],
    { type: 'reasoning.text', text: 'secret' },
  ],
  [
    'that is signed',
    [
      details({ type: 'reasoning.text', text: 'secret', ...OWN }),
      details({ type: 'reasoning.text', signature: 's', ...OWN }),
    ],
    { type: 'reasoning.text', text: 'secret', signature: 's', ...OWN },
  ],
  [
    'that is summarised',
    [details({ type: 'reasoning.summary', summary: 'secret', id: 'r', index: 0 })],
    { type: 'reasoning.summary', summary: 'secret', id: 'r', index: 0 },
  ],
]

for (const [what, pieces, back] of THOUGHTS) {
  test(`thinking ${what} is kept from who does not want to see it, and comes back whole`, async (t) => {
    const events = [...pieces.map(delta), delta({ content: 'x' }), finish('stop')]
    const request = { thinking: { type: 'adaptive', display: 'omitted' }, stream: true } as const
    const stream = streamedMessages(messagesOverChat(telling(events)), messagesCall(request))
    t.equal(await stream.end.opened, 'ended')
    const { content } = assembledMessage(stream.events)
    t.match(content, [{ type: 'thinking', thinking: '', signature: /^reasoning-detail\./ }, textBlock('x')])
    t.notMatch(JSON.stringify(stream.events), 'secret')
    t.same(toReasoningDetail(content[0]!, 0), back)

    const shown = streamedMessages(messagesOverChat(telling(events)), messagesCall({ stream: true }))
    await shown.end.opened
    t.equal(assembledMessage(shown.events).content[0]?.thinking, 'secret')
  })
}
