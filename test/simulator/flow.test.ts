import { test } from 'tap'
import type { Behaviour } from '../../src/simulator/behaviour.js'
import { SimulatedProvider } from '../../src/simulator/simulated-provider.js'
import { TimerWheel } from '../../src/simulator/timer-wheel.js'
import {
  assembleCompletion,
  endpointOf,
  FAKE_FILES,
  providerCall,
  runCompletion,
  runStream,
  setUpSimulator,
  startCall,
  startStream,
  userRequest,
} from './calls.js'

const PACED: Behaviour = {
  first_token_ms: { constant: 50 },
  gap_ms: { constant: 20 },
  tokens: { constant: 64 },
}
const request = userRequest('Tell me of the sea')

test('gaps keep to their times over the whole stream: lateness never adds up', async (t) => {
  const on = setUpSimulator()
  const begin = on.clock.time
  const { times } = runStream(request, PACED, { on })
  for (let i = 0; i < 64; i++) {
    const due = begin + 50 + 20 * i
    t.ok(times[i]! >= due && times[i]! < due + 2.001, `token ${i} at ${times[i]! - begin}`)
  }
})

test('a late tick hands over everything that is due and flushes once', async (t) => {
  const { on, recorder } = startStream(request, PACED)
  on.clock.advance(100)
  t.equal(recorder.events.length, 6)
  t.equal(recorder.flushes, 1)
  on.clock.advance()
  t.equal(recorder.events.length, 7)
  t.equal(recorder.flushes, 2)
})

test('a stream without gaps leaves the turn after 64 events', async (t) => {
  const on = setUpSimulator()
  const one = startStream(userRequest('hello', { max_tokens: 200 }), {}, { on }).recorder
  const other = startStream(userRequest('hello', { max_tokens: 10 }), {}, { on }).recorder
  on.clock.turn()
  t.equal(one.events.length, 64)
  t.equal(other.outcome, 'ended')
  on.clock.run()
  t.equal(one.deltaCount, 200)
  t.equal(one.flushes, 3, 'the last turn ends instead')
})

test('pause stops the making of tokens at once, and resume moves all later times on', async (t) => {
  const { on, recorder, handle } = startStream(request, PACED)
  on.clock.run(() => recorder.events.length === 10)
  handle.pause()
  handle.pause()
  t.equal(on.wheel.size(), 0)
  t.notOk(on.clock.hasTimer, 'a paused stream holds no timer')
  const last = recorder.times[9]!
  on.clock.time += 5000
  handle.resume()
  handle.resume()
  on.clock.run()
  t.equal(recorder.outcome, 'ended')
  t.equal(recorder.deltaCount, 64)
  const gap = recorder.times[10]! - last - 5000
  t.ok(gap > 17 && gap < 23, `the gap across the pause is ${gap}`)
  t.ok(recorder.times[11]! - recorder.times[10]! > 17, 'no bunch after the pause')
})

test('a pause moves the deadline on: it bounds what the provider takes, not its reader', async (t) => {
  const on = setUpSimulator()
  const { recorder, handle } = startStream(request, PACED, { on, deadlineAt: on.clock.time + 1_500 })
  on.clock.run(() => recorder.events.length === 10)
  handle.pause()
  on.clock.time += 60_000
  handle.resume()
  on.clock.run()
  t.equal(recorder.outcome, 'ended')
  t.equal(recorder.deltaCount, 64)
})

test('a receiver that pauses at every event gets one event per resume, also without gaps', async (t) => {
  const { on, recorder, handle } = startStream(userRequest('hello', { max_tokens: 30 }))
  recorder.onEventCount = () => handle.pause()
  for (let i = 1; i <= 29; i++) {
    on.clock.run()
    t.equal(recorder.events.length, i)
    handle.resume()
  }
  on.clock.run()
  t.equal(recorder.outcome, 'ended')
  t.strictSame(
    assembleCompletion(recorder.events),
    runCompletion(userRequest('hello', { max_tokens: 30 })).completion,
  )
})

