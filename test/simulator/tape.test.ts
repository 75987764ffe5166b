/** Recorded streams, replayed by simulated models. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'tap'
import type { ModelEndpoint } from '../../src/gateway/catalog/catalog.js'
import type { ChatEvent } from '../../src/gateway/formats/canonical.js'
import { type Behaviour, behaviourOfThisMachine, behaviourSchema } from '../../src/simulator/behaviour.js'
import { formatStream, type TapedStream } from '../../src/tape/tape.js'
import { makeFolder } from '../support/data/temp-folder.js'
import { eventually } from '../support/timing/eventually.js'
import {
  CallRecorder,
  endpointOf,
  providerCall,
  type SimulatorSetup,
  setUpSimulator,
  userRequest,
} from './calls.js'

const stream = (more: Partial<TapedStream> = {}): TapedStream => ({
  ...{ v: 1, at: 0, model: 'm', in: 1, out: 4, ttft: 1000 },
  ...{ gaps: [100, 2000], tok: [1, 2, 1], end: 'stop' },
  ...more,
})
const refused = (status: number, took?: number): TapedStream =>
  stream({ end: 'refused', status, took, ttft: null, gaps: [], tok: [] })

function tapeOf(...streams: TapedStream[]): string {
  const file = join(makeFolder(), 'some.ndjson')
  writeFileSync(file, streams.map(formatStream).join(''))
  return file
}

interface Played {
  readonly on?: SimulatorSetup
  readonly more?: object
  readonly upstreamModel?: string
  readonly content?: string
  readonly simulate?: string
}

async function playOn(endpoint: ModelEndpoint, played: Played = {}) {
  const { on = setUpSimulator(), more = {}, content = 'hello', simulate = '' } = played
  const { clock, provider } = on
  const recorder = new CallRecorder(clock)
  const begun = clock.time
  provider.stream({ ...providerCall(userRequest(content, more), endpoint), simulate }, recorder)
  // The tape is read meanwhile, and the clock stands until it has been.
  await eventually(() => {
    clock.run()
    return recorder.outcome
  })
  const words = recorder.events.flatMap((event: ChatEvent, at) =>
    event.type === 'delta' ? [{ text: event.delta.content ?? '', ms: recorder.times[at]! - begun }] : [],
  )
  const finish = recorder.events.find(({ type }) => type === 'finish')
  return { recorder, words, finish, ms: recorder.endedAt - begun }
}

function play(tape: unknown, played: Played = {}) {
  const behaviour: Behaviour = behaviourSchema.parse({ tape })
  return playOn(endpointOf(behaviour, { upstreamModel: played.upstreamModel ?? 'sim/test' }), played)
}

/** The wheel wakes once a millisecond has passed whole. */
const isAbout = (ms: number, due: number): boolean => ms >= due && ms < due + 2

const tokensIn = (words: readonly { readonly text: string }[]): number =>
  words.reduce((sum, { text }) => sum + text.trim().split(/\s+/).length, 0)

test('first token, gaps and tokens of an event are those of the tape', async (t) => {
  const { recorder, words } = await play({ file: tapeOf(stream()) })
  t.equal(recorder.outcome, 'ended')
  t.same(
    words.map(({ ms }, at) => isAbout(ms, [100, 110, 310][at]!)),
    [true, true, true],
    JSON.stringify(words),
  )
  t.same(
    words.map((word) => tokensIn([word])),
    [1, 2, 1],
    'an event of two tokens is one event',
  )
  const usage = recorder.events.find(({ type }) => type === 'usage')
  t.match(usage, { usage: { completion: 4 } })
})

test('times are scaled; max_tokens cuts an answer', async (t) => {
  const { words } = await play({ file: tapeOf(stream()), scale: 3 })
  t.ok(isAbout(words.at(-1)!.ms, 930))
  const { recorder } = await play({ file: tapeOf(stream()) }, { more: { max_tokens: 2 } })
  t.match(
    recorder.events.find(({ type }) => type === 'usage'),
    { usage: { completion: 2 } },
  )
})

