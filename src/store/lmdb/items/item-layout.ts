import type { PageShape } from './slotted-page.js'

/**
 * How items lie in LMDB. Every table has 32-bit keys.
 *
 *  pages      16 items a row of JSON bytes each, so that a read cuts one row out and a list cuts out a run
 *  texts      the same items, 64 a page, as `name FF description FF`: what a search scans. FF never occurs in
 *             UTF-8, so a match cannot reach across fields or items
 *  directory  live items per page, one byte each, 4096 pages a row: lets an offset skip without reading pages
 *  counter    key 0: the last id given, as a double
 *
 * Item `id` stands in slot (id − 1) mod 16 of page ⌊(id − 1) / 16⌋, and likewise for texts.
 */
export const JSON_PAGE: PageShape = { slots: 16, separator: ',' }
export const TEXT_PAGE: PageShape = { slots: 64, separator: '' }
export const DIRECTORY_PAGES = 4096
export const COUNTER_KEY = 0

const FIELD_END = 0xff

export function encodeTextRow(name: string, description: string): Buffer {
  const row = Buffer.allocUnsafe(Buffer.byteLength(name) + Buffer.byteLength(description) + 2)
  let end = row.write(name)
  row[end++] = FIELD_END
  end += row.write(description, end)
  row[end] = FIELD_END
  return row
}
