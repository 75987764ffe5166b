/** Routers choose among the models of the catalogue by what the operator has written down of them. */
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { Catalog, Model } from '../../../src/gateway/catalog/catalog.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { Plugin, PluginRun, RouteChoice } from '../../../src/gateway/plugins/port/plugin.js'
import { createAutoRouters } from '../../../src/gateway/plugins/routers/auto.js'
import { createParetoRouter } from '../../../src/gateway/plugins/routers/pareto.js'
import { createSwitchyardRouter } from '../../../src/gateway/plugins/routers/switchyard.js'
import { ModelPins } from '../../../src/gateway/routing/model-pins.js'
import { catalogOf, PRICES, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { chatQuestion, pluginRun, preparedPlugin } from '../../support/tools/plugin-call.js'
import { scriptedNested } from '../../support/tools/tool-call.js'

type Figures = Pick<Model, 'quality' | 'tier'> & {
  readonly dollars: number
  readonly more?: Partial<Model>
  readonly context?: number
  readonly tools?: boolean
}

/** Prices in dollars per million tokens, the same for both sides unless the test says otherwise. */
function catalog(models: Readonly<Record<string, Partial<Figures>>>): Catalog {
  const built = catalogOf(
    Object.fromEntries(
      Object.entries(models).map(([id, { dollars = 1, context, tools }]) => {
        const prices = { ...PRICES, prompt: dollars * 1e9, completion: dollars * 1e9 }
        const supportedParameters = new Set(tools === false ? [] : ['tools'])
        return [id, [{ slug: 'p', prices, supportedParameters, contextLength: context ?? null }]]
      }),
    ),
    () => new ScriptedProvider(),
  )
  for (const model of built.models) {
    const { quality = null, tier = null, more } = models[model.id]!
    Object.assign(model, { quality, tier }, more)
  }
  return built
}

const CATALOG = catalog({
  'a/cheap': { dollars: 0.1, quality: { overall: 0.4, coding: 0.2 }, tier: 'low' },
  'a/middle': { dollars: 1, quality: { overall: 0.7, coding: 0.85 }, tier: 'medium' },
  'b/dear': { dollars: 10, quality: { overall: 0.95, coding: 0.9 }, tier: 'max' },
  'b/unknown': { dollars: 0.01 },
})

function say(content: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { model: 'service/auto', messages: [{ role: 'user', content }], ...more }
}

function routers(of: Catalog, pins = new ModelPins()): ReadonlyMap<string, Plugin> {
  const catalog = () => of
  const judge = () => 'judge/one'
  return new Map(
    [
      ...createAutoRouters({ catalog, pins }),
      createParetoRouter(catalog),
      createSwitchyardRouter({ catalog, pins, judge, random: () => 0.99 }),
    ].map((plugin) => [plugin.id, plugin]),
  )
}

async function route(
  id: string,
  options = {},
  request = say('hello'),
  { of = CATALOG, run, pins }: { of?: Catalog; run?: Partial<PluginRun>; pins?: ModelPins } = {},
): Promise<RouteChoice | Fault> {
  const ready = preparedPlugin(routers(of, pins).get(id)!, request, options)
  const choice = await ready.route!(pluginRun())
  if (choice instanceof Fault || ready.before === undefined) return choice
  const routed = { ...request, model: choice.models[0]! }
  const change = await ready.before(chatQuestion(routed), pluginRun(run))
  if (change instanceof Fault || change.pipeline === undefined)
    return change instanceof Fault ? change : choice
  const { model, models = [] } = change.request
  return { ...choice, models: [model!, ...models], reason: change.pipeline.summary! }
}

async function chosen(...args: Parameters<typeof route>): Promise<string> {
  const choice = await route(...args)
  if (choice instanceof Fault) throw new Error(`${choice.kind}: ${choice.note ?? choice.issues[0]?.note}`)
  return choice.models[0]!
}

async function refused(...args: Parameters<typeof route>): Promise<Fault> {
  const choice = await route(...args)
  if (choice instanceof Fault) return choice
  throw new Error(`chose ${choice.models}`)
}

test('quality and price are weighed as the request asks', async (t) => {
  t.equal(await chosen('auto-router', { cost_quality_tradeoff: 0 }), 'b/dear')
  t.equal(
    await chosen('auto-router', { cost_quality_tradeoff: 10 }),
    'a/cheap',
    'and never one without figures',
  )
  t.equal(await chosen('auto-router'), 'a/cheap', 'seven of ten for price where it does not say')
  t.equal(
    await chosen('auto-router', { cost_tier: 'medium', cost_quality_tradeoff: 10 }),
    'a/middle',
    'a tier wins',
  )
  t.equal(await chosen('auto-router', { cost_tier: 'low' }), 'a/cheap')
})

test('a choice comes with those that may take over, and says why', async (t) => {
  const choice = (await route('auto-router', { cost_tier: 'max' })) as RouteChoice
  t.strictSame(choice.models, ['b/dear', 'a/middle', 'a/cheap'])
  t.equal(choice.strategy, 'auto')
  t.match(choice.reason, /auto-router chose b\/dear of 3/)
})

test('patterns allow models, and those that exclude win', async (t) => {
  const best = { cost_quality_tradeoff: 0 }
  t.equal(await chosen('auto-router', { ...best, allowed_models: ['a/*'] }), 'a/middle')
  t.equal(await chosen('auto-router', { ...best, allowed_models: ['*/dear', 'a/cheap'] }), 'b/dear')
  t.equal(await chosen('auto-router', { ...best, excluded_models: ['*d*r'] }), 'a/middle')
  t.equal(
    await chosen('auto-router', { ...best, allowed_models: ['*'], excluded_models: ['b/*', 'a/m*'] }),
    'a/cheap',
  )
  t.equal(
    (await refused('auto-router', { allowed_models: ['a/*'], excluded_models: ['a/*'] })).kind,
    'item-not-found',
  )
  t.equal(
    await chosen('jev-router', { models: ['b/*'], allowed_models: ['a/cheap'] }),
    'a/cheap',
    'both lists count',
  )
  t.equal(await chosen('jev-router', { models: ['b/*'] }), 'b/dear')
})

test('patterns that would take too long are refused', async (t) => {
  const of = catalog(
    Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`m/${at}`, { quality: { overall: 1 } }])),
  )
  const starry = Array.from({ length: 1_024 }, (_, at) => `${'a*'.repeat(28)}${at}*`)
  const fault = await refused('auto-router', { allowed_models: starry }, say('x'), { of })
  t.match(fault.issues[0], { loc: ['body', 'plugins', 0], note: /too many stars/ })
  const plain = Array.from({ length: 1_024 }, (_, at) => `m/${at}*`)
  t.equal(await chosen('auto-router', { allowed_models: plain }, say('x'), { of }), 'm/0')
})

