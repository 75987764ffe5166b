/** What the statements of membership promise of a machine's row, whatever order they arrive in. */
import { t } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import type { JoinRequest } from '../../../src/store/membership.js'
import { openDatabase } from '../../../src/store/postgres/database.js'
import { createMembership } from '../../../src/store/postgres/membership.js'
import { migrate } from '../../../src/store/postgres/migrate.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'

const FACTS = { release: '', node: '', clock_ms: 0, journal_bytes: 0 }

const request = (name: string, stalenessMs: number): JoinRequest => ({
  name,
  folder: `00000000-0000-4000-8000-00000000000${name.length}`,
  run: '00000000-0000-4000-8000-0000000000aa',
  isRejoining: false,
  terms: { publicUrl: '', apiKeyHash: '', managementKeyHash: '' },
  servesAway: false,
  stalenessMs,
  facts: FACTS,
  sealedCheck: '',
  opensCheck: () => true,
})

t.test('membership in PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const database = openDatabase({
    ...{ url: await cluster.database(), connections: 3, clock: systemClock, name: 'test' },
  })
  t.after(() => database.close())
  await migrate(database)
  const membership = createMembership(database)
  const join = async (name: string, stalenessMs: number) => {
    const joined = await membership.join(request(name, stalenessMs))
    if (!joined.joined) throw new Error(`${name} could not join`)
    return { name, epoch: joined.epoch }
  }
  const changeAt = async (version: number): Promise<{ version: number; change: string }> => {
    const [change] = await database.query<{ id: string }>(
      version === 0
        ? 'SELECT id FROM sluice.changes WHERE version = $1'
        : 'INSERT INTO sluice.changes (version, id) VALUES ($1, gen_random_uuid()) RETURNING id',
      [version],
    )
    return { version, change: change!.id }
  }
  const ant = await join('ant', 4_000)
  const bees = await join('bees', 60_000)
  const [first, second] = [await changeAt(0), await changeAt(1)]
  await membership.goLive(ant, first)
  await membership.goLive(bees, first)

  t.test('others hear for how long a machine serves by itself', async (t) => {
    const answer = await membership.beat(ant, first, FACTS, [])
    t.match(answer!.others, [{ name: 'bees', epoch: bees.epoch, stalenessMs: 60_000 }])
    t.match(await membership.behind(1, ant), [{ name: 'bees', stalenessMs: 60_000, isAwaited: true }])
  })

  t.test('only the epoch that makes a change is not asked for it', async (t) => {
    t.same(
      (await membership.behind(1, bees)).map(({ name }) => name),
      ['ant'],
    )
    const other = { name: 'bees', epoch: bees.epoch + 100 }
    t.same((await membership.behind(1, other)).map(({ name }) => name).sort(), ['ant', 'bees'])
    t.same((await membership.behind(1, null)).length, 2)
  })

  t.test('what was confirmed stays so when an earlier word arrives late', async (t) => {
    t.ok(await membership.confirm(ant, second))
    t.match(await membership.beat(ant, first, FACTS, []), { applied: 1 })
    t.same(
      (await membership.behind(1, null)).map(({ name }) => name),
      ['bees'],
    )
  })

  t.test('a version of another history counts for nothing', async (t) => {
    const strange = { version: 1, change: '00000000-0000-4000-8000-0000000000ff' }
    t.match(await membership.beat(bees, strange, FACTS, []), { applied: 0 })
    t.same(
      (await membership.behind(1, null)).map(({ name }) => name),
      ['bees'],
    )
  })

  t.test('who has expired has no say until it has joined anew', async (t) => {
    const [silent] = await membership.behind(1, null)
    await membership.expire([{ ...silent!, beat: silent!.beat - 1 }])
    t.ok(await membership.confirm(bees, first), 'one whose beats have moved is not expired')
    await membership.expire([silent!])
    t.notOk(await membership.confirm(bees, second))
    t.equal(await membership.beat(bees, second, FACTS, []), null)
    t.equal(await membership.goLive(bees, second), null)
    const again = await join('bees', 60_000)
    t.ok(again.epoch > bees.epoch)
    t.match(await membership.goLive(again, second), { applied: 1 })
    t.same(await membership.behind(1, null), [])
  })
})
