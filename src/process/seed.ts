import type { Log } from '../base/log.js'
import type { ItemStore } from '../store/store.js'

/** Creations under way at a time: enough to fill the store's batches. */
const CONCURRENT_CREATIONS = 512

/**
 * Creates items until `count` ids have ever been given. A restart therefore adds nothing, and a start that was
 * cut short goes on where it was. About 100 bytes of text each. Stops early when `leaving` says so, and when the store
 * takes no more: a full disk is no reason not to serve.
 */
export async function seedItems(
  items: ItemStore,
  count: number,
  log: Log,
  leaving: () => boolean = () => false,
): Promise<void> {
  const first = items.lastId() + 1
  for (let next = first; next <= count && !leaving(); next += CONCURRENT_CREATIONS) {
    const size = Math.min(CONCURRENT_CREATIONS, count - next + 1)
    const made = await Promise.allSettled(
      Array.from({ length: size }, (_, i) => items.create(seedItem(next + i))),
    )
    const refused = made.find((each) => each.status === 'rejected')
    if (refused !== undefined) {
      log.warn({ err: refused.reason, have: items.lastId(), wanted: count }, 'not all items could be seeded')
      return
    }
  }
  if (first <= count) log.info({ from: first, to: count }, 'seeded items')
}

function seedItem(n: number): { name: string; description: string; price: number } {
  return {
    name: `Practice item ${n}`,
    description: `Seeded for load tests, number ${n}: nothing here is worth buying, all of it can be listed.`,
    price: (n % 1000) / 10,
  }
}