test('the task of a prompt counts where a router looks at it', async (t) => {
  const of = catalog({
    'm/coder': { quality: { overall: 0.3, coding: 0.9 } },
    'm/writer': { quality: { overall: 0.8, coding: 0.2 } },
  })
  const code = say('Why does this fail?\n```ts\nlet x = 1\n```')
  t.equal(await chosen('auto-beta-router', {}, code, { of }), 'm/coder')
  t.equal(await chosen('auto-beta-router', {}, say('A poem about rain'), { of }), 'm/writer')
  t.equal(await chosen('auto-router', {}, code, { of }), 'm/writer')
})

test('only models that can answer are chosen', async (t) => {
  const quality = { overall: 0.9 }
  const of = catalog({
    'm/deaf': { quality },
    'm/seeing': { quality: { overall: 0.1 }, more: { inputModalities: ['text', 'image'] } },
    'm/speaker': { quality, more: { outputModalities: ['speech'] } },
    'm/short': { quality, context: 10 },
    'm/toolless': { quality: { overall: 1 }, tools: false },
    'm/*': { quality: { overall: 1 } },
  })
  const picture = say('', {
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }],
  })
  const best = { cost_quality_tradeoff: 0 }
  t.equal(await chosen('auto-router', best, picture, { of }), 'm/seeing')
  const tools = [{ type: 'function', function: { name: 'f' } }] as const
  t.equal(await chosen('auto-router', best, say('x'.repeat(100), { tools }), { of }), 'm/deaf')
  t.equal(await chosen('auto-router', best, say('hello'), { of }), 'm/toolless')
})

test('simulated models stand back for real ones, unless they are allowed by name', async (t) => {
  const of = catalog({ 'sim/one': { quality: { overall: 1 } }, 'a/real': { quality: { overall: 0.1 } } })
  const [simulated] = of.models[0]!.endpoints
  Object.assign(simulated!, { provider: { ...simulated!.provider, kind: 'simulated' } })
  t.equal(await chosen('auto-router', { cost_quality_tradeoff: 0 }, say('x'), { of }), 'a/real')
  t.equal(await chosen('auto-router', { allowed_models: ['sim/*'] }, say('x'), { of }), 'sim/one')
})

