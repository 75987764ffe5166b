/** Which rows of a long list are drawn. */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** A list of so many rows is drawn whole. */
const WHOLE = 100
/** Of a longer one the rows in sight and half a step at least before and behind; they change by a step at a time. */
const STEP = 10

interface Drawn {
  readonly from: number
  readonly to: number
  /** Pixels. */
  readonly rowHeight: number
}

const ALL: Drawn = { from: 0, to: Number.POSITIVE_INFINITY, rowHeight: 0 }

/**
 * The rows of a table that are to be drawn, as it is scrolled with its page. All of them where they are few, and on
 * paper; of others a part, so that laying out and painting does not grow with the list. Rows are of one height, and
 * columns keep the widths that they have when the list gets long, until the window is of another size.
 */
export function useRowsInSight(
  count: number,
): Drawn & { readonly table: RefObject<HTMLTableElement | null>; readonly isPart: boolean } {
  const ref = useRef<HTMLTableElement>(null)
  const isLong = count > WHOLE
  const [drawn, setDrawn] = useState(ALL)
  useEffect(() => {
    const table = ref.current
    if (!isLong || table === null) return
    const { rows } = table.tBodies[0]!
    const look = (): void => {
      keepWidths(table)
      const rowHeight = rows[rows.length >> 1]!.getBoundingClientRect().height
      const first = -rows[0]!.getBoundingClientRect().top / rowHeight
      const from = Math.max(0, Math.floor(first / STEP - 0.5)) * STEP
      const to = from + Math.ceil(innerHeight / rowHeight) + 2 * STEP
      setDrawn((before) =>
        before.to === to && before.rowHeight === rowHeight ? before : { from, to, rowHeight },
      )
    }
    const measure = (): void => {
      freeWidths(table)
      look()
    }
    const drawAll = (): void => setDrawn(ALL)
    look()
    // Of a table in a dialog it is the dialog that is scrolled, and such events do not rise.
    addEventListener('scroll', look, { passive: true, capture: true })
    addEventListener('resize', measure)
    addEventListener('beforeprint', drawAll)
    return () => {
      removeEventListener('scroll', look, true)
      removeEventListener('resize', measure)
      removeEventListener('beforeprint', drawAll)
      freeWidths(table)
    }
  }, [isLong])
  const { from, ...others } = isLong ? drawn : ALL
  // A list that has become shorter still has a row by which the next look finds the others.
  return { table: ref, from: Math.max(0, Math.min(from, count - STEP)), ...others, isPart: isLong }
}

function keepWidths({ tHead, offsetWidth, style }: HTMLTableElement): void {
  if (style.tableLayout !== '') return
  const heads = [...tHead!.rows[0]!.cells]
  const widths = heads.map((head) => `${(100 * head.offsetWidth) / offsetWidth}%`)
  heads.forEach(({ style }, at) => {
    style.width = widths[at]!
  })
  style.tableLayout = 'fixed'
}

function freeWidths({ tHead, style }: HTMLTableElement): void {
  style.tableLayout = ''
  for (const head of tHead!.rows[0]!.cells) head.style.width = ''
}
