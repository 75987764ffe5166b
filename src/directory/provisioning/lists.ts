/** Lists of resources (RFC 7644 section 3.4.2). */
import { Fault } from '../../base/fault.js'
import { sortInTurns } from '../../base/sorting-in-turns.js'
import { TurnSlices } from '../../base/turn-slices.js'
import type { DirectoryLookup, ScimDocument } from '../../store/directory-store.js'
import { MOST_PER_PAGE } from '../scim/discovery.js'
import { refusal, ScimError } from '../scim/errors.js'
import { parseFilter, type ScimFilter } from '../scim/filter.js'
import type { Projection } from '../scim/projection.js'
import { parseSort, type SortKey, type SortOrder } from '../scim/sorting.js'
import { shownOf } from './showing.js'
import type { ResourceKind, Stored, Visit } from './visit.js'

/** What a list is asked for. */
export interface ListWish {
  readonly filter: string | null
  readonly sortBy: string | null
  readonly sortOrder: string | null
  /** Counts from 1; anything below is 1. */
  readonly startIndex: number
  /** What is below 0 is 0; there are never more than 200. */
  readonly count: number
}

export interface ListPage {
  readonly resources: readonly ScimDocument[]
  readonly total: number
  readonly startIndex: number
}

/** Records that are taken from the store in one go: each may be as large as a document may be. */
const READ_AT_ONCE = 20
/** Resources of which the key is held to be sorted. */
const MOST_SORTED = 10_000
/** Members of groups in one answer, beyond which a page ends early (RFC 7644 section 3.4.2.4 lets it). */
const MOST_MEMBERS = 10_000

const TOO_MANY_TO_SORT = refusal(
  'tooMany',
  `More than ${MOST_SORTED} resources match, which cannot be sorted: narrow the filter.`,
)
const EVERYTHING: ScimFilter = {
  lookup: { by: 'all' },
  exact: true,
  reads: () => false,
  matches: () => true,
}

/** Which of the results are shown. */
interface Window {
  readonly offset: number
  readonly limit: number
}

/** Where the scans of a process stand in line: each connection has one at a time. */
export class ScanLine {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs a scan when those of the same connection that came before are over. */
  async run<R>(connectionId: string, scan: () => Promise<R>): Promise<R> {
    const before = this.#last.get(connectionId)
    const mine = (async () => {
      await before?.catch(() => {})
      return scan()
    })()
    this.#last.set(connectionId, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(connectionId) === mine) this.#last.delete(connectionId)
    }
  }
}

/** A page of what matches. What no index answers is looked at one by one, in turns of the event loop. */
export async function listResources<T extends Stored>(
  kind: ResourceKind<T>,
  visit: Visit,
  wish: ListWish,
  projection: Projection,
  line: ScanLine,
): Promise<ListPage | ScimError> {
  const filter = wish.filter === null ? EVERYTHING : parseFilter(wish.filter, kind.name, visit.quirks)
  if (filter instanceof ScimError) return filter
  const order =
    wish.sortBy === null ? null : parseSort(wish.sortBy, wish.sortOrder ?? undefined, kind.name, visit.quirks)
  if (order instanceof ScimError) return order
  const startIndex = Math.max(1, wish.startIndex)
  const window = { offset: startIndex - 1, limit: Math.min(MOST_PER_PAGE, Math.max(0, wish.count)) }
  const found =
    filter.exact && order === null
      ? await pageOf(kind, visit, filter.lookup, window)
      : await line.run(visit.scope.connectionId, () => scanFor(kind, visit, filter, order, window))
  if (found instanceof ScimError) return found
  return { resources: await show(kind, found.entries, projection), total: found.total, startIndex }
}

interface Found<T> {
  readonly entries: readonly T[]
  readonly total: number
}

async function pageOf<T extends Stored>(
  kind: ResourceKind<T>,
  { scope }: Visit,
  lookup: DirectoryLookup,
  { offset, limit }: Window,
): Promise<Found<T>> {
  const slices = new TurnSlices()
  const first = kind.page(scope, lookup, offset, Math.min(limit, READ_AT_ONCE))
  const entries = [...first.entries]
  for (let read = entries; read.length === READ_AT_ONCE && entries.length < limit; ) {
    if (slices.isOver) await slices.next()
    const most = Math.min(limit - entries.length, READ_AT_ONCE)
    // Behind the last one, as others may have been removed in between.
    read =
      lookup.by === 'all'
        ? [...kind.page(scope, { by: 'all', after: entries.at(-1)!.id }, 0, most).entries]
        : [...kind.page(scope, lookup, offset + entries.length, most).entries]
    entries.push(...read)
  }
  return { entries, total: first.total }
}

async function scanFor<T extends Stored>(
  kind: ResourceKind<T>,
  visit: Visit,
  filter: ScimFilter,
  order: SortOrder | null,
  { offset, limit }: Window,
): Promise<Found<T> | ScimError> {
  const matches: { readonly id: string; readonly key: SortKey }[] = []
  const entries: T[] = []
  let total = 0
  await scan(kind, visit, filter, (record, resource) => {
    total++
    if (order !== null) matches.push({ id: record.id, key: order.keyOf(resource) })
    else if (total > offset && entries.length < limit) entries.push(record)
    return matches.length <= MOST_SORTED
  })
  if (matches.length > MOST_SORTED) return TOO_MANY_TO_SORT
  if (order === null) return { entries, total }
  const sorted = await sortInTurns(matches, (a, b) => order.compare(a.key, b.key))
  const slices = new TurnSlices()
  for (const { id } of sorted.slice(offset, offset + limit)) {
    if (slices.isOver) await slices.next()
    entries.push(...kind.page(visit.scope, { by: 'id', value: id }, 0, 1).entries)
  }
  return { entries, total }
}

/** Tells of each resource that matches, until it is told to stop or nobody waits any more. */
async function scan<T extends Stored>(
  kind: ResourceKind<T>,
  { scope, isOver }: Visit,
  filter: ScimFilter,
  onMatch: (record: T, resource: ScimDocument) => boolean,
): Promise<void> {
  const withList = filter.reads(kind.list)
  const slices = new TurnSlices()
  let lookup = filter.lookup
  for (let offset = 0; ; ) {
    const { entries } = kind.page(scope, lookup, offset, READ_AT_ONCE)
    for (const record of entries) {
      const rendered = kind.render(record, withList)
      const resource = rendered instanceof Promise ? await rendered : rendered
      const isMatch = filter.matches(resource, (id) => kind.hasMember(record, id))
      if (isMatch && !onMatch(record, resource)) return
      if (slices.isOver) await slices.next()
      // The answer has been given already: this one goes nowhere.
      if (isOver()) throw new Fault('deadline-exceeded')
    }
    if (entries.length < READ_AT_ONCE) return
    if (lookup.by === 'all') lookup = { by: 'all', after: entries.at(-1)!.id }
    else offset += entries.length
  }
}

/** The resources as they are shown, fewer where their lists are long. */
async function show<T extends Stored>(
  kind: ResourceKind<T>,
  records: readonly T[],
  projection: Projection,
): Promise<ScimDocument[]> {
  const withList = projection.wants(kind.list)
  const slices = new TurnSlices()
  const shown: ScimDocument[] = []
  let weight = 0
  for (const record of records) {
    if (withList) weight += kind.weigh(record)
    if (weight > MOST_MEMBERS && shown.length > 0) break
    shown.push(await shownOf(kind, record, projection))
    if (slices.isOver) await slices.next()
  }
  return shown
}
