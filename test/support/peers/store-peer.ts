/** Another process with the same store open. */
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import type { ItemFields, Store } from '../../../src/store/store.js'
import { type PeerOptions, type PeerProcess, servePeer, startPeer } from './peer-process.js'

export type PeerRequest =
  | { readonly do: 'read'; readonly id: number }
  | { readonly do: 'create'; readonly fields: ItemFields }
  | { readonly do: 'replace'; readonly id: number; readonly fields: ItemFields }
  | { readonly do: 'remove'; readonly id: number }
  /** Replaces items 1 to `items` over and over; `bytes` of text each. */
  | { readonly do: 'rewrite'; readonly items: number; readonly rounds: number; readonly bytes: number }
  /** Creates items until the store refuses one; answers with how many were acknowledged and the fault's kind. */
  | { readonly do: 'fill' }
  /** Creates items without end, `{ created }` for each that was acknowledged; no other answer. */
  | { readonly do: 'create-on' }

/** Answers with the JSON of an item, `true`, `false`, or `null`. */
export type StorePeer = PeerProcess<PeerRequest, string>

/** Starts a process that opens the store at `path`; resolves when it has. */
export function startStorePeer(path: string, options?: PeerOptions): Promise<StorePeer> {
  return startPeer(import.meta.url, path, options)
}

const textOf = (bytes: Uint8Array | null): string => (bytes === null ? 'null' : Buffer.from(bytes).toString())

async function answerTo({ items }: Store, request: Exclude<PeerRequest, { do: 'create-on' }>) {
  switch (request.do) {
    case 'read':
      return textOf(await items.read(request.id))
    case 'create':
      return textOf((await items.create(request.fields)).json)
    case 'replace':
      return textOf(await items.replace(request.id, request.fields))
    case 'remove':
      return String(await items.remove(request.id))
    case 'rewrite':
      return rewrite(items, request)
    case 'fill':
      return fill(items)
  }
}

async function rewrite(
  items: Store['items'],
  { items: count, rounds, bytes }: Extract<PeerRequest, { do: 'rewrite' }>,
): Promise<string> {
  for (let round = 0; round < rounds; round++) {
    const description = String(round % 10).repeat(bytes)
    await Promise.all(
      Array.from({ length: count }, (_, i) =>
        items.replace(i + 1, { name: `r${round}`, description, price: 0 }),
      ),
    )
  }
  return 'true'
}

async function fill(items: Store['items']): Promise<string> {
  const fields = { name: 'item', description: 'x'.repeat(1000), price: 0 }
  let acknowledged = 0
  for (;;) {
    const outcomes = await Promise.allSettled(Array.from({ length: 64 }, () => items.create(fields)))
    acknowledged += outcomes.filter(({ status }) => status === 'fulfilled').length
    const refused = outcomes.find((outcome) => outcome.status === 'rejected')
    if (refused !== undefined) return JSON.stringify({ acknowledged, kind: refused.reason.kind })
  }
}

async function createOn({ items }: Store): Promise<never> {
  for (;;) {
    await Promise.all(
      Array.from({ length: 7 }, async () => {
        const { id } = await items.create({
          name: 'created',
          description: 'by the one that is killed',
          price: 1,
        })
        process.send!({ created: id })
      }),
    )
  }
}

await servePeer(import.meta.url, (path) => {
  const store = openLmdbStore({ path, unixSeconds: () => 1_700_000_000 })
  return {
    answer: (request: PeerRequest) =>
      request.do === 'create-on' ? createOn(store) : answerTo(store, request),
    close: () => store.close(),
  }
})
