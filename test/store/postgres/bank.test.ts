/** The bank of all machines in PostgreSQL, under machines that die, freeze, hear nothing and come back. */
import { t } from 'tap'
import { BankWorld } from '../../../bench/trials/fleet/bank-world.js'
import type { CallOutcome, SimulatedMachine } from '../../../bench/trials/fleet/simulated-machine.js'
import { sleep, systemClock } from '../../../src/base/clock.js'
import type { Quota } from '../../../src/limits/quota.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { eventually } from '../../support/timing/eventually.js'

const credits = (name: string, capacity: number) => ({ name: `$${name} never`, capacity, windowMs: 0 })
const MINUTE = 60_000
/** Where a machine has other things to do, more happens until calls enough were looked at. */
const MOST_DEEDS = 1_000

/** A call that is made again, as a caller does after a 503, until it was answered or there was no more. */
async function decided(machine: SimulatedMachine, quota: Quota, amount: number): Promise<CallOutcome> {
  return eventually(async () => {
    const outcome = await machine.call(quota, amount, amount)
    return outcome === 'unknown' ? null : outcome
  })
}

function count(outcomes: readonly CallOutcome[], wanted: CallOutcome): number {
  return outcomes.filter((outcome) => outcome === wanted).length
}

t.test('the bank in PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)

  const worldOf = async (
    t: { after(close: () => Promise<void>): void },
    machines: number,
    losesHint?: () => boolean,
  ): Promise<BankWorld> => {
    const url = await cluster.database()
    const world = await BankWorld.open({ url, machines, connections: 12, ...(losesHint && { losesHint }) })
    t.after(() => world.close())
    return world
  }

  t.test('credits for 100 calls offered 500 over three machines are spent by exactly 100', async (t) => {
    const world = await worldOf(t, 3)
    for (let round = 0; round < 20; round++) {
      const quota = credits(`o${round}`, 100)
      const outcomes = await Promise.all(
        Array.from({ length: 500 }, (_, n) => decided(world.machines[n % 3]!, quota, 1)),
      )
      t.equal(count(outcomes, 'answered'), 100)
      t.equal(count(outcomes, 'short'), 400)
      await eventually(async () => (await world.balance(quota.name)).spent === 100 || null)
    }
    t.strictSame(await world.faults(), [])
  })

  t.test('a window of 1,000 offered 4,000 on three machines gives 1,000', async (t) => {
    const world = await worldOf(t, 3)
    // So long that a slow machine comes to no second one.
    const quota = { name: 'rk', capacity: 1_000, windowMs: 60 * MINUTE }
    let answered = 0
    for (let wave = 0; wave < 40; wave++) {
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, (_, n) => decided(world.machines[(n * 7 + wave) % 3]!, quota, 1)),
      )
      answered += count(outcomes, 'answered')
    }
    t.equal(answered, 1_000)
  })

  t.test(
    'a limit that was set or changed counts on all machines from then on, with all that was answered before',
    async (t) => {
      const world = await worldOf(t, 3)
      const name = '$oacme never'
      const offer = async (capacity: number, calls: number): Promise<number> => {
        const quota = { ...credits('oacme', capacity), name }
        const outcomes = await Promise.all(
          Array.from({ length: calls }, (_, n) => decided(world.machines[n % 3]!, quota, 1)),
        )
        return count(outcomes, 'answered')
      }
      for (const machine of world.machines) machine.spendFreely(name, 10)
      await world.setCredits('acme', 100)
      t.equal(await offer(100, 20), 20, 'leases are out now')
      await world.setCredits('acme', 55)
      t.equal(await offer(55, 60), 5)
      await world.setCredits('acme', 70)
      t.equal(await offer(70, 6), 6)
      await world.setCredits('acme', null)
      for (const machine of world.machines) machine.spendFreely(name, 3)
      await world.setCredits('acme', 72)
      t.equal(await offer(72, 60), 2)
      t.equal(world.committed(name), 72)
      await eventually(async () => (await world.balance(name)).settled === 72 || null)
      t.equal(await offer(1_000, 3), 0, 'whatever a machine believes that the limit is')
      t.strictSame(await world.faults(), [])
    },
  )

  t.test(
    'limits that change, machines that are forgotten and come back: nothing is admitted beyond the limit',
    async (t) => {
      const random = randomFrom(7)
      const world = await worldOf(t, 3, () => random() < 0.3)
      const name = '$oacme never'
      let capacity: number | null = 500
      /** Counts changes; odd while one is under way. */
      let changes = 0
      /** What a machine held was given up: until the limit is set anew, an overspend is as promised. */
      let isForgotten = false
      let checked = 0
      let isOver = false
      const beyond: string[] = []
      const tally = { answered: 0, unknown: 0, short: 0 }
      await world.setCredits('acme', capacity)
      const offer = async (): Promise<void> => {
        while (!isOver) {
          const machine = world.machines[Math.floor(random() * 3)]!
          const amount = 1 + Math.floor(random() * 20)
          const [limit, begun] = [capacity, changes]
          const during = sleep(random() * 30, systemClock)
          if (limit === null) {
            if (!machine.isFrozen && !machine.isDead && begun % 2 === 0) machine.spendFreely(name, amount)
            await during
            continue
          }
          const onAdmitted = (): void => {
            if (begun % 2 === 1 || begun !== changes || isForgotten) return
            checked++
            const committed = world.committed(name)
            if (committed > limit) beyond.push(`${committed} of ${limit}`)
          }
          const quota = { name, capacity: limit, windowMs: 0 }
          const outcome = await machine.call(quota, amount, Math.ceil(random() * amount), during, onAdmitted)
          tally[outcome]++
          if (outcome !== 'answered') await sleep(5, systemClock)
        }
      }
      const seen: string[] = []
      const look = async (): Promise<void> => {
        while (!isOver) {
          seen.push(...(await world.faults(true).catch(() => [])))
          await sleep(20, systemClock)
        }
      }
      const setCredits = async (credits: number | null): Promise<void> => {
        changes++
        await world.setCredits('acme', credits)
        capacity = credits
        isForgotten = false
        changes++
      }
      const callers = [...Array.from({ length: 8 }, offer), look()]
      for (let deed = 0; deed < 40 || (checked <= 100 && deed < MOST_DEEDS); deed++) {
        const machine = world.machines[Math.floor(random() * 3)]!
        const choice = random()
        if (choice < 0.6)
          await setCredits(Math.max(0, Math.floor(world.committed(name) + 300 * (random() - 0.3))))
        else if (choice < 0.8) {
          await setCredits(null)
          await sleep(random() * 100, systemClock)
          await setCredits(Math.floor(world.committed(name) + 200 * random()))
        } else {
          isForgotten = true
          await dieAndReturn(world, machine)
        }
        await sleep(random() * 150, systemClock)
      }
      isOver = true
      await Promise.all(callers)
      t.strictSame(seen, [])
      t.strictSame(beyond, [])
      t.ok(checked > 100, `${checked} looked at, ${JSON.stringify(tally)}`)
      const left = world.committed(name) + 10
      await setCredits(left)
      await eventually(async () => {
        const quota = { name, capacity: left, windowMs: 0 }
        return (await world.machines[0]!.call(quota, 10, 10)) === 'answered' || null
      })
      t.equal(await decided(world.machines[1]!, { name, capacity: left, windowMs: 0 }, 1), 'short')
    },
  )

  t.test(
    'machines die, freeze, hear nothing and come back, PostgreSQL too: no limit is exceeded',
    async (t) => {
      const random = randomFrom(20_260_125)
      const world = await worldOf(t, 3, () => random() < 0.3)
      const quotas = [credits('small', 400), credits('large', 40_000)]
      const places = { name: 'ck', capacity: 6, windowMs: 0 }
      const tally = { answered: 0, unknown: 0, short: 0 }
      const seen: string[] = []
      let isOver = false

      const offer = async (): Promise<void> => {
        while (!isOver) {
          const machine = world.machines[Math.floor(random() * 3)]!
          const amount = 1 + Math.floor(random() * 20)
          const during = sleep(random() * 30, systemClock)
          const isLarge = random() < 0.8
          const outcome = await (random() < 0.2
            ? machine.call(places, 1, 0, during)
            : machine.call(quotas[isLarge ? 1 : 0]!, amount, Math.ceil(random() * amount), during))
          tally[outcome]++
          if (outcome !== 'answered') await sleep(5, systemClock)
        }
      }
      const look = async (): Promise<void> => {
        while (!isOver) {
          seen.push(...(await world.faults().catch(() => [])))
          await sleep(20, systemClock)
        }
      }
      const callers = [...Array.from({ length: 12 }, offer), look()]
      for (let deed = 0; deed < 60 || (tally.answered <= 500 && deed < MOST_DEEDS); deed++) {
        const at = Math.floor(random() * 3)
        await harm(cluster, world, at, random)
        await sleep(random() * 60, systemClock)
      }
      for (const machine of world.machines) if (machine.isFrozen) machine.thaw()
      isOver = true
      await Promise.all(callers)
      t.strictSame(seen, [])
      t.ok(tally.answered > 500, `${tally.answered} answered, ${tally.short} short, ${tally.unknown} unknown`)

      // All of a limit can be spent, whatever has happened: nothing is lost in leases that nobody knows of.
      for (let at = 0; at < 3; at++) {
        world.machines[at]!.kill()
        await untilTaken(() => world.start(at))
      }
      for (const quota of quotas) {
        await eventually(async () => {
          const { spent } = await world.balance(quota.name)
          const outcome = await world.machines[0]!.call(
            quota,
            Math.max(1, quota.capacity - spent),
            quota.capacity - spent,
          )
          await world.machines[0]!.intake()
          return (await world.balance(quota.name)).spent === quota.capacity && outcome !== 'unknown'
            ? true
            : null
        })
        t.equal(await decided(world.machines[1]!, quota, 1), 'short')
      }
      t.strictSame(await world.faults(), [])
    },
  )
})