test('without figures the refusal names the column', async (t) => {
  const bare = catalog({ 'a/bare': {} })
  for (const id of ['auto-router', 'auto-beta-router', 'jev-router', 'pareto-router', 'switchyard-router']) {
    const fault = await refused(id, { algorithm: 'auto' }, say('x'), { of: bare })
    t.equal(fault.kind, 'invalid-input', id)
    t.strictSame(fault.issues[0]!.loc, ['body', 'plugins', 0], id)
    t.match(fault.issues[0]!.note, id === 'pareto-router' ? /quality\.coding/ : /models\.<id>\.quality/, id)
  }
  const untiered = catalog({ 'a/untiered': { quality: { overall: 1 } } })
  const fault = await refused('auto-router', { cost_tier: 'low' }, say('x'), { of: untiered })
  t.match(fault.issues[0]!.note, /models\.<id>\.tier/)
})

test('the pareto router takes the cheapest that codes well enough', async (t) => {
  t.equal(await chosen('pareto-router', { min_coding_score: 0.8 }), 'a/middle')
  t.equal(await chosen('pareto-router', { min_coding_score: 0.1 }), 'a/cheap')
  t.equal(await chosen('pareto-router'), 'b/dear', 'the strongest where it does not say')
  t.equal(await chosen('pareto-router', { max_price: 2 }), 'a/middle')
  t.equal((await refused('pareto-router', { max_price: 0.01 })).kind, 'item-not-found')
  t.match((await refused('pareto-router', { min_coding_score: 0.95 })).note, /the best has 0\.9/)
  const of = catalog({
    'm/beaten': { dollars: 2, quality: { coding: 0.5 } },
    'm/better': { dollars: 1, quality: { coding: 0.6 } },
  })
  const { models } = (await route('pareto-router', {}, say('x'), { of })) as RouteChoice
  t.strictSame(models, ['m/better'], 'what something cheaper equals is not chosen')
})

test('the source of the price decides what is cheap', async (t) => {
  const of = catalog({ 'm/in': { quality: { coding: 0.5 } }, 'm/out': { quality: { coding: 0.5 } } })
  const prices = { 'm/in': [1, 9], 'm/out': [2, 2] } as Readonly<Record<string, readonly [number, number]>>
  for (const { id, endpoints } of of.models) {
    const [prompt, completion] = prices[id]!
    Object.assign(endpoints[0]!, {
      prices: { ...PRICES, prompt: prompt * 1e9, completion: completion * 1e9 },
    })
  }
  t.equal(await chosen('pareto-router', { price_source: 'prompt' }, say('x'), { of }), 'm/in')
  t.equal(await chosen('pareto-router', { price_source: 'weighted_avg' }, say('x'), { of }), 'm/out')
})

test('a pinned model stays, by an echoed answer or by the session', async (t) => {
  const best = { cost_quality_tradeoff: 0, pin_model: true }
  const echoed = say('', {
    messages: [
      { role: 'assistant', content: 'hi', model: 'a/cheap' },
      { role: 'user', content: 'go on' },
    ],
  })
  t.equal(await chosen('auto-router', best, echoed), 'a/cheap')
  t.equal(
    await chosen('auto-router', { ...best, excluded_models: ['a/cheap'] }, echoed),
    'b/dear',
    'if it may',
  )
  t.equal(
    await chosen('auto-router', { cost_quality_tradeoff: 0 }, echoed),
    'b/dear',
    'where it is asked for',
  )

  const told: unknown[] = []
  const pins = new ModelPins((pin) => told.push(pin))
  const inSession = say('one', { session_id: 's' })
  t.equal(await chosen('auto-router', best, inSession, { pins }), 'b/dear')
  const cheap = { cost_quality_tradeoff: 10, pin_model: true }
  t.equal(await chosen('auto-router', cheap, inSession, { pins }), 'b/dear')
  t.equal(await chosen('auto-router', cheap, say('one', { session_id: 'other' }), { pins }), 'a/cheap')
  t.strictSame(told, [
    { session: 'org-1 s', model: 'b/dear' },
    { session: 'org-1 other', model: 'a/cheap' },
  ])
  const asking = preparedPlugin(
    routers(CATALOG, pins).get('auto-router')!,
    say('x', { session_id: 'new' }),
    best,
  )
  await asking.route!(pluginRun())
  t.equal(told.length, 2, 'nothing is pinned for whoever only asks where it would go')
  const peer = new ModelPins()
  peer.applyPeerPin({ session: 'org-1 s', model: 'a/middle' })
  t.equal(await chosen('auto-router', best, inSession, { pins: peer }), 'a/middle')
})

// ── Switchyard ──────────────────────────────────────────────────────────────

