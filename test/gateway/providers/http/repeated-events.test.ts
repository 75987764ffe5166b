/** Events that are known by their bytes say what they would say if each were read in full. */
import fc from 'fast-check'
import { test } from 'tap'
import { MessageEventReader } from '../../../../src/gateway/providers/anthropic/message-reader.js'
import { AnswerEvents } from '../../../../src/gateway/providers/http/answer-events.js'
import type { StreamReader } from '../../../../src/gateway/providers/http/answer-format.js'
import { ChunkReader } from '../../../../src/gateway/providers/openai/answer-reader.js'
import { EventStreamParser } from '../../../../src/upstream/event-stream-parser.js'

type Said = readonly unknown[]
type Create = (tell: (event: unknown) => void) => StreamReader<unknown>

/** What is told, by a reader that may know events by their bytes, and how many it knew. */
function readFast(
  create: Create,
  pieces: readonly Uint8Array[],
): { readonly said: Said; readonly known: number } {
  const said: unknown[] = []
  let known = 0
  const reader = create((event) => said.push(event))
  const counting: StreamReader<unknown> = {
    read: (data, name) => reader.read(data, name),
    formOf: (data, name) => reader.formOf(data, name),
    readRepeated: (event) => {
      known++
      reader.readRepeated(event)
    },
    close: () => reader.close(),
    usageBeforeFailure: () => reader.usageBeforeFailure(),
  }
  const events = new AnswerEvents(counting, (result) => {
    said.push(result)
    events.stop()
  })
  for (const piece of pieces) events.push(piece)
  said.push(reader.close(), reader.usageBeforeFailure())
  return { said, known }
}

/** The same where each event is read in full. */
function readPlain(create: Create, bytes: Uint8Array): Said {
  const said: unknown[] = []
  const reader = create((event) => said.push(event))
  const parser = new EventStreamParser((data, name) => {
    const result = data === '' ? null : reader.read(data, name)
    if (result === null) return
    said.push(result)
    parser.stop()
  })
  parser.push(bytes)
  said.push(reader.close(), reader.usageBeforeFailure())
  return said
}

function cut(bytes: Buffer, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

const CHAT: Create = (tell) => new ChunkReader('gen-1', tell)
const MESSAGES: Create = (tell) => new MessageEventReader(tell)

const chunk = (delta: object, rest: object = {}, around: object = {}): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  ...around,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...rest }],
})
const block = (index: number, delta: object): object => ({ type: 'content_block_delta', index, delta })

const TEXTS = [
  '',
  'a',
  'w0001 ',
  'é€😀',
  '"',
  '\\',
  '\n',
  '\u2028',
  '\ud800',
  '"content":"x"',
  '"text":"x"',
  '[DONE]',
  '}]}\n\ndata: ',
]

const chatEvent = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...TEXTS).map((content) => chunk({ content })) },
  fc.constantFrom(...TEXTS).map((reasoning) => chunk({ reasoning_content: reasoning, content: null })),
  fc.constantFrom<object>(
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'x' }, { finish_reason: 'stop' }),
    chunk({ content: 'x' }, { finish_reason: 'error' }),
    chunk({ content: 'x' }, { index: 1 }),
    chunk({ content: 'x' }, { logprobs: { content: [] } }),
    chunk({ content: 'x' }, {}, { service_tier: 'flex' }),
    chunk({ content: 'x' }, {}, { service_tier: 'default' }),
    chunk({ content: 'x' }, {}, { system_fingerprint: 'fp' }),
    chunk({ content: 'x' }, {}, { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
    chunk({ content: 'x' }, {}, { usage: { prompt_tokens: 1, completion_tokens: 3 } }),
    chunk({ content: 'x' }, {}, { error: { message: 'e' } }),
    chunk({ content: 'x', refusal: 'r' }),
    chunk({ content: 'x', tool_calls: [{ index: 0, function: { arguments: '1' } }] }),
    chunk({ content: 'x', tool_calls: [{ index: 0, function: { name: 'f' } }] }),
    chunk({ content: 'x', tool_calls: null, reasoning: null }),
    chunk({ content: [{ type: 'text', text: 'x' }] }),
    { choices: [{ message: { content: 'x' } }] },
    { choices: [chunk({ content: 'x' }), chunk({ content: 'y' })] },
    { content: 'x' },
    { 'a"content': 'x', choices: [] },
  ),
)