test('an equal request gets equal times; others are spread over the streams of the tape', async (t) => {
  const tape = { file: tapeOf(...Array.from({ length: 10 }, (_, at) => stream({ ttft: 1000 * (at + 1) }))) }
  const firstOf = async (content: string): Promise<number> => (await play(tape, { content })).words[0]!.ms
  t.equal(await firstOf('hello'), await firstOf('hello'))
  const asked = Array.from({ length: 60 }, (_, at) => firstOf(`question ${at}`))
  const seen = new Set((await Promise.all(asked)).map((ms) => Math.round(ms / 100)))
  t.ok(seen.size >= 8)
})

test('a window of the tape, one of its models, several tapes, and a folder whose tapes the model names', async (t) => {
  const early = stream({ at: 0, ttft: 1000 })
  const late = stream({ at: 100_000, ttft: 5000, model: 'acme/large' })
  const file = tapeOf(early, late)
  t.ok(isAbout((await play({ file, cut: [5, 20] })).words[0]!.ms, 500))
  for (const content of ['a', 'b', 'c', 'd', 'e', 'f'])
    t.ok(isAbout((await play({ file, model: 'acme/large' }, { content })).words[0]!.ms, 500))
  const mixed = [
    { file: tapeOf(early), share: 1e-6 },
    { file: tapeOf(late), share: 1e6 },
  ]
  t.ok(isAbout((await play(mixed)).words[0]!.ms, 500))
  t.equal((await play({ folder: dirname(file) }, { upstreamModel: 'some' })).recorder.outcome, 'ended')
})

type Failed = readonly [why: string, taped: TapedStream, status: number, words: number, ms: number]
const FAILURES: readonly Failed[] = [
  ['was refused', refused(429), 429, 0, 0],
  ['was refused after a second', refused(429, 10_000), 429, 0, 1000],
  ['failed with a 500', refused(500), 500, 0, 0],
  ['failed with a 503', refused(503), 503, 0, 0],
  ['failed with a 400', refused(400), 400, 0, 0],
  ['was out of reach', refused(0, 300), 0, 0, 30],
  ['was cut', stream({ end: 'cut' }), 200, 3, 320],
  ['was cut after a silence', stream({ end: 'cut', took: 53_100 }), 200, 3, 5310],
  [
    'was cut before anything came',
    stream({ end: 'cut', ttft: null, gaps: [], tok: [], took: 70 }),
    200,
    0,
    7,
  ],
]

for (const [why, taped, status, count, due] of FAILURES) {
  test(`a stream that ${why} fails so when it is replayed`, async (t) => {
    const { recorder, words, ms } = await play({ file: tapeOf(taped) })
    t.match(recorder.outcome, { status })
    t.equal(words.length, count)
    t.ok(isAbout(ms, due), String(ms))
  })
}

for (const [end, reason] of [
  ['stop', 'stop'],
  ['length', 'length'],
  ['filter', 'content_filter'],
  ['tools', 'stop'],
  ['left', 'stop'],
] as const) {
  test(`a stream that ended with ${end} is replayed with the finish reason ${reason}`, async (t) => {
    const { finish, words } = await play({ file: tapeOf(stream({ end })) })
    t.match(finish, { reason })
    t.equal(tokensIn(words), 4)
  })
}

test('streams that their readers held back, and those left before anything came, are not replayed', async (t) => {
  const held = stream({ held: true, ttft: 90_000 })
  const left = stream({ end: 'left', ttft: null, gaps: [], tok: [] })
  for (const content of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const { words } = await play({ file: tapeOf(held, left, stream()) }, { content })
    t.ok(isAbout(words[0]!.ms, 100))
    t.equal(words.length, 3)
  }
})

