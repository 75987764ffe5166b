/**
 * Whatever is delayed, frozen, cut off or killed, and however the clocks go: no machine serves by records that are older
 * than a change that was answered (contract/fleet 3.1).
 */
import fc from 'fast-check'
import { test } from 'tap'
import { seededRandom } from '../../src/base/random.js'
import { FleetWorld, SimulatedMachine } from '../support/models/fleet-world.js'

const RUNS = 200
/** The fastest clock goes at most 1.2 times as fast as the slowest, which is what the protocol allows for. */
const RATES = { min: 0.92, max: 1.1 }
/** Each machine has a staleness limit of its own; what holds must not depend on their being the same. */
const LIMITS_MS = [4_000, 10_000, 15_000]

type Deed = readonly [
  what: 'change' | 'freeze' | 'cut' | 'kill' | 'slow' | 'calm',
  machine: number,
  ms: number,
]

const deed = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constant('change' as const), fc.nat(2), fc.integer({ min: 0, max: 800 })),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constant('freeze' as const), fc.nat(2), fc.integer({ min: 50, max: 16_000 })),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constant('cut' as const), fc.nat(2), fc.integer({ min: 50, max: 16_000 })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constant('kill' as const), fc.nat(2), fc.integer({ min: 50, max: 16_000 })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constant('slow' as const), fc.nat(2), fc.integer({ min: 10, max: 3_000 })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constant('calm' as const), fc.nat(2), fc.integer({ min: 50, max: 6_000 })),
  },
)

async function carryOut(world: FleetWorld, [what, index, ms]: Deed): Promise<void> {
  const machine = world.machines[index]!
  const later = (run: () => void): void => void world.at(world.now + ms, run)
  switch (what) {
    case 'change':
      void machine.change()
      await world.pass(ms)
      return
    case 'freeze':
      machine.freeze()
      later(() => machine.thaw())
      break
    case 'cut':
      machine.isCut = true
      later(() => {
        machine.isCut = false
      })
      break
    case 'kill':
      machine.kill()
      later(() => machine.start())
      break
    case 'slow':
      machine.mostDelayMs = ms
      later(() => {
        machine.mostDelayMs = 3
      })
      break
    case 'calm':
      await world.pass(ms)
      return
  }
  // Something else is to be wrong at the same time, mostly.
  await world.pass(ms / 10)
}

test('no machine serves by records that an answered change has made old', async (t) => {
  let answers = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(deed, { minLength: 5, maxLength: 40 }),
      fc.array(fc.tuple(fc.double({ ...RATES, noNaN: true }), fc.constantFrom(...LIMITS_MS)), {
        ...{ minLength: 3, maxLength: 3 },
      }),
      fc.nat(),
      async (deeds, clocks, seed) => {
        const world = new FleetWorld(seededRandom(seed))
        for (const [at, [rate, stalenessMs]] of clocks.entries()) {
          new SimulatedMachine({ world, name: 'abc'[at]!, rate, stalenessMs }).start()
        }
        await world.pass(1_000)
        for (const one of deeds) await carryOut(world, one)
        // Whatever was wrong is over by then, and everybody has found out.
        await world.pass(45_000)
        answers += world.answers
        const idle = world.machines.filter((machine) => !machine.serves()).map(({ name }) => name)
        if (world.violations.length > 0) throw new Error(world.violations[0])
        if (idle.length > 0) throw new Error(`${idle} did not come back`)
        const stuck = world.machines.filter(({ waiting }) => waiting > 0).map(({ name }) => name)
        if (stuck.length > 0) throw new Error(`a change of ${stuck} was never answered`)
      },
    ),
    { numRuns: RUNS },
  )
  t.ok(answers > RUNS, `${answers} changes were answered`)
})