const YARD = { models: ['b/dear', 'a/cheap'] }

function judge(score: number) {
  return scriptedNested(() => ({ text: `{"scores": [${score}]}` }))
}

function withResults(results: readonly string[], more: Partial<ChatRequest> = {}): ChatRequest {
  const tools = results.map((content) => ({ role: 'tool' as const, tool_call_id: 'c', content }))
  return { ...YARD, messages: [{ role: 'user', content: 'fix it' }, ...tools], ...more }
}

test('switchyard passes on, draws lots, or looks at what tools said', async (t) => {
  const yard = 'switchyard-router'
  t.equal(await chosen(yard, { algorithm: 'passthrough' }, say('x', YARD)), 'b/dear')
  t.equal(await chosen(yard, { algorithm: 'random' }, say('x', YARD)), 'a/cheap', 'the lot is 0.99')
  const well = withResults(['ok', 'ok', 'ok'])
  const badly = withResults(['error: no', 'ok'])
  for (const algorithm of ['auto', 'stage', 'composite']) {
    t.equal(await chosen(yard, { algorithm }, well), 'a/cheap', algorithm)
    t.equal(await chosen(yard, { algorithm }, badly), 'b/dear', algorithm)
  }
  t.equal(
    await chosen(yard, { algorithm: 'auto' }, withResults(['ok'])),
    'b/dear',
    'one result decides nothing',
  )
})

test('switchyard asks the judge where nothing else decides', async (t) => {
  const yard = 'switchyard-router'
  const easy = judge(0.2)
  for (const algorithm of ['capability', 'stage', 'composite', undefined]) {
    t.equal(await chosen(yard, { algorithm }, say('x', YARD), { run: easy }), 'a/cheap')
    t.equal(await chosen(yard, { algorithm }, say('x', YARD), { run: judge(0.5) }), 'b/dear')
  }
  t.equal(easy.runs[0]!.request.model, 'judge/one')
  const broken = scriptedNested(() => ({ text: 'I cannot say' }))
  const choice = (await route(yard, {}, say('x', YARD), { run: broken })) as RouteChoice
  t.equal(choice.models[0], 'b/dear', 'a judge that fails leaves the capable one')
  t.match(choice.reason, /no figures/)
  const asked = judge(0)
  t.equal(
    await chosen(yard, { algorithm: 'capability' }, withResults(['error', 'error']), { run: asked }),
    'a/cheap',
  )
  t.equal(asked.runs.length, 1, 'capability asks whatever tools said')
})

test('a composite choice lasts as long as the turn of the user', async (t) => {
  const pins = new ModelPins()
  const yard = 'switchyard-router'
  const options = { algorithm: 'composite' }
  const session = { ...YARD, session_id: 's' }
  t.equal(await chosen(yard, options, say('x', session), { pins, run: judge(0) }), 'a/cheap')
  const later = withResults(['ok'], session)
  t.equal(await chosen(yard, options, later, { pins, run: judge(1) }), 'a/cheap', 'nobody is asked')
  t.equal(await chosen(yard, options, say('harder', session), { pins, run: judge(1) }), 'b/dear')
})

test('without a list switchyard takes the cheapest and the best of the catalogue', async (t) => {
  const yard = 'switchyard-router'
  t.equal(await chosen(yard, { algorithm: 'capability' }, say('x'), { run: judge(1) }), 'b/dear')
  t.equal(await chosen(yard, { algorithm: 'capability' }, say('x'), { run: judge(0) }), 'a/cheap')
})

test('an algorithm that needs a judge is refused where there is none', async (t) => {
  const plugin = createSwitchyardRouter({
    catalog: () => CATALOG,
    pins: new ModelPins(),
    judge: () => null,
    random: () => 0,
  })
  const fault = await preparedPlugin(plugin, say('x', YARD)).route!(pluginRun())
  t.ok(fault instanceof Fault)
  t.match((fault as Fault).issues[0]!.note, /plugins\.switchyard-router\.model/)
})

test('an organization with very many sessions forgets its own', async (t) => {
  const pins = new ModelPins()
  pins.pin({ session: 'small 1', model: 'a' })
  for (let at = 0; at < 30_000; at++) pins.pin({ session: `large ${at}`, model: 'b' })
  t.equal(pins.find('small 1'), 'a')
  t.equal(pins.find('large 28999'), null)
  t.equal(pins.find('large 29000'), 'b')
  for (let at = 0; at < 20_000; at++) pins.pin({ session: `${at} 1`, model: 'c' })
  t.equal(pins.find('small 1'), null, 'there is an end for all together')
  t.equal(pins.find('0 1'), 'c')
})