test('asked for by its number, the very stream is replayed, and all together have the tokens of the tape', async (t) => {
  const streams = Array.from({ length: 20 }, (_, at) =>
    stream({ ttft: 100 * (at + 1), gaps: Array(at).fill(10), tok: Array(at + 1).fill(2) }),
  )
  const held = stream({ held: true, ttft: 90_000, gaps: [5], tok: [3, 4] })
  const endpoint = endpointOf(behaviourSchema.parse({ tape: { file: tapeOf(...streams, held) } }))
  const on = setUpSimulator({ allowRequestFaults: false })
  let tokens = 0
  for (const at of streams.keys()) {
    const { words } = await playOn(endpoint, { on, simulate: `tape_stream=${at + 1}` })
    t.ok(isAbout(words[0]!.ms, 10 * (at + 1)))
    tokens += tokensIn(words)
  }
  t.equal(tokens, 2 * 210)
  const { words } = await playOn(endpoint, { on, simulate: 'tape_stream=21' })
  t.equal(tokensIn(words), 7, 'of a stream that was held back the length is known')
  t.ok(words[0]!.ms < 300, 'and its times are those of another')
})

for (const [why, tape, simulate, told] of [
  ['beyond the last', { file: tapeOf(stream()) }, 'tape_stream=2', /the tape has 1 streams/],
  [
    'outside the window',
    { file: tapeOf(stream(), stream({ at: 1e6 })), cut: [0, 1] },
    'tape_stream=2',
    /does not replay stream 2/,
  ],
  [
    'of several tapes',
    [{ file: tapeOf(stream()) }, { file: tapeOf(stream()) }],
    'tape_stream=1',
    /mixes several tapes/,
  ],
  ['0', { file: tapeOf(stream()) }, 'tape_stream=0', /tape_stream/],
  ['of no tape', undefined, 'tape_stream=1', /for models that replay a tape/],
  [
    'that nothing came of',
    { file: tapeOf(stream(), stream({ end: 'left', ttft: null, gaps: [], tok: [] })) },
    'tape_stream=2',
    /left before anything came/,
  ],
] as const) {
  test(`a stream ${why} cannot be asked for`, async (t) => {
    const { recorder } = await play(tape, { simulate })
    t.match(recorder.outcome, { status: 400, fault: { kind: 'bad-request', note: told } })
  })
}

test('where faults may not be asked for, a stream of a tape may, and nothing beside it', async (t) => {
  const on = setUpSimulator({ allowRequestFaults: false })
  const { recorder } = await play({ file: tapeOf(stream()) }, { on, simulate: 'tape_stream=1; fault=error' })
  t.match(recorder.outcome, { status: 400, fault: { note: /not allowed/ } })
})

const nameless = (tape: object) => endpointOf({ tape: { scale: 1, share: 1, ...tape } })

for (const [why, endpoint, told] of [
  ['is not there', nameless({ file: '/nowhere/at-all.ndjson' }), /\/nowhere\/at-all\.ndjson: ENOENT/],
  ['is no tape', nameless({ file: import.meta.filename }), /tape\.test\.[jt]s: line 1: no JSON/],
  ['is a folder', nameless({ file: makeFolder() }), /it is no file/],
  ['has nothing to replay', nameless({ file: tapeOf(stream({ held: true })) }), /no stream that could be/],
  ['is empty', nameless({ file: tapeOf() }), /no stream that could be/],
] as const) {
  test(`a tape that ${why} is the provider's failure, whose reason stands in the log alone`, async (t) => {
    const { recorder } = await playOn(endpoint)
    t.match(recorder.outcome, {
      ...{ status: 0, class: 'not-sent' },
      fault: { kind: 'provider-failed', detail: told, note: undefined },
    })
  })
}

test('a name that leaves its folder is refused', async (t) => {
  const { recorder } = await play({ folder: '/tmp' }, { upstreamModel: '../../etc/passwd' })
  t.match(recorder.outcome, { status: 400, fault: { note: /no name of a tape/ } })
})

