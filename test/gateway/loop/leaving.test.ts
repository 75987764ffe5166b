/** Callers leave in every phase of a loop (contract/tools 1.7): nothing goes on, nothing stays held. */
import { test } from 'tap'
import { FakeClock } from '../../support/timing/fake-clock.js'
import {
  LoopBench,
  LoopEar,
  type Script,
  said,
  scriptedTool,
  tooling,
} from '../../support/tools/loop-bench.js'

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Three turns, two of which call: one that waits for its end, and one that runs a model beneath itself. */
const SCRIPT: Script = ({ request }) => {
  if (request.messages[0]!.content === 'inner') return { say: 'Inner.' }
  const results = request.messages.filter(({ role }) => role === 'tool').length
  if (results === 0) return { say: 'First.', calls: [['slow'], ['asks']] }
  return results === 2 ? { say: 'Second.', calls: [['asks', { again: true }]] } : { say: 'Third.' }
}

/** What a tool of this test has under way. */
let running = 0

function toolsOn(clock: FakeClock) {
  const slow = scriptedTool(
    'slow',
    async (_, { signal }) => {
      running++
      await new Promise<void>((resolve) => {
        let isDone = false
        const stop = clock.runAfter(50, () => {
          isDone = true
          resolve()
        })
        signal.addEventListener('abort', () => {
          stop()
          if (!isDone) clock.runAfter(100, resolve)
        })
      })
      running--
      return said('slow', { charged: 3 })
    },
    { feeNanos: 3 },
  )
  const asks = scriptedTool('asks', async (_, run) => {
    running++
    const messages = [{ role: 'user' as const, content: 'inner' }]
    const request = { model: 'acme/one', messages }
    const answer = await run.nested({ purpose: 'advisor', request, budget: 1e9, signal: run.signal })
    running--
    return said(answer.ok ? answer.text : answer.reason)
  })
  return [slow, asks]
}

/** Leaves after so many turns of the event loop. */
async function leaveAfter(turns: number, mode: 'stream' | 'whole') {
  const clock = new FakeClock()
  const bench = new LoopBench(SCRIPT, toolsOn(clock), { clock })
  const loop = await bench.prepare({ tooling: tooling(['slow', 'asks']) })
  const ear = new LoopEar()
  const handle = loop.run(mode, ear)
  for (let turn = 0; turn < turns; turn++) {
    await turnOfLoop()
    clock.advance(10)
  }
  const wasOver = ear.ends > 0
  const heard = ear.events.length
  handle.cancel()
  // A tool has a second to end.
  for (let waited = 0; waited < 1_000 && bench.ledger.closed.length === 0; waited += 10) {
    await turnOfLoop()
    clock.advance(10)
  }
  await turnOfLoop()
  return { bench, ear, clock, wasOver, newEvents: ear.events.length - heard }
}

test('500 callers that leave, in every phase, leave nothing behind', async (t) => {
  const phases = new Set<string>()
  for (let at = 0; at < 500; at++) {
    const { bench, ear, clock, wasOver, newEvents } = await leaveAfter(
      at % 32,
      at % 2 === 0 ? 'stream' : 'whole',
    )
    const { ledger, model, defects } = bench
    const kinds = ledger.closed.map(({ kind }) => kind)
    phases.add(`${ledger.rows.map(({ name }) => name).join(' ')} ${kinds[0]}`)
    const left = {
      running,
      held: ledger.held,
      timers: clock.pending,
      closed: kinds.length,
      ends: ear.ends,
      newEvents,
      defects: defects.length,
    }
    const expected = {
      running: 0,
      held: 0,
      timers: 0,
      closed: 1,
      ends: wasOver ? 1 : 0,
      newEvents: 0,
      defects: 0,
    }
    if (JSON.stringify(left) !== JSON.stringify(expected))
      t.strictSame(left, expected, `after ${at % 32} turns`)
    const calls = model.calls.length
    const turns = ledger.rows.filter(({ kind }) => kind === 'turn').length
    if (calls !== turns) t.equal(turns, calls, 'every call of a provider has its row')
  }
  t.ok(phases.size >= 6, [...phases].join('; '))
})
