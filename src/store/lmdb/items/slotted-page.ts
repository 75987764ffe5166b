/**
 * A page of rows as one value of the store: a header of row ends (32-bit little-endian, counted from the end of
 * the header), then the rows, in slot order, with the separator between any two that exist.
 *
 *     end of slot 0 | end of slot 1 | … | row 0 , row 1 , …
 *
 * An empty slot repeats the end of the slot before it; rows are never empty. Rows next to each other are next to
 * each other in the bytes, so a list is cut out as one piece, and a search runs over the body in one go.
 */
export interface SlottedPageShape {
  readonly slots: number
  /** Written between rows; may be empty. */
  readonly separator: string
}

export function headerBytes(shape: SlottedPageShape): number {
  return shape.slots * 4
}

function slotEnd(page: Uint8Array, slot: number): number {
  const at = slot * 4
  return page[at]! | (page[at + 1]! << 8) | (page[at + 2]! << 16) | (page[at + 3]! << 24)
}

/** Start of a row in the page, or -1 when the slot is empty. */
export function rowStart(shape: SlottedPageShape, page: Uint8Array, slot: number): number {
  const before = slot === 0 ? 0 : slotEnd(page, slot - 1)
  if (slotEnd(page, slot) === before) return -1
  return headerBytes(shape) + before + (before === 0 ? 0 : shape.separator.length)
}

/** End of the row (or of the rows before an empty slot) in the page. */
export function rowEnd(shape: SlottedPageShape, page: Uint8Array, slot: number): number {
  return headerBytes(shape) + slotEnd(page, slot)
}

/** The slot whose row covers `position` (counted from the start of the page). */
export function slotAt(shape: SlottedPageShape, page: Uint8Array, position: number): number {
  let low = 0
  let high = shape.slots - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (rowEnd(shape, page, middle) > position) high = middle
    else low = middle + 1
  }
  return low
}

export function countRows(shape: SlottedPageShape, page: Uint8Array): number {
  let rows = 0
  let before = 0
  for (let slot = 0; slot < shape.slots; slot++) {
    const end = slotEnd(page, slot)
    if (end !== before) rows++
    before = end
  }
  return rows
}

/**
 * Where up to `want` rows behind the first `skip` lie in the page, as one piece, and how many they are. Looks at each end
 * once: a list passes over all of them.
 */
export function runOfRows(shape: SlottedPageShape, page: Uint8Array, skip: number, want: number) {
  let before = 0
  let seen = 0
  let rows = 0
  let start = 0
  let end = 0
  for (let slot = 0; slot < shape.slots && rows < want; slot++) {
    const after = slotEnd(page, slot)
    if (after === before) continue
    if (seen++ >= skip) {
      if (rows++ === 0) start = before === 0 ? 0 : before + shape.separator.length
      end = after
    }
    before = after
  }
  const header = headerBytes(shape)
  return { start: header + start, end: header + end, rows }
}

/** Where the bytes of new pages come from. */
export type AllocateBytes = (bytes: number) => Buffer

/** A page without rows. */
export function emptyPage(shape: SlottedPageShape): Buffer {
  return Buffer.alloc(headerBytes(shape))
}

/**
 * A new page in which `slot` holds `row`, or nothing for null; everything else stays. Bytes are moved, rows are
 * not looked at one by one, so it costs a copy of the page. The given page is only read.
 */
export function pageWithRow(
  shape: SlottedPageShape,
  page: Uint8Array,
  slot: number,
  row: Uint8Array | null,
  allocate: AllocateBytes,
): Buffer {
  const header = headerBytes(shape)
  const { separator } = shape
  const before = slot === 0 ? 0 : slotEnd(page, slot - 1)
  const after = slotEnd(page, slot)
  const lead = row !== null && before > 0 ? separator.length : 0
  const newAfter = row === null ? before : before + lead + row.byteLength
  const tail = page.subarray(header + after, header + slotEnd(page, shape.slots - 1))
  // What follows begins with a separator exactly when something stands before it.
  const drop = tail.byteLength > 0 && after > 0 && newAfter === 0 ? separator.length : 0
  const add = tail.byteLength > 0 && after === 0 && newAfter > 0 ? separator.length : 0
  const result = allocate(header + newAfter + add + tail.byteLength - drop)
  result.set(page.subarray(0, header + before))
  if (row !== null) {
    if (lead > 0) result.write(separator, header + before, 'latin1')
    result.set(row, header + before + lead)
  }
  if (add > 0) result.write(separator, header + newAfter, 'latin1')
  result.set(tail.subarray(drop), header + newAfter + add)
  writeSlotEnds(shape, page, result, slot, newAfter, newAfter - after + add - drop)
  return result
}

/** Bytes of the page; the memory it stands in may be larger. */
export function pageBytes(shape: SlottedPageShape, page: Uint8Array): number {
  return rowEnd(shape, page, shape.slots - 1)
}

/** Whether nothing stands in `slot` and behind it. */
export function isBehindRows(shape: SlottedPageShape, page: Uint8Array, slot: number): boolean {
  const before = slot === 0 ? 0 : slotEnd(page, slot - 1)
  return slotEnd(page, shape.slots - 1) === before
}

/**
 * As `pageWithRow` for a slot behind all rows, in the memory of the page itself where there is room, otherwise in twice
 * of what it needs: so a row costs its own bytes, and not those of all before it.
 */
export function pageWithRowBehind(
  shape: SlottedPageShape,
  page: Buffer,
  slot: number,
  row: Uint8Array,
  allocate: AllocateBytes,
): Buffer {
  const used = pageBytes(shape, page)
  const separator = used > headerBytes(shape) ? shape.separator : ''
  const needed = used + separator.length + row.byteLength
  let result = page
  if (needed > page.length) {
    result = allocate(2 * needed)
    result.set(page.subarray(0, used))
  }
  if (separator !== '') result.write(separator, used, 'latin1')
  result.set(row, used + separator.length)
  const end = needed - headerBytes(shape)
  for (let next = slot; next < shape.slots; next++) setSlotEnd(result, next, end)
  return result
}

/** Ends from `slot` on: empty slots right behind it end where it ends, rows behind that have moved by `shift`. */
function writeSlotEnds(
  shape: SlottedPageShape,
  page: Uint8Array,
  result: Buffer,
  slot: number,
  newAfter: number,
  shift: number,
): void {
  const after = slotEnd(page, slot)
  for (let next = slot; next < shape.slots; next++) {
    const end = slotEnd(page, next)
    setSlotEnd(result, next, end === after ? newAfter : end + shift)
  }
}

function setSlotEnd(page: Uint8Array, slot: number, end: number): void {
  const at = slot * 4
  page[at] = end
  page[at + 1] = end >>> 8
  page[at + 2] = end >>> 16
  page[at + 3] = end >>> 24
}
