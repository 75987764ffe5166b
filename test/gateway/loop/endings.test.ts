import { test } from 'tap'
import type { Principal } from '../../../src/base/principal.js'
import type { ToolRun } from '../../../src/gateway/tools/port/tool.js'
import { catalogOf, failure, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'
import {
  CALLER,
  LoopBench,
  LoopEar,
  ScriptedModel,
  said,
  scriptedTool,
  tooling,
} from '../../support/tools/loop-bench.js'

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Waits until something holds; a test that waits for ever is ended by the runner. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turnOfLoop()
}

const LOOK = scriptedTool('look', () => said('seen'))
const ASKED = { tooling: tooling(['look']) }
const DOWN = failure('provider-failed', 'refused', 500)
const BROKEN = failure('provider-failed', 'maybe-processed', 200)

// ── The caller leaves (contract/tools 1.7) ─────────────────────────────────────

/** A tool that ends when it is told to, and says how. */
function patientTool(clock: FakeClock, ms: number) {
  const runs: ToolRun[] = []
  const tool = scriptedTool(
    'look',
    (_, run) => {
      runs.push(run)
      return new Promise((resolve) => {
        run.signal.addEventListener('abort', () => {
          clock.runAfter(ms, () => resolve(said({ error: 'stopped' }, { isError: true, charged: 4 })))
        })
      })
    },
    { feeNanos: 9 },
  )
  return { tool, runs }
}

test('the caller leaves while a turn is under way: it ends, and its row is settled', async (t) => {
  const bench = new LoopBench([{ hangs: true }], [LOOK])
  const loop = await bench.prepare(ASKED)
  const ear = new LoopEar()
  const handle = loop.run('stream', ear)
  await until(() => bench.model.calls.length === 1)
  handle.cancel()
  await until(() => bench.ledger.closed.length === 1)
  t.strictSame(bench.model.last.told, ['cancel'])
  t.strictSame(bench.ledger.closed, [{ kind: 'aborted' }])
  t.match([bench.ledger.held, bench.ledger.rows.length, ear.ends], [0, 1, 0])
})

test('the caller leaves while its key is being read again: no turn is begun', async (t) => {
  let answerKey: (() => void) | null = null
  const recheck = () =>
    new Promise<Principal>((resolve) => {
      answerKey = () => resolve(CALLER)
    })
  const bench = new LoopBench([], [LOOK], { recheck })
  const handle = (await bench.prepare(ASKED)).run('stream', new LoopEar())
  await until(() => answerKey !== null)
  handle.cancel()
  answerKey!()
  await until(() => bench.ledger.closed.length === 1)
  t.strictSame([bench.model.calls.length, bench.ledger.held], [0, 0])
})

test('the caller leaves while a tool runs: it is cancelled, and what it took is settled', async (t) => {
  const clock = new FakeClock()
  const { tool, runs } = patientTool(clock, 400)
  const bench = new LoopBench([{ say: 'Wait.', calls: [['look']] }], [tool], { clock })
  const loop = await bench.prepare(ASKED)
  const ear = new LoopEar()
  const handle = loop.run('stream', ear)
  await until(() => runs.length === 1)
  handle.cancel()
  t.ok(runs[0]!.signal.aborted, 'in the same turn of the event loop')
  clock.advance(400)
  await until(() => bench.ledger.closed.length === 1)
  t.strictSame(
    bench.ledger.rows.map(({ charged }) => charged),
    [20_000, 4],
  )
  t.match([bench.ledger.held, bench.model.calls.length, ear.ends], [0, 1, 0])
})

test('a tool that does not end when it is told to is let go after a second, and pays what was set aside', async (t) => {
  const clock = new FakeClock()
  const { tool, runs } = patientTool(clock, 5_000)
  const bench = new LoopBench([{ calls: [['look']] }], [tool], { clock })
  const loop = await bench.prepare(ASKED)
  const handle = loop.run('whole', new LoopEar())
  await until(() => runs.length === 1)
  handle.cancel()
  clock.advance(999)
  await turnOfLoop()
  t.equal(bench.ledger.closed.length, 0)
  clock.advance(1)
  await until(() => bench.ledger.closed.length === 1)
  t.match([bench.ledger.held, bench.ledger.spendings], [0, [{ executed: true, charged: 9 }]])
  t.equal(bench.ledger.charged, 20_009, 'its backend may have been asked')
})

