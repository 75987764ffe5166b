import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { Plugin, PreparedPlugin } from '../../../src/gateway/plugins/port/plugin.js'
import { failure } from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'
import {
  LoopBench,
  type LoopBenchOptions,
  type Script,
  said,
  scriptedTool,
  tooling,
} from '../../support/tools/loop-bench.js'
import { requested } from '../../support/tools/tool-call.js'

const plugin = (id: string, prepared: PreparedPlugin): Plugin => ({ id, prepare: () => prepared })

async function run(
  plugins: readonly Plugin[],
  script: Script = [{ say: 'The answer.' }],
  mode: 'stream' | 'whole' = 'stream',
  options: LoopBenchOptions = {},
  request: Partial<ChatRequest> = {},
) {
  const bench = new LoopBench(script, [scriptedTool('look')], { plugins, ...options })
  const asked = plugins.map(({ id }, at) => ({ id, options: {}, place: ['plugins', at] }))
  const done = await bench.run({ tooling: tooling([], { plugins: asked }), ...request }, mode)
  return { bench, ...done }
}

test('a plugin changes the question, adds to the answer, and is told in the pipeline', async (t) => {
  const entry = { type: 'plugin' as const, name: 'web', summary: 'one search' }
  const web = plugin('web', {
    before: async (question) => {
      t.equal(question.latestText, 'hello')
      const citations = [{ url: 'http://a.example', title: 'A' }]
      return { request: question.withContext('Quoted.'), citations, pipeline: entry }
    },
  })
  const { bench, answer, root } = await run([web], undefined, 'whole')
  t.strictSame(bench.model.requests[0]!.messages, [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Quoted.' },
        { type: 'text', text: 'hello' },
      ],
    },
  ])
  t.match(answer!.choices[0]!.message.annotations, [
    {
      type: 'url_citation',
      url_citation: { url: 'http://a.example', title: 'A', start_index: 0, end_index: 'The answer.'.length },
    },
  ])
  t.strictSame(root.loop!.pipeline, [entry])
})

test('an answer that is held and mended keeps the calls that it hands over', async (t) => {
  const mends = plugin('mends', { holdsAnswer: true, after: async () => ({ text: 'Mended.' }) })
  const tools = [{ type: 'function' as const, function: { name: 'mine' } }]
  const plugins = [{ id: 'mends', options: {}, place: [] }]
  const request = { tools, tooling: tooling([], { plugins }) }
  const { ear } = await run([mends], [{ say: 'Broken.', calls: [['mine', { a: 1 }]] }], 'stream', {}, request)
  t.equal(ear.text, 'Mended.')
  const calls = ear.events.flatMap((event) => (event.type === 'delta' ? (event.delta.tool_calls ?? []) : []))
  t.match(calls, [{ index: 0, function: { name: 'mine', arguments: '{"a":1}' } }])
  t.equal(calls.length, 1)
  t.strictSame(ear.finishes, ['tool_calls'])
})

test('a plugin can end the call before anything is asked', async (t) => {
  const moderation = plugin('moderation', { before: async () => new Fault('forbidden', { note: 'no' }) })
  const { fault, bench } = await run([moderation])
  t.equal(fault?.kind, 'forbidden')
  t.equal(bench.model.calls.length, 0)
  t.match(bench.ledger.closed, [{ kind: 'failed' }])
})

test('a router chooses the models before the plan', async (t) => {
  const router = plugin('auto-router', {
    route: () => ({ models: ['acme/one'], strategy: 'auto', reason: 'the only one' }),
  })
  const { bench, root } = await run([router], undefined, 'stream', {}, { model: 'service/auto' })
  t.equal(bench.model.requests[0]!.model, 'acme/one')
  t.equal(root.loop!.strategy, 'auto')
  t.strictSame(root.loop!.pipeline, [{ type: 'plugin', name: 'auto-router', summary: 'the only one' }])
})

