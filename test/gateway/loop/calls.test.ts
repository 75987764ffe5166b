import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { ServerTool } from '../../../src/gateway/tools/port/tool.js'
import { LoopBench, type Script, said, scriptedTool, tooling } from '../../support/tools/loop-bench.js'

const results = (request: ChatRequest | undefined): string[] =>
  (request?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []))

async function run(
  script: Script,
  tools: Parameters<typeof tooling>[0],
  made: ConstructorParameters<typeof LoopBench>[1],
  request: Partial<ChatRequest> = {},
  options: ConstructorParameters<typeof LoopBench>[2] = {},
) {
  const bench = new LoopBench(script, made, options)
  const done = await bench.run({ tooling: tooling(tools), ...request })
  return { bench, ...done }
}

test('at most four calls run at a time, and results stand in the order of the calls', async (t) => {
  let running = 0
  let most = 0
  const waiting: (() => void)[] = []
  const slow = scriptedTool('slow', async ({ at }) => {
    most = Math.max(most, ++running)
    // The last one that began is let go first.
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 4 || at === 5) for (const go of waiting.splice(0).reverse()) go()
    })
    running--
    return said({ at })
  })
  const calls = Array.from({ length: 6 }, (_, at) => ['slow', { at }] as const)
  const { bench } = await run([{ calls }, { say: 'ok' }], ['slow'], [slow])
  t.equal(most, 4)
  t.strictSame(
    results(bench.model.requests[1]),
    [0, 1, 2, 3, 4, 5].map((at) => JSON.stringify({ at })),
  )
})

test('a call that goes wrong is a result for the model', async (t) => {
  const broken = scriptedTool('broken', () => {
    throw new Error('a defect')
  })
  const calls = [['broken'], ['nobody', {}], ['look', '{"a":'], ['look', '[1]'], ['look', '']] as const
  const { bench, fault, root } = await run(
    [{ calls }, { say: 'ok' }],
    ['broken', 'look'],
    [broken, scriptedTool('look')],
  )
  t.equal(fault, null)
  t.match(results(bench.model.requests[1]), [
    /"error":"the tool has failed"/,
    /"error":"there is no such function"/,
    /"error":"the arguments are no JSON object"/,
    /"error":"the arguments are no JSON object"/,
    /"echo":\{\}/,
  ])
  t.match([root.loop!.requested, root.loop!.executed], [5, 1])
  t.equal(bench.defects.length, 1, 'the log hears of the defect')
})

test('a defect of one tool is its result alone: the calls beside it run, and every permit comes back', async (t) => {
  const circular: Record<string, unknown> = {}
  circular.itself = circular
  const fails = (what: string) => (): never => {
    throw new Error(`a defect in ${what}`)
  }
  const made = [
    scriptedTool('dear', undefined, { fee: fails('fee') }),
    scriptedTool('endless', () => said(circular, { charged: 5 }), { feeNanos: 5 }),
    scriptedTool('look', () => said('seen', { charged: 7 }), { feeNanos: 7, close: fails('close') }),
  ]
  const names = ['dear', 'endless', 'look'] as const
  const { bench, fault, root } = await run(
    [{ calls: names.map((name) => [name] as const) }, { say: 'ok' }],
    names,
    made,
  )
  t.equal(fault, null)
  t.match(results(bench.model.requests[1]), [/the tool has failed/, /the tool has failed/, /"seen"/])
  t.equal(bench.ledger.held, 0)
  t.match([root.loop!.requested, root.loop!.executed], [3, 1])
  t.equal(root.consumption!.cost.total, 40_007)
  t.strictSame(bench.ledger.closed, [{ kind: 'completed' }])
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(bench.defects.length, 3, 'the log hears of each')
})

test('a defect beside the loop fails the call once, and ends what is under way', async (t) => {
  const broken = {
    id: 'broken',
    prepare: () => ({
      after: () => {
        throw new Error('a defect')
      },
    }),
  }
  let closed = 0
  const look = scriptedTool('look', undefined, { close: () => void closed++ })
  const { bench, fault, ear } = await run(
    [{ say: 'ok' }],
    ['look'],
    [look],
    { tooling: { ...tooling(['look']), plugins: [{ id: 'broken', options: {}, place: [] }] } },
    { plugins: [broken] },
  )
  t.equal(fault?.kind, 'internal')
  t.equal(ear.ends, 1)
  t.equal(closed, 1)
  t.match(bench.ledger.closed, [{ kind: 'failed' }])
  t.equal(bench.ledger.held, 0)
})