test('what runs beneath a tool that takes too long ends with it, whatever signal it was given', async (t) => {
  const clock = new FakeClock()
  let counted = (): void => {}
  const counting = new Promise<void>((resolve) => {
    counted = resolve
  })
  const tool = scriptedTool(
    'look',
    (_, run) => {
      const request = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'inner' }] }
      const { signal } = new AbortController()
      void run.nested({ purpose: 'advisor', request, budget: Number.POSITIVE_INFINITY, signal })
      return new Promise(() => {})
    },
    { feeNanos: 9 },
  )
  const bench = new LoopBench([{ calls: [['look']] }, { say: 'Some', hangs: true }, { say: 'ok' }], [tool], {
    clock,
    counting,
  })
  const loop = await bench.prepare(ASKED)
  const ear = new LoopEar()
  loop.run('whole', ear)
  await until(() => bench.model.calls.length === 2)
  await turnOfLoop()
  clock.advance(31_000)
  for (let round = 0; round < 10; round++) await turnOfLoop()
  t.equal(bench.model.calls.length, 2, 'what it came to is known before the loop goes on')
  counted()
  const { fault } = await ear.over
  t.equal(fault, null)
  t.strictSame(
    bench.ledger.rows.map(({ kind, name }) => `${kind} ${name}`),
    ['turn turn', 'turn advisor', 'tool look', 'turn turn'],
  )
  t.equal(loop.root.consumption!.cost.total, bench.ledger.charged)
})

test('the caller leaves before anything has begun', async (t) => {
  const bench = new LoopBench([{ say: 'never' }], [LOOK])
  const loop = await bench.prepare(ASKED)
  const ear = new LoopEar()
  loop.run('stream', ear).cancel()
  await until(() => bench.ledger.closed.length === 1)
  t.match([bench.model.calls.length, bench.ledger.held, ear.ends], [0, 0, 0])
})

test('tools are closed once, whatever came of the request', async (t) => {
  for (const script of [
    [{ say: 'ok' }],
    [{ failure: DOWN }],
    [{ calls: [['look']] as const }, { failure: DOWN }],
  ]) {
    let closed = 0
    const tool = scriptedTool('look', () => said('seen'), { close: () => void closed++ })
    await new LoopBench(script, [tool]).run(ASKED)
    await turnOfLoop()
    t.equal(closed, 1)
  }
})

// ── Time ────────────────────────────────────────────────────────────────────

test('a tool has its wall clock, and the model is told that it was too slow', async (t) => {
  const clock = new FakeClock()
  const { tool, runs } = patientTool(clock, 0)
  const bench = new LoopBench([{ calls: [['look']] }, { say: 'ok' }], [tool], { clock })
  const loop = await bench.prepare(ASKED)
  const ear = new LoopEar()
  loop.run('stream', ear)
  await until(() => runs.length === 1)
  clock.advance(29_999)
  t.notOk(runs[0]!.signal.aborted)
  clock.advance(1)
  t.ok(runs[0]!.signal.aborted)
  clock.advance(1)
  const { fault } = await ear.over
  t.equal(fault, null)
  t.match(bench.model.requests[1]!.messages.at(-1), { role: 'tool', content: /stopped/ })
})

test('the deadline of the call holds over turns and tools', async (t) => {
  const clock = new FakeClock()
  const { tool, runs } = patientTool(clock, 0)
  const bench = new LoopBench([{ calls: [['look']] }], [tool], { clock, deadlineMs: 10_000 })
  const loop = await bench.prepare(ASKED)
  const ear = new LoopEar()
  loop.run('stream', ear)
  await until(() => runs.length === 1)
  clock.advance(10_001)
  await turnOfLoop()
  t.ok(runs[0]!.signal.aborted)
  clock.advance(1)
  const { fault } = await ear.over
  t.equal(fault?.kind, 'provider-timeout')
  t.equal(bench.model.calls.length, 1, 'no further turn is begun')
})

// ── A later turn fails (contract/tools 1.6) ────────────────────────────────────