test('a receiver may pause and resume inside an event', async (t) => {
  const { on, recorder, handle } = startStream(request, PACED)
  recorder.onEventCount = () => {
    handle.pause()
    handle.resume()
  }
  on.clock.run()
  t.equal(recorder.outcome, 'ended')
  t.equal(recorder.deltaCount, 64)
})

test('cancel at any event leaves nothing behind and says nothing more', async (t) => {
  for (let at = 1; at <= 67; at++) {
    const { on, recorder, handle } = startStream({ ...request, service_tier: 'auto' }, PACED)
    recorder.onEventCount = (count) => {
      if (count === at) handle.cancel()
    }
    on.clock.run()
    t.equal(recorder.events.length, at)
    t.equal(recorder.outcome, null)
    t.equal(on.wheel.size(), 0)
    t.notOk(on.clock.hasTimer)
  }
})

const PHASES: readonly [string, string, number][] = [
  ['before the first turn', '', 0],
  ['before the first token', 'first_token_ms=500', 1],
  ['in a silence', 'fault=silence', 1],
  ['in a stall', 'gap_ms=1; fault=stall; after=2', 4],
  ['before a refusal', 'nonsense', 0],
]

for (const [phase, simulate, turns] of PHASES) {
  test(`cancel ${phase} frees everything at once, streamed and not`, async (t) => {
    for (const kind of ['stream', 'complete'] as const) {
      const { on, recorder, handle } = startCall(kind, request, {}, { simulate })
      for (let i = 0; i < turns && kind === 'stream'; i++) {
        on.clock.time += 2
        on.clock.turn()
        on.clock.fire()
      }
      handle.cancel()
      handle.cancel()
      handle.pause()
      handle.resume()
      t.equal(on.wheel.size(), 0)
      t.notOk(on.clock.hasTimer)
      const { events } = recorder
      const before = events.length
      on.clock.time += 100_000
      on.clock.run()
      t.equal(recorder.outcome, null)
      t.equal(events.length, before)
    }
  })
}

test('a thousand streams of tagged answers share one timer and none gets words of another', async (t) => {
  const on = setUpSimulator()
  const streams = Array.from({ length: 1000 }, (_, i) => {
    const text = `echo: ${Array.from({ length: 12 }, () => `tag${i}`).join(' ')}`
    return startStream(
      userRequest(text),
      { first_token_ms: { uniform: [1, 60] }, gap_ms: { uniform: [1, 40] } },
      { on },
    )
  })
  for (const [i, { handle }] of streams.entries()) if (i % 3 === 0) handle.cancel()
  on.clock.run()
  for (const [i, { recorder }] of streams.entries()) {
    if (i % 3 === 0) t.equal(recorder.events.length, 0)
    else {
      const { content } = assembleCompletion(recorder.events).choices[0]!.message
      if (content !== Array.from({ length: 12 }, () => `tag${i}`).join(' '))
        t.fail(`stream ${i} says ${content}`)
    }
  }
  t.equal(on.wheel.size(), 0)
})

test('on the clock of the system no token comes before its time, and the end leaves no timer', async (t) => {
  const wheel = new TimerWheel()
  const provider = new SimulatedProvider({ seed: 1, allowRequestFaults: false, wheel, files: FAKE_FILES })
  const behaviour: Behaviour = {
    first_token_ms: { constant: 15.5 },
    gap_ms: { constant: 7.25 },
    tokens: { constant: 8 },
  }
  const one = (i: number) =>
    new Promise<number[]>((resolve, reject) => {
      const times: number[] = [performance.now()]
      provider.stream(providerCall(userRequest(`stream ${i}`), endpointOf(behaviour)), {
        onEvent: (event) => event.type === 'delta' && times.push(performance.now()),
        onFlush: () => {},
        onEnd: () => resolve(times),
        onFailure: ({ fault }) => reject(fault),
      })
    })
  for (const [begin, ...times] of await Promise.all(Array.from({ length: 50 }, (_, i) => one(i)))) {
    t.equal(times.length, 8)
    for (const [i, time] of times.entries()) t.ok(time - begin! >= 15.5 + 7.25 * i)
  }
  t.equal(wheel.size(), 0)
})
