import type { HttpResponse } from 'uWebSockets.js'
import { test } from 'tap'
import { type BodyOwner, BodyReceiver } from '../../src/transport/body-receiver.js'
import { LargeBodies } from '../../src/transport/large-bodies.js'
import { ReadingBudget } from '../../src/transport/reading-budget.js'
import { SmallCalls } from '../../src/transport/small-calls.js'
import { turn } from '../support/clients/raw-http.js'
import { jsonReply, Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

const PIECE = 512 * 1024

/** A sender that counts how often it was held back and let go. */
class Sender {
  held = 0
  released = 0
  over = false
  constructor(
    readonly caller: string,
    readonly order: string[] = [],
  ) {}
  isOver(): boolean {
    return this.over
  }
  holdForTurn(): boolean {
    if (this.isHeld) return false
    this.held++
    return true
  }
  releaseForTurn(): void {
    this.released++
    this.order.push(this.caller)
  }
  get isHeld(): boolean {
    return this.held > this.released
  }
}

test('senders are held back behind a megabyte of a turn, and let go in the next one', async (t) => {
  const budget = new ReadingBudget(new SmallCalls())
  const [first, second, third] = [new Sender('a'), new Sender('b'), new Sender('c')]
  for (const sender of [first, second, third]) budget.spend(sender, PIECE, false)
  t.same([first.isHeld, second.isHeld, third.isHeld], [false, true, true])
  await turn()
  await turn()
  t.same([first.held, second.released, third.released], [0, 1, 1])
})

test('a sender is held back once however much comes behind, and never for its last piece', async (t) => {
  const budget = new ReadingBudget(new SmallCalls())
  const sender = new Sender('a')
  for (let piece = 0; piece < 10; piece++) budget.spend(sender, PIECE, false)
  t.equal(sender.held, 1)
  const last = new Sender('b')
  budget.spend(last, PIECE, true)
  t.equal(last.held, 0)
  await eventually(() => sender.released === 1)
})

test('small pieces are not counted: they belong to bodies that come slowly', (t) => {
  const budget = new ReadingBudget(new SmallCalls())
  const sender = new Sender('a')
  for (let piece = 0; piece < 1_000; piece++) budget.spend(sender, 16 * 1024 - 1, false)
  t.equal(sender.held, 0)
  t.end()
})

test('callers take turns, however many senders one of them has', async (t) => {
  const budget = new ReadingBudget(new SmallCalls())
  const order: string[] = []
  const greedy = Array.from({ length: 6 }, () => new Sender('greedy', order))
  const modest = new Sender('modest', order)
  budget.spend(new Sender('first'), 2 * PIECE, true)
  for (const sender of [...greedy, modest]) budget.spend(sender, PIECE, false)
  await eventually(() => modest.released === 1)
  t.ok(order.indexOf('modest') <= 1, `let go second at the latest: ${order}`)
})

test('while there are small calls others have their time before senders are let go', async (t) => {
  const smallCalls = new SmallCalls()
  smallCalls.arrived(Number.POSITIVE_INFINITY, 0)
  const budget = new ReadingBudget(smallCalls)
  const sender = new Sender('a')
  const from = performance.now()
  budget.spend(sender, 4 * PIECE, false)
  await eventually(() => sender.released === 1)
  t.ok(performance.now() - from > 20, 'two megabytes cost two milliseconds, twenty times as much is theirs')
})

test('whoever has left meanwhile takes nobody’s turn', async (t) => {
  const budget = new ReadingBudget(new SmallCalls())
  const gone = Array.from({ length: 50 }, () => new Sender('a'))
  const sender = new Sender('a')
  for (const one of [...gone, sender]) budget.spend(one, 2 * PIECE, false)
  for (const one of gone) one.over = true
  await eventually(() => sender.released === 1)
  t.ok(gone.every(({ released }) => released === 0))
})

test('however much came in a turn, whoever is held back is let go soon', async (t) => {
  const smallCalls = new SmallCalls()
  smallCalls.arrived(Number.POSITIVE_INFINITY, 0)
  const budget = new ReadingBudget(smallCalls)
  const sender = new Sender('a')
  const { setTimeout } = globalThis
  const timers = t.capture(globalThis, 'setTimeout', setTimeout)
  budget.spend(new Sender('b'), 1_000 * PIECE, true)
  budget.spend(sender, PIECE, false)
  await turn()
  const [timer] = timers()
  t.ok(Number(timer!.args[1]) <= 1_000)
  await eventually(() => sender.released === 1)
})

test('a small body is never held back, however many large ones come', async (t) => {
  const largeBodies = new LargeBodies()
  for (const [length, pauses] of [
    [200 * 1024, 0],
    [300 * 1024, 1],
    [-1, 1],
  ] as const) {
    let paused = 0
    let onData: (chunk: ArrayBuffer, last: boolean) => void = () => {}
    const res = {
      onData: (handler: typeof onData) => {
        onData = handler
      },
      pause: () => paused++,
      resume: () => {},
    }
    const owner = {
      isOver: () => paused > 0,
      isReading: () => false,
      setWaiting: () => {},
      onUnwantedPiece: () => {},
    }
    const route = testRoute(new Ledger(), 'POST', '/', () => jsonReply(200, {}), { bodyLimit: 2 ** 20 })
    largeBodies.reading.spend(new Sender('b'), 2 * PIECE, true)
    new BodyReceiver(
      res as unknown as HttpResponse,
      owner as unknown as BodyOwner,
      route,
      largeBodies,
      length,
    )
    onData(new ArrayBuffer(100 * 1024), false)
    t.equal(paused, pauses, `${length} bytes`)
    await turn()
  }
})
