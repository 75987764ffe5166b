/** Items as bytes: their JSON answer, and what a search goes through. The same in every store. */
import type { ItemFields } from './store.js'

const FIELD_END = 0xff

/** The JSON answer of an item, in the contract's key order. `createdAt` is Unix time in seconds. */
export function encodeItem(id: number, fields: ItemFields, createdAt: number): string {
  const { name, description, price } = fields
  return JSON.stringify({ name, description, price, id, created_at: createdAt })
}

/** The same JSON up to the id, for a store that gives the id later. */
export function encodeItemHead({ name, description, price }: ItemFields): string {
  return `${JSON.stringify({ name, description, price }).slice(0, -1)},`
}

/** What follows the head. `createdAt` as JSON has it. */
export function encodeItemTail(id: number, createdAt: string): string {
  return `"id":${id},"created_at":${createdAt}}`
}

/** What a search finds an item by: `name FF description FF`. FF never occurs in UTF-8, so a match cannot reach across. */
export function encodeTextRow({ name, description }: ItemFields): Buffer {
  const row = Buffer.allocUnsafe(Buffer.byteLength(name) + Buffer.byteLength(description) + 2)
  let end = row.write(name)
  row[end++] = FIELD_END
  end += row.write(description, end)
  row[end] = FIELD_END
  return row
}

const COMMA = Buffer.from(',')
const OPEN_BRACKET = Buffer.from('[')
const CLOSE_BRACKET = Buffer.from(']')

/** A JSON array of runs of items; in a run commas stand between them already. */
export function jsonArrayOf(runs: readonly Uint8Array[]): Buffer {
  const parts = runs.flatMap((run, at) => (at === 0 ? [run] : [COMMA, run]))
  return Buffer.concat([OPEN_BRACKET, ...parts, CLOSE_BRACKET])
}
