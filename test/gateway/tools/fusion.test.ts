import { test } from 'tap'
import type { Catalog, Model } from '../../../src/gateway/catalog/catalog.js'
import { createFusionPlugin } from '../../../src/gateway/plugins/fusion/fusion.js'
import { createFusionTool } from '../../../src/gateway/tools/fusion/fusion.js'
import { choosePanel } from '../../../src/gateway/tools/fusion/panel.js'
import { catalogOf, PRICES, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { asked } from '../../support/tools/plugin-call.js'
import {
  askTool,
  CALLER,
  prepared,
  refusalOf,
  scriptedNested,
  toolRun,
} from '../../support/tools/tool-call.js'

const ANALYSIS = {
  consensus: ['It is deep.'],
  contradictions: [],
  partial_coverage: [],
  unique_insights: [{ model: 'm/a', insight: 'Salt.' }],
  blind_spots: [],
}

const NO_FAULT = () => null
const provider = new ScriptedProvider()

/** Models by quality, price of a token and tier. */
function catalogue(
  models: Readonly<Record<string, readonly [number | null, number, Model['tier']]>>,
): Catalog {
  const entries = Object.entries(models).map(([id, [, prompt]]) => {
    const endpoint = { slug: 'p', prices: { ...PRICES, prompt, completion: prompt } }
    return [id, [endpoint]] as const
  })
  const known = catalogOf(Object.fromEntries(entries), () => provider)
  const withFigures = known.models.map((model): Model => {
    const [quality, , tier] = models[model.id]!
    return { ...model, quality: quality === null ? null : { overall: quality }, tier }
  })
  return { ...known, models: withFigures }
}

const NOTHING = catalogue({ 'm/x': [null, 1, null] })
const tool = createFusionTool(() => NOTHING, NO_FAULT)
const PANEL = { analysis_models: ['m/a', 'm/b'], model: 'm/judge' }

test('a panel answers at once, and a judge compares what it said', async (t) => {
  const { runs, nested } = scriptedNested(({ purpose, request }) =>
    purpose === 'judge'
      ? { text: `\`\`\`json\n${JSON.stringify({ ...ANALYSIS, more: 1 })}\n\`\`\``, charged: 1 }
      : { text: `I am ${request.model}.`, charged: 40 },
  )
  const outcome = await askTool(
    tool,
    { ...PANEL, temperature: 1.5 },
    { prompt: 'How deep?' },
    { nested, budget: 300 },
  )
  t.same(outcome.content, {
    status: 'ok',
    analysis: ANALYSIS,
    responses: [
      { model: 'm/a', content: 'I am m/a.' },
      { model: 'm/b', content: 'I am m/b.' },
    ],
  })
  t.match(outcome, { isError: false, executed: true, charged: 0 })
  t.same(
    runs.map(({ purpose, budget, request }) => [purpose, budget, request.model, request.temperature]),
    [
      ['panel', 100, 'm/a', 1.5],
      ['panel', 100, 'm/b', 1.5],
      ['judge', 220, 'm/judge', 0],
    ],
    'a third each, and the judge what is left',
  )
  t.same(runs[0]!.request.messages, [{ role: 'user', content: 'How deep?' }])
  t.match(runs[2]!.request, {
    response_format: { type: 'json_schema' },
    messages: [{ role: 'system' }, { role: 'user', content: /"question":"How deep\?".*I am m\/b\./ }],
  })
})

test('the panel runs in parallel', async (t) => {
  let running = 0
  let most = 0
  const nested = async () => {
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running--
    return { ok: false, reason: 'internal', message: '', charged: 0, wasAsked: true } as const
  }
  await askTool(tool, { analysis_models: Array(8).fill('m/a') }, { prompt: 'x' }, { nested })
  t.equal(most, 8)
})

test('without a prompt it is asked what the conversation asks', async (t) => {
  const { runs, nested } = scriptedNested(() => ({ text: 'ok' }))
  const request = { model: 'm/outer', messages: [{ role: 'user', content: 'Why?' }] } as const
  await askTool(tool, { ...PANEL, cache_control: { type: 'ephemeral' } }, {}, { nested, request })
  t.same(runs[0]!.request.messages, request.messages)
  t.same(runs[0]!.request.cache_control, { type: 'ephemeral' })
})

test('some of the panel may fail, and the judge may: what there is, is told', async (t) => {
  const { nested } = scriptedNested(({ purpose, request }) =>
    purpose === 'judge'
      ? { text: 'I would rather not.' }
      : request.model === 'm/a'
        ? { text: 'Deep.' }
        : { ok: false, reason: 'provider-failed', message: 'it is down' },
  )
  const { content, isError } = await askTool(tool, PANEL, { prompt: 'x' }, { nested })
  t.same(content, {
    status: 'ok',
    responses: [{ model: 'm/a', content: 'Deep.' }],
    failed_models: [{ model: 'm/b', error: 'it is down' }],
  })
  t.equal(isError, false)
})

test('an analysis that lacks a list, or is none, is left out', async (t) => {
  const { blind_spots: _, ...short } = ANALYSIS
  for (const text of ['', '{}', '[]', '{"consensus":', JSON.stringify(short), 'null']) {
    const { nested } = scriptedNested(({ purpose }) => ({ text: purpose === 'judge' ? text : 'ok' }))
    const { content } = await askTool(tool, PANEL, { prompt: 'x' }, { nested })
    t.notOk('analysis' in (content as object), text)
  }
})

test('a panel that fails as a whole says why in a word', async (t) => {
  for (const [reasons, word] of [
    [['provider-failed', 'provider-timeout'], 'all_panels_failed'],
    [['provider-failed', 'payment-required'], 'insufficient_credits'],
    [['budget', 'rate-limited'], 'insufficient_credits'],
    [['rate-limited', 'provider-failed'], 'rate_limited'],
    [['internal', 'internal'], 'unexpected_error'],
  ] as const) {
    let at = 0
    const { runs, nested } = scriptedNested(() => ({ ok: false, reason: reasons[at++]!, message: 'no' }))
    const { content, isError } = await askTool(tool, PANEL, { prompt: 'x' }, { nested })
    t.match(content, {
      status: 'error',
      failure_reason: word,
      failed_models: [{ model: 'm/a' }, { model: 'm/b' }],
    })
    t.equal(isError, true)
    t.equal(runs.length, 2, 'nobody judges nothing')
  }
})

test('a second call of a request is refused, and asks nobody', async (t) => {
  const { runs, nested } = scriptedNested(() => ({ text: 'ok' }))
  const ready = await prepared(tool, PANEL)
  const call = { id: 'c', function: 'fusion', arguments: { prompt: 'x' } }
  await ready.run(call, toolRun({ nested }))
  const asked = runs.length
  t.match(await ready.run(call, toolRun({ nested })), {
    content: { status: 'error', failure_reason: 'fusion_invocation_capped' },
    executed: false,
  })
  t.equal(runs.length, asked)
})

const RANKED = catalogue({
  'm/best': [0.9, 90, 'max'],
  'm/good': [0.8, 5, 'high'],
  'm/fair': [0.7, 50, 'medium'],
  'm/poor': [0.3, 2, 'low'],
  'm/dull': [0.2, 1, 'low'],
  'm/none': [null, 1, 'low'],
})

test('presets are chosen by the columns of the catalogue', (t) => {
  t.same(choosePanel(RANKED, 'general-high'), { models: ['m/best', 'm/good', 'm/fair'] })
  t.same(choosePanel(RANKED, 'general-budget'), { models: ['m/good', 'm/fair', 'm/best'] })
  t.same(choosePanel(RANKED, 'general-fast'), { models: ['m/fair', 'm/poor', 'm/dull'] })
  t.same(choosePanel(NOTHING, 'general-high'), { missing: 'quality' })
  t.same(choosePanel(catalogue({ 'm/x': [1, 1, null] }), 'general-fast'), { missing: 'tier' })
  t.end()
})

test('without models the best are asked, and without figures the model of the request, several times', async (t) => {
  for (const [known, models] of [
    [RANKED, ['m/best', 'm/good', 'm/fair']],
    [NOTHING, ['m/outer', 'm/outer', 'm/outer']],
  ] as const) {
    const { runs, nested } = scriptedNested(() => ({ text: 'ok' }))
    await askTool(
      createFusionTool(() => known, NO_FAULT),
      {},
      { prompt: 'x' },
      { nested },
    )
    t.same(
      runs.map(({ request }) => request.model),
      [...models, 'm/outer'],
    )
  }
})

test('as a plugin it offers the tool once, with the panel of its preset', async (t) => {
  const plugin = createFusionPlugin(() => RANKED, NO_FAULT)
  const ask = (options: Record<string, unknown>, tools: readonly object[] = []) => {
    const request = { model: 'm/outer', tooling: { tools } } as never
    return plugin.prepare(asked('fusion', options), { caller: CALLER, isSimulated: false, request })
  }
  t.match(ask({ preset: 'general-fast', max_tool_calls: 2 }), {
    tools: [
      { name: 'fusion', parameters: { analysis_models: ['m/fair', 'm/poor', 'm/dull'], max_tool_calls: 2 } },
    ],
  })
  t.match(ask({ analysis_models: ['m/x'], preset: 'general-high' }), {
    tools: [{ parameters: { analysis_models: ['m/x'] } }],
  })
  t.same(ask({}, [{ name: 'fusion' }]), {}, 'the tool is there already')
  t.match(ask({ tools: [{ type: 'service:fusion' }] }), { member: ['tools', 0, 'type'] })
  const bare = createFusionPlugin(() => NOTHING, NO_FAULT)
  const request = { model: 'm/outer' }
  const of = { caller: CALLER, isSimulated: false, request }
  t.match(bare.prepare(asked('fusion', { preset: 'general-high' }), of), {
    refused: /quality/,
    member: ['preset'],
  })
})

test('it may not be beneath itself', async (t) => {
  t.match(await refusalOf(tool, { tools: [{ type: 'service:fusion' }] }), { refused: /is the tool itself/ })
})
