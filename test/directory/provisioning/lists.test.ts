/** Lists where an index does not help: whole answers, in turns of the event loop, within bounds. */
import { test } from 'tap'
import { type ListWish, listResources, ScanLine } from '../../../src/directory/provisioning/lists.js'
import type { ResourceKind, Visit } from '../../../src/directory/provisioning/visit.js'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { parseProjection } from '../../../src/directory/scim/projection.js'
import type { DirectoryLookup, ScimDocument } from '../../../src/store/directory-store.js'

interface Row {
  readonly id: string
  readonly version: number
  readonly weight: number
}

const rows = (count: number, weight = 0): Row[] =>
  Array.from({ length: count }, (_, n) => ({ id: String(n).padStart(6, '0'), version: 1, weight }))

/** A kind whose store is a list. What it renders is told. */
function kindOf(
  list: readonly Row[],
  rendered: (row: Row, withList: boolean) => void = () => {},
  told: (asked: { lookup: DirectoryLookup; limit: number }) => void = () => {},
): ResourceKind<Row> {
  const missing = async () => new ScimError(404, null, 'none')
  return {
    name: 'Group',
    list: 'members',
    read: () => new ScimError(404, null, 'none'),
    page: (_scope, lookup, offset, limit) => {
      told({ lookup, limit })
      if (lookup.by === 'displayName' || lookup.by === 'id') {
        const found = list.filter(({ id }) => id === lookup.value)
        return { entries: found.slice(offset, offset + limit), total: found.length }
      }
      const after = lookup.by === 'all' ? (lookup.after ?? '') : ''
      const behind = list.filter(({ id }) => id > after)
      return { entries: behind.slice(offset, offset + limit), total: list.length }
    },
    create: missing,
    replace: missing,
    patch: missing,
    remove: missing,
    render: (row, withList): ScimDocument => {
      rendered(row, withList)
      return { schemas: [], id: row.id, displayName: row.id, externalId: String(-Number(row.id)) }
    },
    hasMember: (row, id) => row.id.endsWith(id),
    weigh: ({ weight }) => weight,
  }
}

const visit = (more: Partial<Visit> = {}): Visit => ({
  scope: { organizationId: 'o', connectionId: 'c' },
  actor: { actor: 'c', requestId: 'r', address: '' },
  quirks: new Set(),
  allows: () => true,
  isOver: () => false,
  ...more,
})

const ALL: ListWish = { filter: null, sortBy: null, sortOrder: null, startIndex: 1, count: 100 }

async function listed(
  kind: ResourceKind<Row>,
  wish: Partial<ListWish>,
  { line = new ScanLine(), asked = visit(), attributes = undefined as string | undefined } = {},
) {
  const projection = parseProjection(attributes, undefined, 'Group', new Set())
  const page = await listResources(kind, asked, { ...ALL, ...wish }, projection, line)
  if (page instanceof ScimError) return { refused: page, ids: [], total: 0 }
  return { refused: null, ids: page.resources.map(({ id }) => id), total: page.total }
}

test('a scan looks at everything, shows the page that was asked for and counts the rest', async (t) => {
  const kind = kindOf(rows(1_234))
  const { ids, total } = await listed(kind, { filter: 'displayName ew "3"', startIndex: 100, count: 50 })
  t.equal(total, 124)
  t.strictSame(
    ids,
    Array.from({ length: 25 }, (_, n) => String(993 + n * 10).padStart(6, '0')),
  )
})

test('what an index answers is not scanned', async (t) => {
  let seen = 0
  const kind = kindOf(rows(1_000), () => void seen++)
  t.strictSame(await listed(kind, { filter: 'displayName eq "000007"' }), {
    refused: null,
    ids: ['000007'],
    total: 1,
  })
  t.equal(seen, 1)
  t.equal((await listed(kind, { startIndex: 990 })).ids.length, 11)
  t.equal(seen, 12)
})

