import { test } from 'tap'
import type { StopCondition } from '../../../src/gateway/formats/tooling.js'
import { StopConditions } from '../../../src/gateway/loop/stop-conditions.js'
import { usage } from '../../support/providers/scripted-provider.js'
import { LoopBench, type ScriptedTurn, said, scriptedTool, tooling } from '../../support/tools/loop-bench.js'

/** Calls `look` for ever, each time for something else, `width` at a time; without tools it answers. */
function forever(width = 1, more: Partial<ScriptedTurn> = {}) {
  let asked = 0
  return ({
    request,
  }: {
    readonly request: { readonly tools?: unknown; readonly tool_choice?: unknown }
  }): ScriptedTurn => {
    if (request.tools === undefined || request.tool_choice === 'none') return { say: 'That is all.' }
    return { ...more, calls: Array.from({ length: width }, () => ['look', { for: ++asked }] as const) }
  }
}

interface Row {
  readonly name: string
  readonly stopWhen: readonly StopCondition[]
  /** Calls at a time. */
  readonly width?: number
  readonly finish?: string
  /** Nano-dollars of a call. */
  readonly fee?: number
  readonly executed: number
  /** With the last one. */
  readonly turns: number
}

const STEPS = (step_count: number): StopCondition => ({ type: 'step_count_is', step_count })
const CALLED = (tool_name: string): StopCondition => ({ type: 'has_tool_call', tool_name })
/** A turn has 15 tokens. */
const TOKENS = (max_tokens: number): StopCondition => ({ type: 'max_tokens_used', max_tokens })
/** A turn costs 20,000 nano-dollars. */
const COST = (nanos: number): StopCondition => ({ type: 'max_cost', max_cost_in_dollars: nanos / 1e9 })
const FINISH = (reason: string): StopCondition => ({ type: 'finish_reason_is', reason })

const ALONE: readonly Row[] = [
  { name: 'steps', stopWhen: [STEPS(3)], executed: 3, turns: 4 },
  { name: 'one step', stopWhen: [STEPS(1)], executed: 1, turns: 2 },
  { name: 'steps that a turn goes beyond', stopWhen: [STEPS(3)], width: 2, executed: 4, turns: 3 },
  { name: 'steps that a turn meets exactly', stopWhen: [STEPS(4)], width: 2, executed: 4, turns: 3 },
  { name: 'a call of a tool', stopWhen: [CALLED('look')], width: 3, executed: 3, turns: 2 },
  { name: 'a call of a tool with a prefix', stopWhen: [CALLED('service:look')], executed: 1, turns: 2 },
  {
    name: 'a call of a tool in the other spelling',
    stopWhen: [CALLED('openrouter:look')],
    executed: 1,
    turns: 2,
  },
  { name: 'tokens beyond', stopWhen: [TOKENS(29)], executed: 2, turns: 3 },
  { name: 'tokens that are met and not passed', stopWhen: [TOKENS(30)], executed: 3, turns: 4 },
  { name: 'cost of turns', stopWhen: [COST(39_999)], executed: 2, turns: 3 },
  { name: 'cost that is met and not passed', stopWhen: [COST(40_000)], executed: 3, turns: 4 },
  { name: 'cost of fees', stopWhen: [COST(100_000)], fee: 50_000, executed: 2, turns: 3 },
  { name: 'cost of pending fees', stopWhen: [COST(100_000)], fee: 50_000, width: 3, executed: 3, turns: 2 },
  { name: 'a finish reason', stopWhen: [FINISH('tool_calls')], width: 2, executed: 2, turns: 2 },
]

test('a condition takes every spelling of a tool that a request may have', async (t) => {
  for (const [name, spelled] of [
    ['web_search', 'web_search_preview_2025_03_11'],
    ['web_search', 'web_search_20260209'],
    ['bash', 'code_execution_20250825'],
    ['memory', 'memory_20250818'],
    ['text_editor', 'text_editor_20250728'],
    ['tool_search', 'tool_search_tool_bm25'],
  ] as const) {
    const stop = new StopConditions({ stopWhen: [CALLED(spelled)], maxToolCalls: 30 }, { cost: 0, tokens: 0 })
    stop.recordCall(['datetime'], true)
    t.notOk(stop.fire(), spelled)
    stop.recordCall([name], true)
    t.ok(stop.fire(), spelled)
  }
})

async function runRow({ stopWhen, width = 1, finish, fee = 0 }: Row) {
  const tool = scriptedTool('look', () => said('seen', { charged: fee }), { feeNanos: fee })
  const turn = { usage: usage(10, 5), ...(finish !== undefined && { finish }) }
  const bench = new LoopBench(forever(width, turn), [tool])
  const { root, ear, fault } = await bench.run({ tooling: tooling(['look'], { stopWhen }) })
  return { bench, root, ear, fault }
}