/** Numbers from 0 to 1 that are the same in every run. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Until the database is there again. */
async function untilTaken(deed: () => Promise<void>): Promise<void> {
  await eventually(async () => {
    try {
      await deed()
      return true
    } catch {
      return null
    }
  })
}

async function dieAndReturn(world: BankWorld, machine: SimulatedMachine): Promise<void> {
  const at = world.machines.indexOf(machine)
  machine.kill()
  await world.expire(machine)
  // Its calls are on its disk, which comes back at once: what is not taken in counts, and the rest was forgotten.
  await world.forget(machine)
  await world.start(at)
}

async function harm(
  cluster: PostgresCluster,
  world: BankWorld,
  at: number,
  random: () => number,
): Promise<void> {
  const machine = world.machines[at]!
  const choice = random()
  if (choice < 0.3) {
    machine.kill()
    await untilTaken(() => world.start(at))
  } else if (choice < 0.6) {
    machine.freeze()
    await sleep(random() * 300, systemClock)
    machine.thaw()
  } else if (choice < 0.9) {
    machine.freeze()
    await untilTaken(() => world.expire(machine))
    await sleep(random() * 300, systemClock)
    await untilTaken(() => world.rejoin(machine))
  } else {
    await cluster.kill()
    await cluster.start()
  }
}