test('the third call with equal arguments is refused, in whatever order they are written', async (t) => {
  let ran = 0
  const look = scriptedTool('look', () => said(++ran))
  const calls = [
    ['look', '{"a":1,"b":[2]}'],
    ['look', '{"b":[2],"a":1}'],
    ['look', '{ "a":1, "b":[2] }'],
    ['look', { a: 2 }],
  ] as const
  const { bench } = await run([{ calls }, { say: 'ok' }], ['look'], [look])
  t.match(results(bench.model.requests[1]), ['1', '2', /same arguments before/, '3'])
  t.equal(ran, 3)
  t.equal(bench.ledger.spendings.length, 3, 'what is refused has no row')
})

test('three turns of nothing but refused calls end the loop', async (t) => {
  const stuck: Script = ({ request }) =>
    request.tool_choice === 'none' ? { say: 'I give up.' } : { calls: [['look', { same: true }]] }
  const { bench, ear } = await run(stuck, ['look'], [scriptedTool('look')])
  t.equal(bench.model.calls.length, 6, 'two that ran, three refused, the last turn')
  t.equal(ear.text, 'I give up.')
})

test('the third search in a row that finds nothing says so', async (t) => {
  const found = [0, 0, 1, 0, 0, 0]
  let at = 0
  const search = scriptedTool('web_search', () =>
    said(
      { results: [] },
      { units: { web_searches: 1 }, citations: found[at++] === 1 ? [{ url: 'http://a', title: 'a' }] : [] },
    ),
  )
  const calls = found.map((_, query) => ['web_search', { query }] as const)
  const script: Script = [...calls.map((call) => ({ calls: [call] })), { say: 'ok' }]
  const { bench } = await run(script, ['web_search'], [search])
  const told = results(bench.model.requests.at(-1))
  t.strictSame(
    told.map((text) => /in a row found nothing/.test(text)),
    [false, false, false, false, false, true],
  )
})

test('parallel_tool_calls: false runs one call a turn', async (t) => {
  const calls = [
    ['look', { at: 1 }],
    ['look', { at: 2 }],
  ] as const
  const { bench, root } = await run([{ calls }, { say: 'ok' }], ['look'], [scriptedTool('look')], {
    parallel_tool_calls: false,
  })
  t.match(results(bench.model.requests[1]), [/"at":1/, /only one call a turn/])
  t.equal(root.loop!.executed, 1)
})

test('a forced choice holds for the first turn only', async (t) => {
  const tools = [{ type: 'function' as const, function: { name: 'mine' } }]
  const chosen = async (tool_choice: NonNullable<ChatRequest['tool_choice']>) => {
    const { bench } = await run([{ calls: [['look']] }, { say: 'ok' }], ['look'], [scriptedTool('look')], {
      tools,
      tool_choice,
    })
    return bench.model.requests.map((each) => each.tool_choice)
  }
  const look = { type: 'function', function: { name: 'look' } }
  t.strictSame(await chosen('required'), ['required', 'auto'])
  t.strictSame(await chosen({ type: 'service:look' }), [look, 'auto'])
  t.strictSame(await chosen({ type: 'function', function: { name: 'mine' } }), [
    { type: 'function', function: { name: 'mine' } },
    'auto',
  ])
  t.strictSame(await chosen('auto'), ['auto', 'auto'])
})

test('a fee that cannot be set aside refuses the call; a key that is gone ends the loop', async (t) => {
  const look = scriptedTool('look', () => said('seen', { charged: 5 }), { feeNanos: 5 })
  const poor = await run(
    [{ calls: [['look']] }, { say: 'ok' }],
    ['look'],
    [look],
    {},
    { reserve: () => new Fault('payment-required') },
  )
  t.match(results(poor.bench.model.requests[1]), [/fee cannot be paid/])
  t.equal(poor.root.loop!.executed, 0)
  const gone = await run(
    [{ say: 'Wait.', calls: [['look']] }],
    ['look'],
    [look],
    {},
    { reserve: () => new Fault('unauthenticated') },
  )
  t.equal(gone.fault?.kind, 'unauthenticated')
  t.match(gone.bench.ledger.closed, [{ kind: 'failed' }])
})

test('a key that is disabled meanwhile ends the loop before the next turn, with what ran settled', async (t) => {
  let isGone = false
  const look = scriptedTool(
    'look',
    () => {
      isGone = true
      return said('seen', { charged: 7 })
    },
    { feeNanos: 7 },
  )
  const recheck = () => (isGone ? new Fault('unauthenticated') : (undefined as never))
  const { fault, bench } = await run([{ calls: [['look']] }], ['look'], [look], {}, { recheck })
  t.equal(fault?.kind, 'unauthenticated')
  t.equal(bench.model.calls.length, 1)
  t.strictSame(
    bench.ledger.rows.map(({ kind, charged }) => [kind, charged]),
    [
      ['turn', 20_000],
      ['tool', 7],
    ],
  )
  t.equal(bench.ledger.held, 0)
})