test('a plugin mends a whole answer, and one that holds it a streamed one', async (t) => {
  const mend = { after: async ({ text }: { readonly text: string }) => ({ text: text.toUpperCase() }) }
  const whole = await run([plugin('a', mend)], undefined, 'whole')
  t.equal(whole.answer!.choices[0]!.message.content, 'THE ANSWER.')
  const streamed = await run([plugin('a', mend)])
  t.equal(streamed.ear.text, 'The answer.', 'what was shown cannot be taken back')
  const held = await run([plugin('a', { ...mend, holdsAnswer: true })])
  t.equal(held.ear.text, 'THE ANSWER.')
  t.strictSame(held.ear.finishes, ['stop'])
})

test('a plugin adds a last piece to a stream', async (t) => {
  const close = plugin('a', { after: async () => ({ append: '}' }) })
  const { ear } = await run([close], [{ say: '{"a":1' }])
  t.equal(ear.text, '{"a":1}')
  t.equal(ear.events.at(-1)!.type, 'finish')
})

test('an answer that a plugin refuses is not shown where it was held', async (t) => {
  const judge = plugin('a', { after: async () => new Fault('forbidden'), holdsAnswer: true })
  const { ear, fault } = await run([judge])
  t.equal(fault?.kind, 'forbidden')
  t.equal(ear.text, '')
})

const HELD = plugin('a', { after: async () => ({}), holdsAnswer: true })
const LOOKING = { tooling: tooling(['look'], { plugins: [{ id: 'a', options: {}, place: ['plugins', 0] }] }) }

test('what had to be judged is not shown where a later turn fails', async (t) => {
  const script = [
    { say: 'Unjudged.', calls: [['look']] as const },
    { failure: failure('provider-failed', 'refused', 500) },
  ]
  for (const mode of ['whole', 'stream'] as const) {
    const { fault, answer, ear } = await run([HELD], script, mode, {}, LOOKING)
    t.equal(fault?.kind, 'provider-failed', mode)
    t.equal(answer, null)
    t.equal(ear.text, '')
  }
})

test('nor what a model writes to a tool, while its answer is held', async (t) => {
  const script = [{ calls: [['look', { secret: 1 }]] as const }, { say: 'ok' }]
  const { ear } = await run([HELD], script, 'stream', {}, LOOKING)
  t.ok(ear.progress.length > 0)
  t.notMatch(JSON.stringify(ear.progress), /secret/)
  const shown = await run([plugin('a', {})], script, 'stream', {}, LOOKING)
  t.match(JSON.stringify(shown.ear.progress), /secret/)
})

test('calls of a held answer are handed over with the text that was mended, and not with another answer', async (t) => {
  const own = { tools: [{ type: 'function' as const, function: { name: 'mine' } }] }
  const words: string[] = []
  const restating = (isAnew: boolean) =>
    plugin('a', {
      holdsAnswer: true,
      after: async (answer) => {
        words.push(answer.words)
        return { text: 'Mended.', isAnew }
      },
    })
  for (const isAnew of [false, true])
    for (const mode of ['whole', 'stream'] as const) {
      const script = [{ say: 'Said.', calls: [['mine', { a: 1 }]] as const }]
      const { ear, answer } = await run([restating(isAnew)], script, mode, {}, own)
      const deltas = ear.events.flatMap((event) => (event.type === 'delta' ? [event.delta] : []))
      const [choice] = answer?.choices ?? []
      const calls = choice?.message.tool_calls ?? deltas.flatMap(({ tool_calls }) => tool_calls ?? [])
      t.strictSame(
        calls.map(({ function: { name } }) => name),
        isAnew ? [] : ['mine'],
      )
      t.equal(choice?.message.content ?? ear.text, 'Mended.')
      t.equal(choice?.finishReason ?? ear.finishes[0], isAnew ? 'stop' : 'tool_calls')
    }
  t.equal(words[0], 'Said.\nmine({"a":1})')
})

test('a plugin that waits ends with the time of the call', async (t) => {
  const clock = new FakeClock()
  const waits = plugin('a', {
    before: (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(new Fault('unavailable')))
        clock.advance(1_000)
      }),
  })
  const { fault } = await run([waits], [], 'stream', { clock, deadlineMs: 1_000 })
  t.equal(fault?.kind, 'provider-timeout')
})

