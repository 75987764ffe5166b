/** The requests of the practice API's profiles: a seeded sequence of kinds, with ids that make sense. */

import { seededRandom } from '../../../src/base/random.js'
import { shuffled } from '../../harness/figures/sequence.js'
import type { OutgoingRequest } from '../../harness/http/http-load.js'
import { type RequestSpec, renderRequest } from '../../harness/http/requests.js'
import type { PracticeKind, RequestMix } from './profile.js'

const ZIPF_EXPONENT = 1.1
/** A step that has no factor in common with usual numbers of items, so that hot ids lie apart in the store. */
const SCATTER = 7919
/** Kinds are drawn in cycles of about so many, so that weights hold in every stretch of a run. */
const CYCLE = 1_000
const ITEMS = '/api/v1/items'

/** Ids 1 to `items`, the first rank much more often than the last: rank k with weight k^-1.1. */
export function zipfIdSource(items: number, random: () => number): () => number {
  const sums = new Float64Array(items)
  let sum = 0
  for (let rank = 1; rank <= items; rank++) sums[rank - 1] = sum += rank ** -ZIPF_EXPONENT
  return () => 1 + ((rankAbove(sums, random() * sum) * SCATTER) % items)
}

/** The first place whose sum lies above `value`. */
function rankAbove(sums: Float64Array, value: number): number {
  let low = 0
  let high = sums.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (sums[middle]! > value) high = middle
    else low = middle + 1
  }
  return low
}

/** The kinds of a mix in a fixed, shuffled cycle. */
export function kindCycle(mix: RequestMix, seed: number): PracticeKind[] {
  const kinds = Object.entries(mix) as [PracticeKind, number][]
  const total = kinds.reduce((sum, [, weight]) => sum + weight, 0)
  const each = (weight: number) => Math.max(1, Math.round((weight * CYCLE) / total))
  return shuffled(
    kinds.flatMap(([kind, weight]) => Array.from({ length: each(weight) }, () => kind)),
    seed,
  )
}

/** What a profile's ids are drawn from: seeded items, and those that deletes eat while creates add at the end. */
export interface ItemIds {
  readonly items: number
  /** The next to be deleted; it wanders through the upper half of the seeded items and then what was created. */
  next: number
}

export const newItemIds = (items: number): ItemIds => ({ items, next: Math.floor(items / 2) + 1 })

/** Requests by number; `kinds` are the names that `OutgoingRequest.kind` points to. */
export function practiceRequests(
  mix: RequestMix,
  ids: ItemIds,
  seed: number,
  host: string,
): { readonly kinds: PracticeKind[]; readonly request: (index: number) => OutgoingRequest } {
  const kinds = Object.keys(mix) as PracticeKind[]
  const cycle = kindCycle(mix, seed)
  // Reads keep to what no delete touches.
  const hot = zipfIdSource(Math.max(1, Math.floor(ids.items / 2)), seededRandom(seed + 1))
  const ready = kinds.map((kind, index) => {
    const spec = SPECS[kind]
    if (typeof spec !== 'function') return renderRequest(spec, index, host)
    return () => renderRequest(spec(hot, ids), index, host)
  })
  const request = (index: number): OutgoingRequest => {
    const one = ready[kinds.indexOf(cycle[index % cycle.length]!)]!
    return typeof one === 'function' ? one() : one
  }
  return { kinds, request }
}

/** About 200 bytes. */
const BODY = JSON.stringify({
  name: 'profile item',
  description:
    'An item written by a load profile; it is as long as the items that people write, some two hundred bytes in all.',
  price: 12.5,
})

const getSpec = (path: string): RequestSpec => ({ method: 'GET', route: path, path })

function hashSpec(rounds: number): RequestSpec {
  const body = JSON.stringify({ data: 'profile', rounds })
  return { method: 'POST', route: '/api/v1/hash', path: '/api/v1/hash', body }
}

/** A request that is the same each time, or makes one about an item of its own. */
const SPECS: Readonly<
  Record<PracticeKind, RequestSpec | ((hot: () => number, ids: ItemIds) => RequestSpec)>
> = {
  health: getSpec('/api/v1/health'),
  get: (hot) => getSpec(`${ITEMS}/${hot()}`),
  list: getSpec(ITEMS),
  create: { method: 'POST', route: ITEMS, path: ITEMS, body: BODY },
  update: (hot) => ({ method: 'PUT', route: ITEMS, path: `${ITEMS}/${hot()}`, body: BODY }),
  delete: (_, ids) => ({ method: 'DELETE', route: ITEMS, path: `${ITEMS}/${ids.next++}` }),
  'search-none': getSpec('/api/v1/search?q=zqx'),
  'search-few': getSpec('/api/v1/search?q=999'),
  'search-half': getSpec('/api/v1/search?q=ite'),
  report: getSpec('/api/v1/report'),
  'hash-1k': hashSpec(1_000),
  'hash-10k': hashSpec(10_000),
  'hash-100k': hashSpec(100_000),
}
