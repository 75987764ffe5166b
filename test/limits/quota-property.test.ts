/** Reserve, settle, release, crash and restart in any order, over two processes: no limit is ever exceeded. */
import fc from 'fast-check'
import { test } from 'tap'
import { QuotaWorld } from '../support/models/quota-world.js'

type Deed =
  | { readonly do: 'reserve'; readonly at: number; readonly amount: number }
  | { readonly do: 'settle'; readonly at: number; readonly which: number; readonly part: number }
  | { readonly do: 'turn'; readonly at: number }
  | { readonly do: 'crash'; readonly at: number; readonly heard: boolean }
  | { readonly do: 'deliver'; readonly at: number; readonly to: 'server' | 'process'; readonly count: number }
  | { readonly do: 'meet' | 'take' | 'bury' | 'restart' }
  | { readonly do: 'wait'; readonly ms: number }

const at = fc.nat(1)

function deeds(part: fc.Arbitrary<number>): fc.Arbitrary<Deed[]> {
  const deed = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('reserve' as const),
        at,
        amount: fc.integer({ min: 1, max: 40 }),
      }),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('settle' as const), at, which: fc.nat(7), part }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('turn' as const), at }) },
    {
      weight: 14,
      arbitrary: fc.record({
        do: fc.constant('deliver' as const),
        at,
        to: fc.constantFrom('server' as const, 'process' as const),
        count: fc.integer({ min: 1, max: 3 }),
      }),
    },
    { weight: 10, arbitrary: fc.constant({ do: 'meet' as const }) },
    { weight: 5, arbitrary: fc.constant({ do: 'take' as const }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), at, heard: fc.boolean() }) },
    { weight: 2, arbitrary: fc.constant({ do: 'bury' as const }) },
    { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 25, 300, 2_500) }),
    },
  )
  return fc.array(deed, { minLength: 10, maxLength: 60 })
}

function carryOut(world: QuotaWorld, deed: Deed): void {
  switch (deed.do) {
    case 'reserve':
      world.reserve(deed.at, deed.amount)
      break
    case 'settle':
      world.settle(deed.at, deed.which, deed.part)
      break
    case 'turn':
      world.turn(deed.at)
      break
    case 'crash':
      world.crash(deed.at, deed.heard)
      break
    case 'deliver':
      for (let i = 0; i < deed.count; i++) world.deliver(deed.at, deed.to)
      break
    case 'meet':
      // Question, recall, its answer and the answer to the question: without this hardly any run gets so far.
      for (let i = 0; i < 3; i++) {
        for (const process of [0, 1]) {
          world.deliver(process, 'server')
          world.deliver(process, 'process')
        }
      }
      break
    case 'wait':
      world.wait(deed.ms)
      break
    default:
      world[deed.do]()
  }
}

/** Lets everything arrive that is under way. */
async function settleDown(world: QuotaWorld): Promise<void> {
  for (let round = 0; round < 12; round++) {
    world.take()
    for (const process of [0, 1]) {
      world.turn(process)
      world.deliver(process, 'server')
      world.deliver(process, 'process')
    }
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
    carryOut(world, deed)
    await world.rest()
    const committed = world.committed()
    if (committed > limit + world.overrun) {
      throw new Error(`${committed} of ${limit} after ${deed.do}, overrun ${world.overrun}`)
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
  const orders = fc.array(
    fc.record({
      at,
      to: fc.constantFrom('server' as const, 'process' as const),
      count: fc.integer({ min: 1, max: 4 }),
    }),
    {
      minLength: 20,
      maxLength: 60,
    },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 0, max: 60 }),
      orders,
      async (limit, first, list) => {
        const world = new QuotaWorld(limit)
        for (let call = 0; call < 100; call++) {
          world.reserve(call < first ? 0 : call % 2, 1)
          const order = list[call % list.length]!
          for (let i = 0; i < order.count; i++) world.deliver(order.at, order.to)
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
