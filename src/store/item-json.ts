import type { ItemFields } from './store.js'

/** The JSON answer of an item, in the contract's key order. `createdAt` is Unix time in seconds. */
export function encodeItem(id: number, fields: ItemFields, createdAt: number): string {
  const { name, description, price } = fields
  return JSON.stringify({ name, description, price, id, created_at: createdAt })
}

/** Creation time of a stored item, read from its JSON. */
export function readCreatedAt(json: Uint8Array): number {
  const { created_at } = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString())
  return created_at
}
