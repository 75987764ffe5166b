/** A conversation that is too long for its model loses its middle, and nothing that belongs together is torn apart. */
import fc from 'fast-check'
import { test } from 'tap'
import type { Catalog } from '../../../src/gateway/catalog/catalog.js'
import type { ChatMessage, ChatRequest, RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import {
  contextCompression,
  isCompressedUnasked,
  withCompression,
} from '../../../src/gateway/plugins/context-compression/context-compression.js'
import { cutIntoUnits } from '../../../src/gateway/plugins/context-compression/units.js'
import type { Question, QuestionChange } from '../../../src/gateway/plugins/port/plugin.js'
import { pluginRun, preparedPlugin } from '../../support/tools/plugin-call.js'

async function compress(request: RoutedRequest, contextLength: number): Promise<QuestionChange> {
  const { before } = preparedPlugin(contextCompression, request)
  return (await before!({ request } as Question, pluginRun({ contextLength }))) as QuestionChange
}

function user(content: string): ChatMessage {
  return { role: 'user', content }
}

function contents({ request }: QuestionChange): readonly unknown[] {
  return (request as ChatRequest).messages.map(({ content }) => content)
}

test('what fits is left as it is', async (t) => {
  const request = { model: 'm', messages: [user('a'.repeat(400))] }
  const change = await compress(request, 1_000)
  t.equal(change.request, request)
  t.equal(change.pipeline, undefined)
})

test('the middle goes first, and the ends stay', async (t) => {
  const long = 'x'.repeat(400)
  const messages: ChatMessage[] = [
    { role: 'system', content: `rules ${long}` },
    user(`first ${long}`),
    ...['1', '2', '3', '4', '5'].map((n): ChatMessage => ({ role: 'assistant', content: `${n} ${long}` })),
    user(`latest ${long}`),
  ]
  const change = await compress({ model: 'm', messages, max_tokens: 10 } as ChatRequest, 680)
  const kept = contents(change).map((content) => String(content).split(' ')[0])
  t.strictSame(kept, ['rules', 'first', '1', '5', 'latest'])
  t.equal(change.pipeline!.type, 'context_compression')
  t.match(change.pipeline!.summary, /^3 messages left out and 0 texts shortened/)
})

test('texts that have to stay lose their middle', async (t) => {
  const text = `begin ${'word '.repeat(4_000)}end`
  const change = await compress({ model: 'm', messages: [user(text)], max_tokens: 100 } as ChatRequest, 1_000)
  const [content] = contents(change) as [string]
  t.ok(content.startsWith('begin ') && content.endsWith('end') && content.includes('[…]'))
  t.ok(content.length / 4 <= 900)
  t.match(change.pipeline!.data, { shortened: 1, dropped: 0 })
})

test('what cannot fit is left as it is, and told', async (t) => {
  const request = { model: 'm', messages: [{ role: 'system', content: 'x'.repeat(8_000) }, user('hi')] }
  const change = await compress(request as ChatRequest, 1_000)
  t.equal(change.request, request)
  t.match(change.pipeline!.summary, /too long for the model/)
})

test('a model of whose context nothing is known changes nothing', async (t) => {
  const request = { model: 'm', messages: [user('x'.repeat(80_000))] }
  for (const unknown of [0, Number.POSITIVE_INFINITY])
    t.equal((await compress(request as ChatRequest, unknown)).request, request)
})

test('texts within blocks of the messages format are shortened as well', async (t) => {
  const long = 'y'.repeat(20_000)
  const request = {
    model: 'm',
    max_tokens: 100,
    system: 'be brief',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: long }] }],
      },
    ],
  }
  const change = await compress(request as unknown as RoutedRequest, 1_000)
  const text = JSON.stringify((change.request as ChatRequest).messages)
  t.ok(text.length < 4_000)
  t.match(text, /"tool_use_id":"t1"/)
})