test('lists of members are read only where somebody wants them or a filter asks for them', async (t) => {
  const asked = new Set<boolean>()
  const kind = kindOf(rows(3), (_row, withList) => asked.add(withList))
  const withLists = async (wish: Partial<ListWish>, attributes?: string) => {
    asked.clear()
    await listed(kind, wish, { attributes })
    return [...asked]
  }
  t.strictSame(await withLists({}), [true])
  t.strictSame(await withLists({}, 'displayName'), [false])
  t.strictSame(
    await withLists({ filter: 'members eq "1"' }, 'displayName'),
    [false],
    'membership is asked for',
  )
  t.strictSame((await listed(kind, { filter: 'members eq "1"' })).ids, ['000001'])
})

test('an answer ends early where its groups have many members, and never without one', async (t) => {
  t.equal((await listed(kindOf(rows(50, 1_000)), {})).ids.length, 10)
  t.equal((await listed(kindOf(rows(50, 50_000)), {})).ids.length, 1)
  t.match(await listed(kindOf(rows(50, 1_000)), {}, { attributes: 'displayName' }), {
    total: 50,
    ids: { length: 50 },
  })
})

test('ten thousand results are sorted, one more is too many', async (t) => {
  const sorted = await listed(kindOf(rows(10_000)), {
    sortBy: 'displayName',
    sortOrder: 'descending',
    count: 2,
  })
  t.strictSame(sorted, { refused: null, ids: ['009999', '009998'], total: 10_000 })
  const { refused } = await listed(kindOf(rows(10_001)), { sortBy: 'displayName' })
  t.match(refused, { status: 400, scimType: 'tooMany' })
  const narrow = await listed(kindOf(rows(10_001)), { sortBy: 'displayName', filter: 'displayName sw "01"' })
  t.equal(narrow.total, 1)
})

test('records are read some at a time, and of those that are sorted only what they are sorted by is held', async (t) => {
  const limits: number[] = []
  const kind = kindOf(
    rows(500),
    () => {},
    ({ limit }) => limits.push(limit),
  )
  t.strictSame(
    (await listed(kind, { startIndex: 101, count: 200 })).ids,
    rows(300)
      .slice(100)
      .map(({ id }) => id),
  )
  t.equal((await listed(kind, { startIndex: 496, count: 200 })).ids.length, 5)
  t.equal((await listed(kind, { count: 0 })).ids.length, 0)
  await listed(kind, { filter: 'displayName ew "3"' })
  t.ok(Math.max(...limits) <= 20, `${limits}`)
  const shown: string[] = []
  const sorted = kindOf(
    rows(500),
    () => {},
    ({ lookup }) => lookup.by === 'id' && shown.push(lookup.value),
  )
  const { ids } = await listed(sorted, { sortBy: 'displayName', sortOrder: 'descending', count: 3 })
  t.strictSame(ids, ['000499', '000498', '000497'])
  t.strictSame(shown, ids, 'those that are shown are read again')
})

test('long work lets others have their turns', async (t) => {
  let others = 0
  const beat = setInterval(() => others++, 0)
  // Each row takes its time, so that the work is long on any machine.
  const slow = kindOf(rows(200), () => {
    const until = performance.now() + 1
    while (performance.now() < until);
  })
  await listed(slow, { filter: 'displayName co "x"' })
  clearInterval(beat)
  t.ok(others > 5, `${others} turns of others`)
})

test('a scan ends when nobody waits for it any more', async (t) => {
  let seen = 0
  const kind = kindOf(rows(1_000), () => void seen++)
  const asked = visit({ isOver: () => seen >= 10 })
  await t.rejects(listed(kind, { filter: 'displayName co "0"' }, { asked }), { message: 'deadline-exceeded' })
  t.equal(seen, 10)
})

test('a connection has one scan at a time; those of others go on beside it, also when one fails', async (t) => {
  const line = new ScanLine()
  const order: string[] = []
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const first = line.run('c', async () => {
    order.push('first begins')
    await held
    order.push('first ends')
    throw new Error('on purpose')
  })
  const second = line.run('c', async () => void order.push('second'))
  await line.run('d', async () => void order.push('other'))
  release()
  await t.rejects(first)
  await second
  t.strictSame(order, ['first begins', 'other', 'first ends', 'second'])
  await line.run('c', async () => void order.push('third'))
  t.equal(order.at(-1), 'third')
})
