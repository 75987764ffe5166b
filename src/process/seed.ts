import { type Clock, sleep } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { ItemFields, ItemStore } from '../store/store.js'

/** Created together. */
const ITEMS_AT_A_TIME = 512
/** Before another try, when somebody else has created items meanwhile; times a random factor around 1. */
const PAUSE_MS = 150
/** Between two lines that tell how far it is. */
const PROGRESS_MS = 5_000

/**
 * Creates items until `count` ids have ever been given. A restart therefore adds nothing, and a start that was
 * cut short goes on where it was. About 100 bytes of text each. Of several machines that begin
 * on one store, one at a time creates them and the others wait: none is created twice. Stops early when `leaving` says so, and when the store takes
 * no more: a full disk is no reason not to serve.
 */
export async function seedItems(
  items: ItemStore,
  count: number,
  log: Log,
  clock: Clock,
  leaving: () => boolean = () => false,
): Promise<void> {
  const first = (await items.lastId()) + 1
  let made = 0
  try {
    let toldAt = clock.monotonicMs()
    for (let last = first - 1; last < count && !leaving(); ) {
      const created = await items.createNext(last, seedItemsBehind(last, count))
      made += created
      last += created
      if (created === 0) {
        await sleep(PAUSE_MS * (0.5 + Math.random()), clock)
        last = await items.lastId()
      }
      if (clock.monotonicMs() - toldAt >= PROGRESS_MS) {
        toldAt = clock.monotonicMs()
        log.info({ have: last, wanted: count }, 'seeding items')
      }
    }
  } catch (err) {
    const have = await Promise.resolve(items.lastId()).catch(() => null)
    log.warn({ err, have, wanted: count }, 'not all items could be seeded')
    return
  }
  if (made > 0) log.info({ from: first, to: count }, 'seeded items')
}

function seedItemsBehind(last: number, count: number): readonly ItemFields[] {
  const size = Math.min(ITEMS_AT_A_TIME, count - last)
  return Array.from({ length: size }, (_, i) => seedItem(last + 1 + i))
}

function seedItem(n: number): ItemFields {
  return {
    name: `Practice item ${n}`,
    description: `Seeded for load tests, number ${n}: nothing here is worth buying, all of it can be listed.`,
    price: (n % 1000) / 10,
  }
}