test('a later turn that fails is told with its own fault where no text was there', async (t) => {
  for (const mode of ['stream', 'whole'] as const) {
    const bench = new LoopBench([{ calls: [['look']] }, { failure: DOWN }], [LOOK])
    const { fault, answer } = await bench.run(ASKED, mode)
    t.equal(fault?.kind, 'provider-failed')
    t.equal(answer, null)
    t.match(bench.ledger.closed, [{ kind: 'failed' }])
  }
})

test('with text a whole answer ends with the reason error and what was run', async (t) => {
  const bench = new LoopBench(
    [
      { say: 'First. ', calls: [['look']] },
      { failure: BROKEN, say: 'Half' },
    ],
    [LOOK],
  )
  const { fault, answer, root } = await bench.run(ASKED, 'whole')
  t.equal(fault, null)
  t.match(answer!.choices, [
    { finishReason: 'error', message: { content: 'First. Half' }, error: { kind: 'provider-failed' } },
  ])
  t.equal(root.consumption!.cost.total, bench.ledger.charged)
  t.equal(bench.ledger.rows.length, 3)
  t.ok(root.failed)
})

test('what turns say is parted by a blank line where no white space parts it, whole and streamed alike', async (t) => {
  const turns = (...said: string[]) =>
    said.map((say, at) => (at < said.length - 1 ? { say, calls: [['look', { at }]] as const } : { say }))
  const cases = [
    [turns('Looking.', 'Done.'), 'Looking.\n\nDone.'],
    [turns('Looking.', '', 'Found it.', '# Done'), 'Looking.\n\nFound it.\n\n# Done'],
    [turns('', 'Done.'), 'Done.'],
    [turns('Looking. ', 'Done.'), 'Looking. Done.'],
    [turns('Looking:\n', 'Done.'), 'Looking:\nDone.'],
  ] as const
  for (const [script, text] of cases) {
    const streamed = await new LoopBench(script, [LOOK]).run(ASKED)
    t.equal(streamed.ear.text, text)
    const whole = await new LoopBench(script, [LOOK]).run(ASKED, 'whole')
    t.equal(whole.answer!.choices[0]!.message.content, text)
  }
})

test('a loop stays on the endpoint that served, unless that fails', async (t) => {
  const served: string[] = []
  const scripted = (slug: string, script: ConstructorParameters<typeof ScriptedModel>[0]) =>
    new ScriptedModel(script, () => served.push(slug))
  // The first one is down at the beginning, the second one in the third turn.
  const first = scripted('first', (_, turn) => (turn === 0 ? { failure: DOWN } : { say: 'ok' }))
  const second = scripted('second', (_, turn) =>
    turn === 2 ? { failure: DOWN } : { calls: [['look', { turn }]] },
  )
  const catalog = catalogOf({ 'acme/one': [{ slug: 'first' }, { slug: 'second' }] }, (slug) =>
    slug === 'first' ? first : second,
  )
  const bench = new LoopBench([], [LOOK], { catalog: () => catalog })
  const { fault, root } = await bench.run(ASKED)
  t.equal(fault, null)
  t.strictSame(served, ['first', 'second', 'second', 'second', 'first'])
  t.equal(root.providerSlug, 'first')
  t.strictSame(
    root.attempts.map(({ status }) => status),
    [500, 200, 200, 500, 200],
  )
})

test('a broken turn is not run, nor one that was filtered', async (t) => {
  for (const finish of ['error', 'content_filter']) {
    const bench = new LoopBench([{ say: 'Hm.', calls: [['look']], finish }], [LOOK])
    const { root, ear } = await bench.run(ASKED)
    t.equal(root.loop!.executed, 0)
    t.strictSame(ear.finishes, [finish])
  }
})

test('a slow reader holds every turn back', async (t) => {
  const provider = new ScriptedProvider()
  const bench = new LoopBench([], [LOOK], {
    catalog: () => catalogOf({ 'acme/one': [{ slug: 'a' }] }, () => provider),
  })
  const loop = await bench.prepare(ASKED)
  const handle = loop.run('stream', new LoopEar())
  handle.pause()
  await until(() => provider.calls.length === 1)
  await turnOfLoop()
  t.strictSame(provider.last.told, ['pause'])
  handle.resume()
  t.strictSame(provider.last.told, ['pause', 'resume'])
  handle.cancel()
})