test('a tape is read once, however many calls wait for it, and so is one that is none', async (t) => {
  const [good, bad] = [tapeOf(stream()), tapeOf(stream())]
  writeFileSync(bad, '{')
  const on = setUpSimulator()
  const call = (file: string, content: string) => playOn(nameless({ file }), { on, content })
  const [first, second] = await Promise.all([call(bad, 'a'), call(bad, 'b')])
  t.match(first.recorder.outcome, { fault: { detail: /line 1/ } })
  t.equal(
    (first.recorder.outcome as { fault: Error }).fault.cause,
    (second.recorder.outcome as { fault: Error }).fault.cause,
    'one reading, one reason',
  )
  await call(good, 'a')
  writeFileSync(bad, formatStream(stream()))
  writeFileSync(good, '{')
  t.match((await call(bad, 'c')).recorder.outcome, { fault: { detail: /line 1/ } })
  t.equal((await call(good, 'd')).recorder.outcome, 'ended')
})

test('names that callers make up do not push a tape out', async (t) => {
  const file = tapeOf(stream())
  const on = setUpSimulator()
  await playOn(nameless({ file }), { on })
  const folder = makeFolder()
  for (let at = 0; at < 20; at++)
    await playOn(endpointOf({ tape: { folder, scale: 1, share: 1 } }, { upstreamModel: `n${at}` }), { on })
  writeFileSync(file, '{')
  t.equal((await playOn(nameless({ file }), { on, content: 'b' })).recorder.outcome, 'ended')
})

test('a call that leaves while its tape is read is never begun, and one that pauses waits', async (t) => {
  const { clock, provider } = setUpSimulator()
  const endpoint = nameless({ file: tapeOf(stream()) })
  const recorders = ['gone', 'paused'].map((content) => {
    const recorder = new CallRecorder(clock)
    return { recorder, handle: provider.stream(providerCall(userRequest(content), endpoint), recorder) }
  })
  const [gone, paused] = recorders as [(typeof recorders)[0], (typeof recorders)[0]]
  gone.handle.cancel()
  paused.handle.pause()
  const third = new CallRecorder(clock)
  provider.stream(providerCall(userRequest('third'), endpoint), third)
  await eventually(() => {
    clock.run()
    return third.outcome
  })
  t.equal(gone.recorder.events.length, 0)
  t.equal(paused.recorder.events.length, 0)
  paused.handle.resume()
  clock.run()
  t.equal(paused.recorder.outcome, 'ended')
  t.equal(gone.recorder.outcome, null)
})

test('a tape is either a file or of a folder', (t) => {
  const file = tapeOf(stream())
  for (const tape of [{}, { file, folder: dirname(file) }, { file, cut: [2, 1] }, { file, scale: 0 }])
    t.notOk(behaviourSchema.safeParse({ tape }).success, JSON.stringify(tape))
  t.ok(behaviourSchema.safeParse({ tape: { file } }).success)
  t.end()
})

test('a tape is there for who is at this machine, and nobody else is told', (t) => {
  const file = tapeOf(stream())
  for (const [tape, path, message] of [
    [{ file: `${file}.not` }, ['tape', 'file'], 'names no file'],
    [{ file: dirname(file) }, ['tape', 'file'], 'names no file'],
    [{ folder: file }, ['tape', 'folder'], 'names no folder'],
    [[{ file }, { folder: file }], ['tape', 1, 'folder'], 'names no folder'],
  ] as const) {
    const { error } = behaviourOfThisMachine.safeParse({ tape })
    t.match(error?.issues, [{ path, message }], JSON.stringify(tape))
    t.ok(behaviourSchema.safeParse({ tape }).success)
  }
  for (const tape of [{ file }, { folder: dirname(file) }, [{ file }, { folder: dirname(file) }]])
    t.ok(behaviourOfThisMachine.safeParse({ tape }).success)
  t.end()
})
