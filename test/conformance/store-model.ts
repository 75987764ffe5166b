import type { ItemFields, ItemStore, SearchResult, Store } from '../../src/store/store.js'
import { AccountModel } from './account-model.js'

interface StoredItem {
  readonly fields: ItemFields
  readonly createdAt: number
}

/** What a store of items means, said as plainly as possible: a map in the order of ids, and a counter. */
export class ItemModel {
  lastId = 0
  readonly #items = new Map<number, StoredItem>()

  get ids(): number[] {
    return [...this.#items.keys()].sort((a, b) => a - b)
  }

  fields(id: number): ItemFields | undefined {
    return this.#items.get(id)?.fields
  }

  json(id: number): string | null {
    const item = this.#items.get(id)
    if (item === undefined) return null
    const { name, description, price } = item.fields
    return JSON.stringify({ name, description, price, id, created_at: item.createdAt })
  }

  list(offset: number, limit: number): string {
    return this.#array(this.ids.slice(offset, offset + limit))
  }

  search(needle: string, limit: number): { readonly items: string; readonly scanned: number } {
    const matches = this.ids.filter((id) => {
      const { name, description } = this.fields(id)!
      return name.includes(needle) || description.includes(needle)
    })
    return { items: this.#array(matches.slice(0, limit)), scanned: this.#items.size }
  }

  create(fields: ItemFields, now: number): number {
    this.lastId++
    this.#items.set(this.lastId, { fields, createdAt: now })
    return this.lastId
  }

  replace(id: number, fields: ItemFields): string | null {
    const item = this.#items.get(id)
    if (item !== undefined) this.#items.set(id, { ...item, fields })
    return this.json(id)
  }

  remove(id: number): boolean {
    return this.#items.delete(id)
  }

  #array(ids: readonly number[]): string {
    return `[${ids.map((id) => this.json(id)).join(',')}]`
  }
}

/** The model behind the port of the store: the reference implementation the shared suite is run against. */
export function modelStore(
  model: ItemModel,
  unixSeconds: () => number,
  accounts: AccountModel = new AccountModel(),
): Omit<Store, 'federation' | 'directory' | 'files' | 'memory' | 'providerKeys' | 'scim' | 'sessions'> {
  const items: ItemStore = {
    read: (id) => bytesOf(model.json(id)),
    list: (offset, limit) => Buffer.from(model.list(offset, limit)),
    search: (needle, limit): SearchResult => {
      const found = model.search(Buffer.from(needle).toString(), limit)
      return { items: Buffer.from(found.items), scanned: found.scanned }
    },
    create: async (fields) => {
      const id = model.create(fields, unixSeconds())
      return { id, json: Buffer.from(model.json(id)!) }
    },
    createNext: async (after, fields) => {
      if (after !== model.lastId) return 0
      for (const each of fields) model.create(each, unixSeconds())
      return fields.length
    },
    replace: async (id, fields) => bytesOf(model.replace(id, fields)),
    remove: async (id) => model.remove(id),
    lastId: () => model.lastId,
  }
  return { items, accounts, isWriting: () => false, close: () => Promise.resolve() }
}

function bytesOf(json: string | null): Uint8Array | null {
  return json === null ? null : Buffer.from(json)
}
