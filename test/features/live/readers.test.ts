import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { MaybePromise } from '../../../src/base/maybe-promise.js'
import { LiveReaders } from '../../../src/features/live/readers.js'
import type { ResponseSink } from '../../../src/http/endpoint.js'
import type { LiveRefusal } from '../../../src/telemetry/live/live-report.js'
import { failureOf } from '../../support/clients/failure-of.js'

const SCOPE = 'a scope'

function bench(refusal: LiveRefusal | null = null) {
  const left: string[] = []
  const readers = new LiveReaders({
    enter: async () => refusal,
    leave: (scope, caller) => left.push(`${scope} ${caller}`),
  })
  const state = { written: [] as string[], isFull: false, ended: false, renews: 0 }
  let drained = (): void => {}
  let gone = (): void => {}
  const sink: ResponseSink = {
    write: (text) => {
      state.written.push(String(text))
      return !state.isFull
    },
    end: () => {
      state.ended = true
    },
    onDrain: (resume) => {
      drained = resume
    },
    onAbort: () => {},
  }
  const open = async (renew: () => MaybePromise<string> = () => SCOPE): Promise<void> => {
    const counted = (): MaybePromise<string> => {
      state.renews++
      return renew()
    }
    const facts = { scope: SCOPE, caller: 'key', renew: counted }
    const body = await readers.open(facts, (callback) => {
      gone = callback
    })
    body.start(sink)
  }
  const drain = (): void => {
    state.isFull = false
    drained()
  }
  return { readers, state, left, open, drain, leave: () => gone() }
}

const END = (reason: string): string => `event: end\ndata: {"reason":"${reason}"}\n\n`

test('a slow reader misses what is old and gets the latest', async (t) => {
  const { readers, state, open, drain } = bench()
  await open()
  state.isFull = true
  for (const text of ['one', 'two', 'three', 'four']) readers.deliver([[SCOPE, text]])
  t.same(state.written.slice(1), ['one'], 'nothing is written into a full socket')
  drain()
  t.same(state.written.slice(1), ['one', 'four'])
  drain()
  t.equal(state.written.length, 3, 'and nothing twice')
})

test('texts of other scopes are not for it', async (t) => {
  const { readers, state, open } = bench()
  await open()
  readers.deliver([['another', 'secret']])
  t.same(state.written.slice(1), [])
})

for (const [kind, reason] of [
  ['unauthenticated', 'credential'],
  ['forbidden', 'credential'],
  ['unavailable', 'server'],
] as const) {
  test(`a caller that has become ${kind} gets no further text, and is told that it is the ${reason}`, async (t) => {
    const { readers, state, left, open } = bench()
    let counts = true
    await open(() => {
      if (counts) return SCOPE
      throw new Fault(kind)
    })
    readers.deliver([[SCOPE, 'one']])
    counts = false
    readers.deliver([[SCOPE, 'two']])
    t.same(state.written.slice(1), ['one', END(reason)])
    t.ok(state.ended)
    t.same(left, ['a scope key'])
    readers.deliver([[SCOPE, 'three']])
    t.equal(state.renews, 2)
  })
}

test('a caller that sees other calls now connects again', async (t) => {
  const { readers, state, open } = bench()
  await open(() => 'another')
  readers.deliver([[SCOPE, 'one']])
  t.same(state.written.slice(1), [END('rights')])
})

test('while a credential is being checked the latest text waits, and goes nowhere when it is refused', async (t) => {
  for (const good of [true, false]) {
    const { readers, state, open } = bench()
    let decide = (_: boolean): void => {}
    const renewed = new Promise<string>((resolve, reject) => {
      decide = (is) => (is ? resolve(SCOPE) : reject(new Fault('unauthenticated')))
    })
    await open(() => renewed)
    readers.deliver([[SCOPE, 'one']])
    readers.deliver([[SCOPE, 'two']])
    t.equal(state.renews, 1)
    decide(good)
    await renewed.catch(() => {})
    await new Promise(setImmediate)
    t.same(state.written.slice(1), [good ? 'two' : END('credential')])
  }
})

test('who has left is told to the supervisor once', async (t) => {
  const { readers, left, open, leave } = bench()
  await open()
  leave()
  leave()
  readers.close()
  t.same(left, ['a scope key'])
})

test('a stop ends every stream and lets none begin', async (t) => {
  const { readers, state, left, open } = bench()
  await open()
  readers.close()
  t.same(state.written.slice(1), [END('server')])
  t.ok(state.ended)
  t.equal(left.length, 1)
  t.match(await failureOf(open()), { kind: 'unavailable' })
})

test('too many readers are refused by name', async (t) => {
  t.match(await failureOf(bench('caller').open()), { kind: 'rate-limited', note: /too often at a time/ })
  t.match(await failureOf(bench('server').open()), { kind: 'unavailable', note: /Too many/ })
})
