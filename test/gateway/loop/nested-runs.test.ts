import { test } from 'tap'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { NestedAnswer, NestedRun, ToolRun } from '../../../src/gateway/tools/port/tool.js'
import {
  LoopBench,
  type Script,
  type ScriptedTurn,
  said,
  scriptedTool,
  tooling,
} from '../../support/tools/loop-bench.js'

const ask = (content: string, more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'acme/one',
  messages: [{ role: 'user', content }],
  ...more,
})

function nestedRun(run: ToolRun, more: Partial<NestedRun> = {}): NestedRun {
  const { signal } = run
  return { purpose: 'advisor', request: ask('inner'), budget: Number.POSITIVE_INFINITY, signal, ...more }
}

/** A tool that runs models beneath itself, and what they said. */
function asking(...made: readonly ((run: ToolRun) => NestedRun)[]) {
  const answers: NestedAnswer[] = []
  const tool = scriptedTool('advisor', async (_, run) => {
    for (const make of made) answers.push(await run.nested(make(run)))
    return said(answers.map((answer) => (answer.ok ? answer.text : answer.reason)))
  })
  return { tool, answers }
}

/** Answers inner questions in one way, outer ones by turns. */
function byQuestion(outer: readonly ScriptedTurn[], inner: (request: ChatRequest) => ScriptedTurn): Script {
  let at = 0
  return ({ request }) => (request.messages[0]!.content === 'hello' ? outer[at++]! : inner(request))
}

const OUTER: readonly ScriptedTurn[] = [{ calls: [['advisor']] }, { say: 'ok' }]

test('a run beneath a tool is a row of the same generation and a part of its cost', async (t) => {
  const { tool, answers } = asking((run) => nestedRun(run))
  const bench = new LoopBench(
    byQuestion(OUTER, () => ({ say: 'Advice.' })),
    [tool],
  )
  const { root, ear } = await bench.run({ tooling: tooling(['advisor']) })
  t.match(answers, [{ ok: true, text: 'Advice.', model: 'acme/one', finish: 'stop', charged: 20_000 }])
  t.strictSame(
    bench.ledger.rows.map(({ kind, name }) => [kind, name]),
    [
      ['turn', 'turn'],
      ['turn', 'advisor'],
      ['tool', 'advisor'],
      ['turn', 'turn'],
    ],
  )
  t.equal(root.consumption!.cost.total, 60_000)
  t.equal(ear.text, 'ok', 'the caller sees nothing of it')
})

test('a run beneath a tool has a loop where its request has tools, and none a level further down', async (t) => {
  const depths: number[] = []
  const deeper: (ToolRun | null)[] = []
  const inner = scriptedTool('inner', async (_, run) => {
    depths.push(run.depth)
    deeper.push(run)
    const answer = await run.nested(
      nestedRun(run, { purpose: 'deep', request: ask('deep', { tooling: tooling(['inner']) }) }),
    )
    return said(answer.ok ? answer.text : answer.reason)
  })
  const { tool, answers } = asking((run) =>
    nestedRun(run, { request: ask('middle', { tooling: tooling(['inner']) }) }),
  )
  const script = byQuestion(OUTER, ({ messages, tools }) => {
    if (messages[0]!.content === 'deep') return { say: tools === undefined ? 'no tools here' : 'tools' }
    return messages.length === 1 ? { calls: [['inner']] } : { say: String(messages.at(-1)!.content) }
  })
  const bench = new LoopBench(script, [tool, inner])
  await bench.run({ tooling: tooling(['advisor']) })
  t.match(answers, [{ ok: true, text: '"no tools here"' }])
  t.strictSame(depths, [1])
  t.equal(bench.model.calls.length, 5)
})

test('nothing runs beneath the second level', async (t) => {
  const told: string[] = []
  const tool = scriptedTool('advisor', async (_, run) => {
    const answer = await run.nested(
      nestedRun(run, { request: ask('inner', { tooling: tooling(['advisor']) }) }),
    )
    told.push(answer.ok ? answer.text : answer.reason)
    return said('x')
  })
  const script = byQuestion(OUTER, ({ tools }) =>
    tools === undefined ? { say: 'flat' } : { calls: [['advisor']] },
  )
  const bench = new LoopBench(script, [tool])
  await bench.run({ tooling: tooling(['advisor']) })
  t.ok(told.includes('flat'))
  t.ok(bench.model.calls.length < 40)
})

test('the budget of a run beneath is kept: its answer is cut to it, and a question it cannot pay is not asked', async (t) => {
  // A token of the answer costs 2000, of the question 1000; the question has some tokens.
  const { tool, answers } = asking(
    (run) => nestedRun(run, { budget: 40_000 }),
    (run) => nestedRun(run, { budget: 3_000 }),
    (run) => nestedRun(run, { budget: 40_000, request: ask('inner', { max_tokens: 2 }) }),
  )
  const bench = new LoopBench(
    byQuestion(OUTER, () => ({ say: 'Short.' })),
    [tool],
  )
  await bench.run({ tooling: tooling(['advisor']) })
  const asked = bench.model.requests.filter(({ messages }) => messages[0]!.content === 'inner')
  t.equal(asked.length, 2)
  t.ok(asked[0]!.max_completion_tokens! > 0 && asked[0]!.max_completion_tokens! * 2_000 < 40_000)
  t.match(asked[1], { max_tokens: 2 })
  const refused = { ok: false, reason: 'budget', charged: 0, wasAsked: false }
  t.match(answers, [{ ok: true }, refused, { ok: true }])
})

test('what max_cost has left is the most that runs beneath may spend, also several at a time', async (t) => {
  const budgets: number[] = []
  const tool = scriptedTool('advisor', async (_, run) => {
    budgets.push(run.budget)
    const both = await Promise.all([run.nested(nestedRun(run)), run.nested(nestedRun(run))])
    return said(both.map((each) => (each.ok ? 'ran' : each.reason)))
  })
  const bench = new LoopBench(
    byQuestion(OUTER, () => ({ say: 'Short.' })),
    [tool],
  )
  const max_cost_in_dollars = 100_000 / 1e9
  const stopWhen = [{ type: 'max_cost' as const, max_cost_in_dollars }]
  await bench.run({ tooling: tooling(['advisor'], { stopWhen }) })
  t.strictSame(budgets, [80_000], 'the first turn has cost 20,000')
  const result = bench.model.requests.at(-1)!.messages.at(-1)!
  t.equal(result.content, '["ran","budget"]', 'the first one was promised all of it')
})

test('what fails beneath a tool is an answer for the tool', async (t) => {
  const { tool, answers } = asking(
    (run) => nestedRun(run, { request: ask('inner', { model: 'no/such' }) }),
    (run) => nestedRun(run, { request: ask('inner', { tooling: tooling(['nothing']) }) }),
    (run) => nestedRun(run, { signal: AbortSignal.abort() }),
  )
  const bench = new LoopBench(
    byQuestion(OUTER, () => ({ say: 'never' })),
    [tool],
  )
  const { fault } = await bench.run({ tooling: tooling(['advisor']) })
  t.equal(fault, null)
  t.match(answers, [
    { ok: false, reason: 'item-not-found', wasAsked: false },
    { ok: false, reason: 'invalid-input', wasAsked: false },
    { ok: false, wasAsked: false },
  ])
  t.equal(bench.defects.length, 0)
})