test('models beneath a plugin keep the rules that the request has for providers', async (t) => {
  const asks = plugin('a', {
    before: async ({ request }, run) => {
      const inner = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'judge' }] }
      await run.nested({ purpose: 'judge', request: inner, budget: 1e9, signal: run.signal })
      return { request }
    },
  })
  const provider = { ignore: ['nobody'], order: ['first'] }
  const { bench } = await run([asks], [{ say: '1' }, { say: '2' }], 'whole', {}, { provider })
  t.strictSame(bench.model.requests[0]!.provider, { ignore: ['nobody'] })
})

test('a plugin has an answer given once more, as a row of its own', async (t) => {
  const judge = plugin('a', {
    holdsAnswer: true,
    after: async (answer) => {
      const again = await answer.retry(answer.text, 'Politely.')
      return again instanceof Fault ? again : { text: again, isAnew: true }
    },
  })
  const { ear, bench } = await run([judge], [{ say: 'Rude.' }, { say: 'Polite.' }])
  t.equal(ear.text, 'Polite.')
  t.strictSame(
    bench.model.requests[1]!.messages.map(({ role }) => role),
    ['user', 'assistant', 'user'],
  )
  t.strictSame(
    bench.ledger.rows.map(({ name }) => name),
    ['turn', 'retry'],
  )
})

test('a plugin charges, which is a row; where limits refuse it is told so', async (t) => {
  const told: boolean[] = []
  const web = plugin('web', {
    before: async ({ request }, { charge }) => {
      told.push(await charge({ name: 'web', charged: 5 }))
      return { request }
    },
  })
  const paid = await run([web])
  t.strictSame(
    paid.bench.ledger.rows.map(({ kind, charged }) => [kind, charged]),
    [
      ['plugin', 5],
      ['turn', 20_000],
    ],
  )
  await run([web], undefined, 'stream', { reserve: () => new Fault('payment-required') })
  t.strictSame(told, [true, false])
})

test('a plugin adds tools, but none that the request names itself', async (t) => {
  let asked = 0
  const look = scriptedTool('look', () => said(++asked))
  const adds = plugin('a', { tools: [requested('look')] })
  const bench = new LoopBench([{ calls: [['look']] }, { say: 'ok' }], [look], { plugins: [adds] })
  const plugins = [{ id: 'a', options: {}, place: ['plugins', 0] }]
  const { root } = await bench.run({ tooling: tooling(['look'], { plugins }) })
  t.equal(root.loop!.executed, 1)
  t.equal(bench.model.requests[0]!.tools!.length, 1)
})

test('what nobody runs is a refusal that names the member', async (t) => {
  const bench = new LoopBench([], [scriptedTool('look')])
  const refusal = async (more: Parameters<typeof tooling>[1], names: readonly string[] = []) => {
    try {
      await bench.prepare({ tooling: tooling(names, more) })
      return null
    } catch (fault) {
      const [issue] = (fault as Fault).issues
      return `${issue!.loc.join('.')}: ${issue!.note}`
    }
  }
  t.equal(await refusal({}, ['nothing']), 'body.tools.0.type: is not supported by this gateway')
  const plugins = [{ id: 'nothing', options: {}, place: ['plugins', 3] }]
  t.equal(await refusal({ plugins }), 'body.plugins.3.id: is not supported by this gateway')
})

test('what is cited stands where the answer names its address, and as a whole where it does not', async (t) => {
  const citations = [
    { url: 'http://a.example', title: 'A' },
    { url: 'http://b.example', title: 'B' },
    { url: 'http://a.example', title: 'A again' },
  ]
  const web = plugin('web', { before: async ({ request }) => ({ request, citations }) })
  const { answer } = await run([web], [{ say: 'See http://b.example for more.' }], 'whole')
  const places = answer!.choices[0]!.message.annotations!.map(({ url_citation: cited }) => {
    const { url, start_index, end_index } = cited as Record<string, unknown>
    return [url, start_index, end_index]
  })
  t.strictSame(places, [
    ['http://a.example', 0, 30],
    ['http://b.example', 4, 20],
  ])
})
