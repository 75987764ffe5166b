import fc from 'fast-check'
import { test } from 'tap'
import {
  type AllocateBytes,
  countRows,
  emptyPage,
  headerBytes,
  isBehindRows,
  pageBytes,
  pageWithRow,
  pageWithRowBehind,
  rowEnd,
  rowStart,
  type SlottedPageShape,
  slotAt,
} from '../../../src/store/lmdb/items/slotted-page.js'

type PageRow = Uint8Array | null

const SHAPES: readonly SlottedPageShape[] = [
  { slots: 16, separator: ',' },
  { slots: 64, separator: '' },
  { slots: 3, separator: '--' },
  { slots: 1, separator: ',' },
]

/** Memory that was used before, as an arena hands it out. */
const allocateDirty: AllocateBytes = (bytes) => Buffer.alloc(bytes, 0xee)

const row = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 5 }),
  fc.integer({ min: 250, max: 70_000 }).map((length) => new Uint8Array(length).fill(0x61)),
)

interface PageEdit {
  readonly slot: number
  readonly row: PageRow
}

const shapeAndEdits = fc.constantFrom(...SHAPES).chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    edits: fc.array(fc.record({ slot: fc.nat({ max: shape.slots - 1 }), row: fc.option(row, { freq: 3 }) }), {
      maxLength: 60,
      size: 'max',
    }),
  }),
)

/** The page by the description of its format, from nothing. */
function packPage(shape: SlottedPageShape, rows: readonly PageRow[]): Buffer {
  const header = Buffer.alloc(headerBytes(shape))
  const body: Uint8Array[] = []
  let end = 0
  for (const [slot, bytes] of rows.entries()) {
    if (bytes !== null) {
      const piece = Buffer.concat([Buffer.from(end > 0 ? shape.separator : ''), bytes])
      body.push(piece)
      end += piece.length
    }
    header.writeUInt32LE(end, slot * 4)
  }
  return Buffer.concat([header, ...body])
}

function applyEdits(
  shape: SlottedPageShape,
  edits: readonly PageEdit[],
): { page: Uint8Array; rows: PageRow[] } {
  let page: Uint8Array = emptyPage(shape)
  const rows: PageRow[] = new Array(shape.slots).fill(null)
  for (const edit of edits) {
    page = pageWithRow(shape, page, edit.slot, edit.row, allocateDirty)
    rows[edit.slot] = edit.row
  }
  return { page, rows }
}

/** Proves what holds for a page after any edits, and the rows it should have. */
function afterAnyEdits(
  holds: (shape: SlottedPageShape, page: Uint8Array, rows: readonly PageRow[]) => boolean,
): void {
  fc.assert(
    fc.property(shapeAndEdits, ({ shape, edits }) => {
      const { page, rows } = applyEdits(shape, edits)
      return holds(shape, page, rows)
    }),
    { numRuns: 300 },
  )
}

test('after any edits a page is what packing its rows from nothing gives', async () => {
  afterAnyEdits((shape, page, rows) => packPage(shape, rows).equals(page))
})

test('every row is found where it stands, and an empty slot is empty', async () => {
  afterAnyEdits((shape, page, rows) => {
    if (countRows(shape, page) !== rows.filter((bytes) => bytes !== null).length) return false
    return rows.every((bytes, slot) => {
      const start = rowStart(shape, page, slot)
      if (bytes === null) return start === -1
      return Buffer.from(bytes).equals(page.subarray(start, rowEnd(shape, page, slot)))
    })
  })
})

test('slotAt names the slot of every byte of every row', async () => {
  afterAnyEdits((shape, page, rows) =>
    rows.every((bytes, slot) => {
      if (bytes === null) return true
      const start = rowStart(shape, page, slot)
      const last = rowEnd(shape, page, slot) - 1
      return [start, last, Math.floor((start + last) / 2)].every((at) => slotAt(shape, page, at) === slot)
    }),
  )
})

test('an edit leaves the page it was made from as it was', async () => {
  fc.assert(
    fc.property(shapeAndEdits, fc.nat(), fc.option(row), ({ shape, edits }, pick, changed) => {
      const { page } = applyEdits(shape, edits)
      const before = Buffer.from(page)
      pageWithRow(shape, page, pick % shape.slots, changed, allocateDirty)
      return before.equals(page)
    }),
  )
})

test('a row behind all others is added in the page as it would be to a new one', async () => {
  fc.assert(
    fc.property(shapeAndEdits, fc.array(row, { minLength: 1, maxLength: 8 }), ({ shape, edits }, more) => {
      let { page } = applyEdits(shape, edits)
      let expected = page
      let grown: Buffer = Buffer.from(page)
      let slot = shape.slots
      while (slot > 0 && isBehindRows(shape, page, slot - 1)) slot--
      for (const added of more) {
        if (slot === shape.slots) break
        expected = pageWithRow(shape, expected, slot, added, allocateDirty)
        grown = pageWithRowBehind(shape, grown, slot, added, allocateDirty)
        page = grown.subarray(0, pageBytes(shape, grown))
        if (!Buffer.from(expected).equals(page)) return false
        slot++
      }
      return slot < shape.slots ? isBehindRows(shape, page, slot) : !isBehindRows(shape, page, slot - 1)
    }),
    { numRuns: 300 },
  )
})

test('rows next to each other are one piece of bytes with separators between them', async (t) => {
  const shape = { slots: 4, separator: ',' }
  const page = applyEdits(shape, [
    { slot: 3, row: Buffer.from('ddd') },
    { slot: 0, row: Buffer.from('a') },
    { slot: 2, row: Buffer.from('cc') },
  ]).page
  t.equal(Buffer.from(page.subarray(headerBytes(shape))).toString(), 'a,cc,ddd')
})

test('an empty page has its header and no rows', async (t) => {
  for (const shape of SHAPES) {
    const page = emptyPage(shape)
    t.equal(page.length, headerBytes(shape))
    t.equal(countRows(shape, page), 0)
  }
})