const messagesEvent = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...TEXTS).map((text) => block(0, { type: 'text_delta', text })) },
  fc.constantFrom<object>(
    { type: 'message_start', message: { usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'x' } },
    block(0, { type: 'thinking_delta', thinking: 'x' }),
    block(0, { type: 'other', text: 'x' }),
    block(1, { type: 'text_delta', text: 'x' }),
    { ...block(0, { type: 'text_delta', text: 'x' }), more: 1 },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
    { type: 'error', error: { message: 'text' } },
    { type: 'ping' },
  ),
)

/** How an event is put on the wire. */
const framings = [
  (json: string) => `data: ${json}\n\n`,
  (json: string) => `data:${json}\n\n`,
  (json: string) => `data: ${json}\r\n\r\n`,
  (json: string) => `event: content_block_delta\ndata: ${json}\n\n`,
  (json: string) => `event: error\ndata: ${json}\n\n`,
  (json: string) => `: ping\n\nid: 1\ndata: ${json}\n\n`,
  (json: string) => `: ping\ndata: ${json}\n\n`,
  (json: string) => `data: ${json.replaceAll('":', '": ')}\n\n`,
  (json: string) => `data: ${json.replace('{', '{\ndata: ')}\n\n`,
  (json: string) => `data: ${json.replaceAll('é', '\\u00e9').replaceAll('/', '\\/')}\n\n`,
  // No JSON: a quote too much, an escape that is none, a line end within a text.
  (json: string) => `data: ${json.replace('w0001', '"w"')}\n\n`,
  (json: string) => `data: ${json.replace('w0001', '\\x')}\n\n`,
  (json: string) => `data: ${json.replace('w0001', 'w\t')}\n\n`,
]

const framing = fc.oneof(
  { weight: 12, arbitrary: fc.constant(framings[0]!) },
  { weight: 6, arbitrary: fc.constant(framings[3]!) },
  fc.constantFrom(...framings),
)

const FORMATS = [
  ['chat', CHAT, chatEvent, []],
  [
    'messages',
    MESSAGES,
    messagesEvent,
    [{ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
  ],
] as const

for (const [name, create, event, begun] of FORMATS) {
  test(`${name}: any events cut anywhere say what they say where each is read in full`, async (t) => {
    let known = 0
    fc.assert(
      fc.property(
        fc.array(fc.tuple(event, framing, fc.nat(4)), { minLength: 2, maxLength: 12 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.boolean(),
        (events, places, breaksBytes) => {
          const frames = events.map(([each, frame, times]) => frame(JSON.stringify(each)).repeat(times + 1))
          const bytes = Buffer.from(
            begun.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('') + frames.join(''),
          )
          // What is no UTF-8 reads as it would.
          if (breaksBytes)
            for (let at = bytes.indexOf(0xc3); at > 0; at = bytes.indexOf(0xc3, at + 1)) bytes[at] = 0xff
          const fast = readFast(create, cut(bytes, places))
          known += fast.known
          return JSON.stringify(fast.said) === JSON.stringify(readPlain(create, bytes))
        },
      ),
      { numRuns: 3_000 },
    )
    t.ok(known > 3_000, `${known} were known by their bytes`)
  })
}

test('most of an ordinary answer is known by its bytes, and an answer that never repeats itself is not tried for long', async (t) => {
  const frames = (rest: (i: number) => object): Buffer =>
    Buffer.from(
      Array.from(
        { length: 100 },
        (_, i) => `data: ${JSON.stringify(chunk({ content: `w${i} ` }, {}, rest(i)))}\n\n`,
      ).join(''),
    )
  t.equal(readFast(CHAT, [frames(() => ({}))]).known, 99)
  let asked = 0
  const reader = new ChunkReader('gen-1', () => {})
  const form = reader.formOf.bind(reader)
  reader.formOf = (data, name) => {
    asked++
    return form(data, name)
  }
  new AnswerEvents(reader, () => {}).push(frames((i) => ({ created: i })))
  t.equal(asked, 3)
  asked = 0
  new AnswerEvents(reader, () => {}).push(frames(() => ({ picture: 'x'.repeat(20_000) })))
  t.equal(asked, 0, 'a long event is read once')
})