for (const row of ALONE) {
  test(`a loop ends by ${row.name}: pending calls are run, then comes one last turn with tools off`, async (t) => {
    const { bench, root, ear, fault } = await runRow(row)
    t.equal(fault, null)
    t.equal(root.loop!.executed, row.executed)
    t.equal(bench.model.calls.length, row.turns)
    const last = bench.model.requests.at(-1)!
    t.equal(last.tool_choice, 'none')
    t.equal(last.tools!.length, 1, 'the tools stay in place')
    t.strictSame(ear.finishes, ['stop'])
    t.equal(ear.text, 'That is all.')
    const results = last.messages.filter(({ role }) => role === 'tool')
    t.equal(results.length, row.executed, 'the last turn sees every result')
  })
}

test('of any two conditions the one that fires first ends the loop', async (t) => {
  const kinds = ALONE.filter(({ width, fee }) => width === undefined && fee === undefined)
  for (const one of kinds) {
    for (const other of kinds) {
      const both = { name: '', stopWhen: [...one.stopWhen, ...other.stopWhen], executed: 0, turns: 0 }
      const { root, bench } = await runRow(both)
      const executed = Math.min(one.executed, other.executed)
      t.equal(root.loop!.executed, executed, `${one.name} and ${other.name}`)
      t.equal(bench.model.calls.length, executed + 1)
    }
  }
})

test('max_tool_calls counts where no condition is named, and conditions replace it', async (t) => {
  const run = async (more: object) => {
    const bench = new LoopBench(forever(), [scriptedTool('look')])
    return (await bench.run({ tooling: tooling(['look'], more) })).root.loop!.executed
  }
  t.equal(await run({ maxToolCalls: 2 }), 2)
  t.equal(await run({}), 30)
  t.equal(await run({ maxToolCalls: 2, stopWhen: [STEPS(5)] }), 5)
  t.equal(await run({ stopWhen: [FINISH('never')] }), 100, 'the ceiling of the operator')
})

test('the ceiling is never passed: calls beyond it are refused, and a last turn is made', async (t) => {
  const bench = new LoopBench(forever(3), [scriptedTool('look')], { mostCalls: 4 })
  const { root, ear } = await bench.run({ tooling: tooling(['look']) })
  t.equal(root.loop!.executed, 4)
  t.equal(root.loop!.requested, 6)
  const results = bench.model.requests.at(-1)!.messages.filter(({ role }) => role === 'tool')
  t.match(
    results.slice(4).map(({ content }) => content),
    [/no further/, /no further/],
  )
  t.equal(ear.text, 'That is all.')
})

test('a loop that ends by itself has no last turn', async (t) => {
  const bench = new LoopBench([{ calls: [['look']] }, { say: 'Done.' }], [scriptedTool('look')])
  const { root } = await bench.run({ tooling: tooling(['look'], { stopWhen: [FINISH('stop')] }) })
  t.equal(bench.model.calls.length, 2)
  t.equal(root.loop!.executed, 1)
})

test('a provider that calls although it was told not to is asked once more without tools', async (t) => {
  const stubborn = (
    { request }: { readonly request: { readonly tools?: unknown } },
    turn: number,
  ): ScriptedTurn => (request.tools === undefined ? { say: 'At last.' } : { calls: [['look', { turn }]] })
  const bench = new LoopBench(stubborn, [scriptedTool('look')])
  const { ear, root } = await bench.run({ tooling: tooling(['look'], { maxToolCalls: 1 }) })
  t.strictSame(
    bench.model.requests.map((each) => each.tool_choice),
    [undefined, 'none', undefined],
  )
  t.equal(root.loop!.executed, 1)
  t.equal(ear.text, 'At last.')
  t.strictSame(ear.finishes, ['stop'])
  t.notOk(ear.events.some((event) => event.type === 'delta' && event.delta.tool_calls !== undefined))
})

test('a condition takes the name of one of the caller’s functions', async (t) => {
  const tools = [{ type: 'function' as const, function: { name: 'mine' } }]
  const bench = new LoopBench([{ calls: [['look'], ['mine']] }], [scriptedTool('look')])
  const { ear } = await bench.run({ tools, tooling: tooling(['look'], { stopWhen: [CALLED('mine')] }) })
  t.strictSame(ear.finishes, ['tool_calls'])
  t.equal(bench.model.calls.length, 1, 'the caller’s calls are the caller’s to answer')
})