test('no more is charged than the fee that was set aside, and the sum of the rows is the cost', async (t) => {
  const look = scriptedTool('look', () => said('seen', { charged: 900 }), { feeNanos: 500 })
  const { bench, root } = await run([{ calls: [['look']] }, { say: 'ok' }], ['look'], [look])
  t.equal(root.consumption!.cost.total, 40_500)
  t.equal(bench.ledger.charged, 40_500)
  const { id } = root
  t.strictSame(
    bench.ledger.rows.map((row) => row.id),
    [`${id}.1`, `${id}.2`, `${id}.3`],
  )
})

test('a result that is too long for any conversation is not shown', async (t) => {
  const look = scriptedTool('look', () => said('x'.repeat(3_000_000)))
  const { bench } = await run([{ calls: [['look']] }, { say: 'ok' }], ['look'], [look])
  t.match(results(bench.model.requests[1]), [/too long to be shown/])
})

test('of pictures that are too large for one answer the first are shown', async (t) => {
  const paint = scriptedTool('paint', () => said('painted', { images: ['x'.repeat(12_000_000)] }))
  const calls = [1, 2, 3].map((at) => ['paint', { at }] as const)
  const { bench, ear } = await run([{ calls }, { say: 'ok' }], ['paint'], [paint])
  t.match(results(bench.model.requests[1]), ['"painted"', '"painted"', /too long to be shown/])
  const shown = ear.events.flatMap((event) => (event.type === 'delta' ? (event.delta.images ?? []) : []))
  t.equal(shown.length, 2)
})

test('tools are readied side by side; where one cannot be had the others are closed', async (t) => {
  let begun = 0
  const closed: string[] = []
  let goOn: () => void = () => {}
  const bothBegan = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const waits = (name: string, isRefused: boolean): ServerTool => ({
    name,
    prepare: async (asked, request) => {
      if (++begun === 2) goOn()
      await bothBegan
      if (isRefused) return { refused: 'is not there' }
      return scriptedTool(name, undefined, { close: () => void closed.push(name) }).prepare(asked, request)
    },
  })
  const bench = new LoopBench([], [waits('one', true), waits('two', false)])
  const refusal = await bench.prepare({ tooling: tooling(['one', 'two']) }).catch((fault: Fault) => fault)
  t.match(refusal, { kind: 'invalid-input' })
  t.strictSame(closed, ['two'])
})

test('a request names a bounded number of tools', async (t) => {
  const names = Array.from({ length: 65 }, (_, at) => `look${at}`)
  const bench = new LoopBench(
    [{ say: 'ok' }],
    names.map((name) => scriptedTool(name)),
  )
  const refusal = await bench.prepare({ tooling: tooling(names) }).catch((fault: Fault) => fault)
  t.match(refusal, { issues: [{ note: 'is one too many: at most 64 may be named' }] })
  const { fault } = await bench.run({ tooling: tooling(names.slice(1)) })
  t.equal(fault, null)
})

test('progress is told as tools begin and end, of how many at most', async (t) => {
  const broken = scriptedTool('broken', () => said({ error: 'no' }, { isError: true, charged: 3 }), {
    feeNanos: 3,
  })
  const calls = [['broken', { a: 1 }, 'c1']] as const
  const { ear } = await run([{ calls }, { say: 'ok' }], ['broken'], [broken], {
    tooling: tooling(['broken'], { maxToolCalls: 4 }),
  })
  t.strictSame(ear.progress, [
    { state: 'started', name: 'broken', callId: 'c1', step: 1, most: 4, arguments: '{"a":1}' },
    { state: 'failed', name: 'broken', callId: 'c1', step: 1, most: 4, cost: 3 },
  ])
})

test('a function of the caller keeps its name; the tool’s gets another one', async (t) => {
  const tools = [{ type: 'function' as const, function: { name: 'look' } }]
  const { bench } = await run(
    [{ calls: [['service_look', { a: 1 }]] }, { say: 'ok' }],
    ['look'],
    [scriptedTool('look')],
    { tools },
  )
  t.match(bench.model.requests[0]!.tools, [
    { function: { name: 'look' } },
    { function: { name: 'service_look' } },
  ])
  t.match(results(bench.model.requests[1]), [/"a":1/])
})
