/** Blocks of the messages format are open: what a caller adds to them is checked by nobody, and read by many. */
import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { ANONYMOUS } from '../../../src/base/principal.js'
import {
  type ContentLeaf,
  contentLeafText,
  forEachContentLeaf,
} from '../../../src/gateway/formats/content-parts.js'
import type { ContentBlock, MessagesRequest } from '../../../src/gateway/formats/messages.js'
import type { CountTexts } from '../../../src/gateway/metering/format.js'
import { countInputTokens, sampleBlocks } from '../../../src/gateway/metering/messages-format.js'
import { reservationFor } from '../../../src/gateway/pricing/reservation.js'
import { buildMessagesBody } from '../../../src/gateway/providers/anthropic/provider.js'
import type { ProviderCall } from '../../../src/gateway/providers/port/provider.js'
import { toChatRequest } from '../../../src/gateway/translation/messages-over-chat/request.js'
import { Translation } from '../../../src/gateway/translation/translation.js'
import { SimulatedProvider } from '../../../src/simulator/simulated-provider.js'
import { TimerWheel } from '../../../src/simulator/timer-wheel.js'
import { decoded } from '../../features/messages/messages-bodies.js'
import { endpointOf, FAKE_FILES, FakeClock } from '../../simulator/calls.js'
import { PRICES } from '../../support/providers/scripted-provider.js'

const ENDPOINT = endpointOf({}, { prices: PRICES })

/** One token per character: every sum can be checked by eye. */
const byLength: CountTexts = async (texts) => ({
  counts: texts.map(({ length }) => length),
  areGuessed: false,
})

const MEMBERS = [
  ...['type', 'text', 'thinking', 'name', 'input', 'content', 'source', 'data', 'url', 'file_id', 'id'],
  ...['citations', 'enabled', 'cache_control', 'title', 'context', 'media_type', 'is_error', 'tool_use_id'],
  ...['signature', 'toString', 'valueOf', 'toJSON', 'length', 'constructor', 'x'],
] as const
const KINDS = ['text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'search_result', 'x']

/** Any JSON, in which members that some reader knows are frequent. */
const json: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.constantFrom(null, true, 0, -1, 1e300, '', 'word', ...KINDS),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...MEMBERS), tie('value'), { maxKeys: 5 }),
  ),
})).value

const open = fc.dictionary(fc.constantFrom(...MEMBERS), json, { maxKeys: 6 })
/** A block that may stand in a request, under whatever else its caller has written into it. */
const valid: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom(
    { type: 'text', text: 'word' },
    { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
    { type: 'image', source: { type: 'file', file_id: 'file_1' } },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'word' } },
    { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'word' }] } },
    { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } },
    { type: 'search_result', title: 'a', source: 'b', content: [{ type: 'text', text: 'word' }] },
    { type: 'compaction', content: null },
    { type: 'container_upload', file_id: 'file_1' },
    { type: 'mcp_tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'word' }] },
    { type: 'hologram' },
  ),
  fc.record({
    type: fc.constantFrom('web_fetch_tool_result', 'web_search_tool_result'),
    tool_use_id: fc.constant('a'),
    content: open,
  }),
  fc.record({
    type: fc.constant('web_search_tool_result'),
    tool_use_id: fc.constant('a'),
    content: fc.array(open, { maxLength: 3 }),
  }),
)

/** What a caller adds to a block, and to its source. */
const block = fc.tuple(valid, open, open).map(([one, more, inSource]) => {
  const { source } = one as { readonly source?: unknown }
  return {
    ...more,
    ...one,
    ...(typeof source === 'object' && source !== null ? { source: { ...inSource, ...source } } : {}),
  }
})

const simulated = new SimulatedProvider({
  seed: 1,
  allowRequestFaults: false,
  wheel: new TimerWheel(new FakeClock()),
  files: FAKE_FILES,
})

