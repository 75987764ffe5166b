/** Reserve, settle, release, crash and restart in any order, over two processes: no limit is ever exceeded. */
import fc from 'fast-check'
import { test } from 'tap'
import { QuotaWorld } from '../support/models/quota-world.js'

interface Deed {
  /** What a counter-example shows. */
  readonly [fc.toStringMethod]: () => string
  readonly carryOut: (world: QuotaWorld) => void
}

/** A deed that comes so often among others, with what it is done with. */
function deed<A extends readonly unknown[]>(
  weight: number,
  name: string,
  values: fc.Arbitrary<A>,
  act: (world: QuotaWorld, ...values: A) => void,
): fc.WeightedArbitrary<Deed> {
  const arbitrary = values.map((chosen) => ({
    [fc.toStringMethod]: () => `${name}(${chosen})`,
    carryOut: (world: QuotaWorld) => act(world, ...chosen),
  }))
  return { weight, arbitrary }
}

const at = fc.nat(1)
const NONE: fc.Arbitrary<[]> = fc.constant([])
const deliveries = (most: number) =>
  fc.tuple(at, fc.constantFrom('server' as const, 'process' as const), fc.integer({ min: 1, max: most }))

function deliver(world: QuotaWorld, process: number, to: 'server' | 'process', count: number): void {
  for (let i = 0; i < count; i++) world.deliver(process, to)
}

/** Every process's questions arrive, then what the server says to it. */
function meet(world: QuotaWorld): void {
  for (const process of [0, 1]) {
    world.deliver(process, 'server')
    world.deliver(process, 'process')
  }
}

/** Question, recall, its answer and the answer to the question: without this hardly any run gets so far. */
function meetThrice(world: QuotaWorld): void {
  for (let i = 0; i < 3; i++) meet(world)
}

function deeds(part: fc.Arbitrary<number>): fc.Arbitrary<Deed[]> {
  const any = fc.oneof(
    deed(8, 'reserve', fc.tuple(at, fc.integer({ min: 1, max: 40 })), (world, ...of) => world.reserve(...of)),
    deed(6, 'settle', fc.tuple(at, fc.nat(7), part), (world, ...of) => world.settle(...of)),
    deed(4, 'turn', fc.tuple(at), (world, process) => world.turn(process)),
    deed(14, 'deliver', deliveries(3), deliver),
    deed(10, 'meet', NONE, meetThrice),
    deed(5, 'take', NONE, (world) => world.take()),
    deed(2, 'crash', fc.tuple(at, fc.boolean()), (world, ...of) => world.crash(...of)),
    deed(2, 'bury', NONE, (world) => world.bury()),
    deed(1, 'restart', NONE, (world) => world.restart()),
    deed(2, 'wait', fc.tuple(fc.constantFrom(1, 25, 300, 2_500)), (world, ms) => world.wait(ms)),
  )
  return fc.array(any, { minLength: 10, maxLength: 60 })
}

/** Lets everything arrive that is under way. */
async function settleDown(world: QuotaWorld): Promise<void> {
  for (let round = 0; round < 12; round++) {
    world.take()
    for (const process of [0, 1]) world.turn(process)
    meet(world)
    await world.rest()
  }
}

interface Tally {
  admitted: number
  refused: number
}

async function play(limit: number, list: readonly Deed[], tally: Tally): Promise<QuotaWorld> {
  const world = new QuotaWorld(limit)
  // Half of all worlds begin with a bank that knows the quota, or most of their calls would still wait for it.
  if (limit % 2 === 0) {
    world.reserve(0, 1)
    await settleDown(world)
    world.settle(0, 0, 0)
  }
  for (const deed of list) {
    deed.carryOut(world)
    await world.rest()
    const committed = world.committed()
    if (committed > limit + world.overrun) {
      throw new Error(`${committed} of ${limit} after ${deed[fc.toStringMethod]()}, overrun ${world.overrun}`)
    }
  }
  await settleDown(world)
  world.restart()
  tally.admitted += world.admitted
  tally.refused += world.refused
  return world
}

const limits = fc.integer({ min: 1, max: 120 })

test('reserved and settled together never exceed the limit, and nothing is settled twice', async (t) => {
  const tally = { admitted: 0, refused: 0 }
  const part = fc.constantFrom(0, 0.2, 0.5, 0.9, 1)
  await fc.assert(
    fc.asyncProperty(limits, deeds(part), async (limit, list) => {
      const world = await play(limit, list, tally)
      return world.committed() <= limit && world.overrun === 0
    }),
    { numRuns: 10_000 },
  )
  t.ok(tally.admitted > 10_000, `${tally.admitted} calls were admitted`)
  t.ok(tally.refused > 1_000, `${tally.refused} calls were refused`)
})

test('beyond the limit is only what calls cost beyond what was set aside for them', async (t) => {
  const tally = { admitted: 0, refused: 0 }
  const part = fc.constantFrom(0, 0.5, 1, 1.5, 3)
  await fc.assert(
    fc.asyncProperty(limits, deeds(part), async (limit, list) => {
      const world = await play(limit, list, tally)
      return world.committed() <= limit + world.overrun
    }),
    { numRuns: 2_000 },
  )
  t.ok(tally.admitted > 2_000, `${tally.admitted} calls were admitted`)
})

test('nothing of a limit is lost: whatever happened, what is left can be spent by one process alone', async (t) => {
  const tally = { admitted: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(limits, deeds(fc.constantFrom(0, 0.5, 1)), async (limit, list) => {
      const world = await play(limit, list, tally)
      const before = world.spent()
      const left = limit - before
      if (left === 0) return true
      world.reserve(0, left)
      await settleDown(world)
      world.settle(0, 0, 1)
      await settleDown(world)
      world.bury()
      return world.spent() === limit
    }),
    { numRuns: 1_000 },
  )
  t.ok(tally.admitted > 1_000)
})

test('of many calls at once exactly as many are admitted as the limit has room for', async (t) => {
  const orders = fc.array(deliveries(4), { minLength: 20, maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 0, max: 60 }),
      orders,
      async (limit, first, list) => {
        const world = new QuotaWorld(limit)
        for (let call = 0; call < 100; call++) {
          world.reserve(call < first ? 0 : call % 2, 1)
          deliver(world, ...list[call % list.length]!)
          if (call % 7 === 0) world.take()
          await world.rest()
        }
        await settleDown(world)
        return world.admitted === limit && world.refused === 100 - limit
      },
    ),
    { numRuns: 500 },
  )
  t.pass('no call was refused that would have fitted')
})
