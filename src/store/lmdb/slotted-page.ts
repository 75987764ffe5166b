/**
 * A page of rows as one value of the store: a header of row ends (32-bit little-endian, counted from the end of
 * the header), then the rows, in slot order, with the separator between any two that exist.
 *
 *     end of slot 0 | end of slot 1 | … | row 0 , row 1 , …
 *
 * An empty slot repeats the end of the slot before it; rows are never empty. Rows next to each other are next to
 * each other in the bytes, so a list is cut out as one piece, and a search runs over the body in one go.
 */
export interface PageShape {
  readonly slots: number
  /** Written between rows; may be empty. */
  readonly separator: string
}

export function headerBytes(shape: PageShape): number {
  return shape.slots * 4
}

function endOf(page: Uint8Array, slot: number): number {
  const at = slot * 4
  return page[at]! | (page[at + 1]! << 8) | (page[at + 2]! << 16) | (page[at + 3]! << 24)
}

/** Start of a row in the page, or -1 when the slot is empty. */
export function rowStart(shape: PageShape, page: Uint8Array, slot: number): number {
  const before = slot === 0 ? 0 : endOf(page, slot - 1)
  if (endOf(page, slot) === before) return -1
  return headerBytes(shape) + before + (before === 0 ? 0 : shape.separator.length)
}

/** End of the row (or of the rows before an empty slot) in the page. */
export function rowEnd(shape: PageShape, page: Uint8Array, slot: number): number {
  return headerBytes(shape) + endOf(page, slot)
}

/** The slot whose row covers `position` (counted from the start of the page). */
export function slotAt(shape: PageShape, page: Uint8Array, position: number): number {
  let low = 0
  let high = shape.slots - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (rowEnd(shape, page, middle) > position) high = middle
    else low = middle + 1
  }
  return low
}

export function countRows(shape: PageShape, page: Uint8Array): number {
  let rows = 0
  let before = 0
  for (let slot = 0; slot < shape.slots; slot++) {
    const end = endOf(page, slot)
    if (end !== before) rows++
    before = end
  }
  return rows
}

/** All rows as copies that outlive the page's bytes; null for an empty slot. */
export function unpack(shape: PageShape, page: Uint8Array): (Uint8Array | null)[] {
  const kept = Uint8Array.prototype.slice.call(page)
  const rows: (Uint8Array | null)[] = new Array(shape.slots)
  for (let slot = 0; slot < shape.slots; slot++) {
    const start = rowStart(shape, kept, slot)
    rows[slot] = start < 0 ? null : kept.subarray(start, rowEnd(shape, kept, slot))
  }
  return rows
}

export function pack(shape: PageShape, rows: readonly (Uint8Array | null)[]): Buffer {
  const separator = Buffer.from(shape.separator)
  let size = headerBytes(shape)
  let any = false
  for (const row of rows) {
    if (row === null) continue
    size += row.byteLength + (any ? separator.length : 0)
    any = true
  }
  const page = Buffer.allocUnsafe(size)
  let end = headerBytes(shape)
  for (let slot = 0; slot < shape.slots; slot++) {
    const row = rows[slot] ?? null
    if (row !== null) {
      if (end > headerBytes(shape)) end += separator.copy(page, end)
      page.set(row, end)
      end += row.byteLength
    }
    page.writeUInt32LE(end - headerBytes(shape), slot * 4)
  }
  return page
}
