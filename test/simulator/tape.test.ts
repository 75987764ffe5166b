/** Recorded streams, replayed by simulated models. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import type { ChatEvent } from '../../src/gateway/formats/canonical.js'
import { type Behaviour, behaviourSchema } from '../../src/simulator/behaviour.js'
import { formatStream, type TapedStream } from '../../src/tape/tape.js'
import { makeFolder } from '../support/data/temp-folder.js'
import { CallRecorder, endpointOf, providerCall, setUpSimulator, userRequest } from './calls.js'

const stream = (more: Partial<TapedStream> = {}): TapedStream => ({
  ...{ v: 1, at: 0, model: 'm', in: 1, out: 4, ttft: 1000 },
  ...{ gaps: [100, 2000], tok: [1, 2, 1], end: 'stop' },
  ...more,
})

function tapeOf(...streams: TapedStream[]): string {
  const file = join(makeFolder(), 'some.ndjson')
  writeFileSync(file, streams.map(formatStream).join(''))
  return file
}

function play(tape: unknown, more: object = {}, upstreamModel = 'sim/test', content = 'hello') {
  const behaviour: Behaviour = behaviourSchema.parse({ tape })
  const { clock, provider } = setUpSimulator()
  const recorder = new CallRecorder(clock)
  const begun = clock.time
  const call = providerCall(userRequest(content, more), endpointOf(behaviour, { upstreamModel }))
  provider.stream(call, recorder)
  clock.run()
  const words = recorder.events.flatMap((event: ChatEvent, at) =>
    event.type === 'delta' ? [{ text: event.delta.content ?? '', ms: recorder.times[at]! - begun }] : [],
  )
  return { recorder, words }
}

/** The wheel wakes once a millisecond has passed whole. */
const isAbout = (ms: number, due: number): boolean => ms >= due && ms < due + 2

test('first token, gaps and tokens of an event are those of the tape', async (t) => {
  const { recorder, words } = play({ file: tapeOf(stream()) })
  t.equal(recorder.outcome, 'ended')
  t.same(
    words.map(({ ms }, at) => isAbout(ms, [100, 110, 310][at]!)),
    [true, true, true],
    JSON.stringify(words),
  )
  t.same(
    words.map(({ text }) => text.trim().split(/\s+/).length),
    [1, 2, 1],
    'an event of two tokens is one event',
  )
  const usage = recorder.events.find(({ type }) => type === 'usage')
  t.match(usage, { usage: { completion: 4 } })
})

test('times are scaled; max_tokens cuts an answer', async (t) => {
  const { words } = play({ file: tapeOf(stream()), scale: 3 })
  t.ok(isAbout(words.at(-1)!.ms, 930))
  const { recorder } = play({ file: tapeOf(stream()) }, { max_tokens: 2 })
  t.match(
    recorder.events.find(({ type }) => type === 'usage'),
    { usage: { completion: 2 } },
  )
})

test('an equal request gets equal times; others are spread over the streams of the tape', async (t) => {
  const tape = { file: tapeOf(...Array.from({ length: 10 }, (_, at) => stream({ ttft: 1000 * (at + 1) }))) }
  const firstOf = (content: string): number => play(tape, {}, 'sim/test', content).words[0]!.ms
  t.equal(firstOf('hello'), firstOf('hello'))
  const seen = new Set(Array.from({ length: 60 }, (_, at) => Math.round(firstOf(`question ${at}`) / 100)))
  t.ok(seen.size >= 8)
})

test('a window of the tape, several tapes, and a folder whose tapes the model names', async (t) => {
  const early = stream({ at: 0, ttft: 1000 })
  const late = stream({ at: 100_000, ttft: 5000 })
  const file = tapeOf(early, late)
  t.ok(isAbout(play({ file, cut: [5, 20] }).words[0]!.ms, 500))
  const mixed = [
    { file: tapeOf(early), share: 1e-6 },
    { file: tapeOf(late), share: 1e6 },
  ]
  t.ok(isAbout(play(mixed).words[0]!.ms, 500))
  const folder = file.replace(/\/some\.ndjson$/, '')
  t.equal(play({ folder }, {}, 'some').recorder.outcome, 'ended')
})

const FAILURES: readonly (readonly [why: string, taped: TapedStream, status: number, words: number])[] = [
  ['was refused', stream({ end: 'refused', status: 429, ttft: null, gaps: [], tok: [] }), 429, 0],
  ['failed with a 500', stream({ end: 'refused', status: 500, ttft: null, gaps: [], tok: [] }), 500, 0],
  ['was cut', stream({ end: 'cut' }), 200, 3],
]

for (const [why, taped, status, count] of FAILURES) {
  test(`a stream that ${why} fails so when it is replayed`, async (t) => {
    const { recorder, words } = play({ file: tapeOf(taped) })
    t.match(recorder.outcome, { status })
    t.equal(words.length, count)
  })
}

test('streams that their readers held back are not replayed', async (t) => {
  const { words } = play({ file: tapeOf(stream({ held: true, ttft: 90_000 }), stream()) })
  t.ok(isAbout(words[0]!.ms, 100))
})

for (const [why, tape, model] of [
  ['is not there', { file: '/nowhere/at-all.ndjson' }, 'sim/test'],
  ['has nothing to replay', { file: tapeOf(stream({ held: true })) }, 'sim/test'],
  ['has a name that leaves its folder', { folder: '/tmp' }, '../../etc/passwd'],
] as const) {
  test(`a tape that ${why} fails the call`, async (t) => {
    t.match(play(tape, {}, model).recorder.outcome, { fault: {} })
  })
}

test('a tape is either a file or of a folder', async (t) => {
  for (const tape of [{}, { file: 'a', folder: 'b' }, { file: 'a', cut: [2, 1] }, { file: 'a', scale: 0 }])
    t.notOk(behaviourSchema.safeParse({ tape }).success)
})