test('small models have it unasked, for prompts that might not fit', async (t) => {
  const model = (contextLength: number | null, smallestContext = contextLength ?? 0) =>
    ({ smallestContext, model: () => ({ contextLength, endpoints: [] }) }) as unknown as Catalog
  const nobody = { smallestContext: 8_192, model: () => null } as unknown as Catalog
  const asking = (characters: number) => ({ model: 'm', messages: [user('x'.repeat(characters))] })
  t.equal(isCompressedUnasked(model(8_192), asking(30_000)), true)
  t.equal(isCompressedUnasked(model(8_192), asking(2_000)), false, 'fits whatever a token is')
  t.equal(isCompressedUnasked(model(8_193), asking(90_000)), false)
  t.equal(isCompressedUnasked(model(null), asking(90_000)), false)
  t.equal(isCompressedUnasked(model(8_193, 4_096), asking(90_000)), false, 'another model is small')
  t.equal(isCompressedUnasked(nobody, asking(90_000)), false)
  t.equal(isCompressedUnasked(model(8_192), { messages: [] } as never), false, 'a list of models')
  const tooling = { tools: [], plugins: [], disabled: [], stopWhen: null, maxToolCalls: 30 }
  t.match(withCompression(tooling).plugins, [{ id: 'context-compression' }])
  const off = { ...tooling, disabled: ['context-compression'] }
  t.equal(withCompression(off), off)
  const named = withCompression(tooling)
  t.equal(withCompression(named), named)
})

test('any number of messages and results is looked at in bounded time', async (t) => {
  const many = Array.from({ length: 300_000 }, () => user('a word'))
  const change = await compress({ model: 'm', messages: many, max_tokens: 10 } as ChatRequest, 8_000)
  t.ok(contents(change).length < 2_000)
  const results = Array.from({ length: 200_000 }, () => ({
    type: 'tool_result',
    tool_use_id: 't',
    content: 'x',
  }))
  const messages = [
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
    { role: 'user', content: results },
  ]
  t.strictSame(cutIntoUnits(messages), [{ from: 0, to: 1 }])
})

// ── Properties ──────────────────────────────────────────────────────────────

/** Turns of a conversation: words, or calls with their results. */
const turn = fc.oneof(
  fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), size: fc.nat(800) }),
  fc.record({ calls: fc.integer({ min: 1, max: 3 }), size: fc.nat(800), between: fc.boolean() }),
)

function conversation(turns: readonly unknown[]): ChatMessage[] {
  let id = 0
  return (turns as readonly { role?: string; size: number; calls?: number; between?: boolean }[]).flatMap(
    ({ role, size, calls = 0, between = false }): ChatMessage[] => {
      const content = 'z'.repeat(size)
      if (calls === 0) return [{ role, content } as ChatMessage]
      const ids = Array.from({ length: calls }, () => `call_${id++}`)
      const results = ids.map((each): ChatMessage => ({ role: 'tool', tool_call_id: each, content }))
      const made = ids.map((each) => ({
        id: each,
        type: 'function' as const,
        function: { name: 'f', arguments: '{}' },
      }))
      const [first, ...others] = results
      const reminder: ChatMessage[] = between ? [{ role: 'user', content: 'reminder' }] : []
      return [{ role: 'assistant', content: null, tool_calls: made }, first!, ...reminder, ...others]
    },
  )
}

function ids(messages: readonly ChatMessage[]): { readonly called: string[]; readonly answered: string[] } {
  const called = messages.flatMap((each) =>
    'tool_calls' in each ? (each.tool_calls ?? []).map((c) => c.id) : [],
  )
  const answered = messages.flatMap((each) => (each.role === 'tool' ? [each.tool_call_id] : []))
  return { called, answered }
}

test('it never exceeds the context, and never parts a call from its result', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(turn, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 60, max: 3_000 }),
      async (turns, length) => {
        const messages = conversation(turns)
        const request = { model: 'm', messages, max_tokens: 20 }
        const { request: changed, pipeline } = await compress(request, length)
        const after = (changed as ChatRequest).messages
        const { called, answered } = ids(after)
        if (called.join() !== answered.join()) return false
        if (after === messages) return pipeline === undefined || /too long/.test(pipeline.summary ?? '')
        const size = after.reduce((sum, each) => {
          const calls = 'tool_calls' in each ? JSON.stringify(each.tool_calls) : ''
          return sum + 4 + Math.ceil((String(each.content ?? '').length + calls.length) / 4)
        }, 0)
        const system = (of: readonly ChatMessage[]): string =>
          JSON.stringify(of.filter(({ role }) => role === 'system'))
        return size + 20 <= length && system(after) === system(messages)
      },
    ),
    { numRuns: 500 },
  )
})

test('units cover a conversation without gaps', async () => {
  await fc.assert(
    fc.property(fc.array(turn, { maxLength: 20 }), (turns) => {
      const messages = conversation(turns)
      let next = 0
      for (const { from, to } of cutIntoUnits(messages)) {
        if (from !== next || to < from) return false
        next = to + 1
      }
      return next === messages.length
    }),
  )
})