function callOf(request: MessagesRequest): ProviderCall<MessagesRequest> {
  return {
    request,
    endpoint: ENDPOINT,
    generationId: 'gen-1',
    caller: ANONYMOUS,
    endUser: 'user-1',
    serviceTier: undefined,
    simulate: '',
    deadlineAt: Number.POSITIVE_INFINITY,
    repeatable: true,
    droppedFields: [],
  }
}

/** A refusal is an answer; any other exception is a defect. */
function refusedAtMost(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
  }
}

const deaf = { onEvent: () => {}, onFlush: () => {}, onEnd: () => {}, onFailure: () => {} }

async function readByAll(request: MessagesRequest): Promise<void> {
  await countInputTokens(request, byLength)
  reservationFor('messages', request, [ENDPOINT])
  buildMessagesBody(callOf(request), true)
  refusedAtMost(() => toChatRequest(callOf(request), new Translation([])))
  await simulated.countMessages!(callOf(request))
  simulated.messages!.stream(callOf(request), deaf).cancel()
}

/** Null for a request that is refused. */
function requestOf(body: object): MessagesRequest | null {
  try {
    return decoded(body)
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

test('whatever a caller writes into the open blocks of a request that is taken, every reader takes it', async (t) => {
  let taken = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(block, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('user', 'assistant'),
      async (content, role) => {
        const request = requestOf(
          JSON.parse(JSON.stringify({ model: 'sim/x', max_tokens: 8, messages: [{ role, content }] })),
        )
        fc.pre(request !== null)
        taken++
        await readByAll(request!)
      },
    ),
    { numRuns: 1000 },
  )
  t.ok(taken >= 1000)
})

test('the walk over content throws for no JSON at all, and what it finds is text', async () => {
  fc.assert(
    fc.property(json, (content) => {
      forEachContentLeaf(content, (leaf) => {
        if (typeof contentLeafText(leaf) !== 'string') throw new Error('no text')
      })
      const blocks = Array.isArray(content) ? content.filter((one) => typeof one === 'object' && one) : []
      sampleBlocks(blocks as ContentBlock[])
    }),
    { numRuns: 3000 },
  )
})

function leavesOf(content: unknown): ContentLeaf[] {
  const leaves: ContentLeaf[] = []
  forEachContentLeaf(content, (leaf) => leaves.push(leaf))
  return leaves
}

test('what a part holds stands for it, in its place, and only where it has no words of its own', async (t) => {
  const image = { type: 'image' }
  t.strictSame(leavesOf('word'), ['word'])
  t.strictSame(
    leavesOf([
      { text: 'a', content: 'not read' },
      { content: [{ text: 'b' }, null, 7, 'c', [{ text: 'd' }], { content: 'e' }] },
      image,
    ]).map((leaf) => (leaf === image ? 'image' : contentLeafText(leaf))),
    ['a', 'b', 'c', 'd', 'e', 'image'],
  )
  t.equal(contentLeafText({ type: 'tool_use', name: 'f', input: { a: 1 } }), 'f{"a":1}')
  t.equal(contentLeafText({ type: 'tool_use', name: { toString: null } }), '{}')
})

test('no depth and no number of parts is too much for the walk', async (t) => {
  let deep: unknown = [{ text: 'bottom' }]
  for (let i = 0; i < 200_000; i++) deep = [{ content: deep }]
  t.strictSame(leavesOf(deep).map(contentLeafText), ['bottom'])
  const many = leavesOf([Array(2_000_000).fill('x')]).length
  t.ok(many > 400_000 && many <= 500_000, 'it stops at a bound')
})

test('what is nested deeper than blocks in a result counts for the reservation as well', async (t) => {
  const tokens = (content: unknown): number =>
    reservationFor('messages', { messages: [{ role: 'user', content }] } as unknown as MessagesRequest, [
      ENDPOINT,
    ]).promptTokens
  let nested: unknown = [{ type: 'text', text: 'x'.repeat(3000) }]
  const flat = tokens(nested)
  for (let i = 0; i < 10; i++) nested = [{ type: 'tool_result', content: nested }]
  t.equal(tokens(nested), flat)
})
