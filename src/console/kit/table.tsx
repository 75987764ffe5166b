/** Lists: a table that keeps its shape while it loads, and a way to its next page. */
import { Component, type ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Pages } from '../api/resource.ts'
import { ProblemNote } from './page.tsx'
import { useRowsInSight } from './rows-in-sight.ts'

export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  /** Numbers stand right. */
  readonly align?: 'end'
  /** From which width of the screen on it is shown; always, where it is absent. */
  readonly from?: 'medium' | 'wide'
}

interface TableProps<T> {
  /** What the rows are, for those who do not see the page. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  /** Undefined while nothing is known yet. */
  readonly rows: readonly T[] | undefined
  readonly keyOf: (row: T) => string
  /** What stands there when there are no rows. */
  readonly empty: ComponentChildren
}

const SKELETON_ROWS = [0, 1, 2, 3, 4, 5, 6, 7]

export function Table<T>({ caption, columns, rows, keyOf, empty }: TableProps<T>) {
  const { table, from, to, rowHeight, isPart } = useRowsInSight(rows?.length ?? 0)
  if (rows?.length === 0) return <>{empty}</>
  return (
    // Wider than a narrow screen it scrolls by itself, by keyboard as well.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to take the focus
    <section class="table" aria-label={caption} tabIndex={0}>
      <table ref={table} aria-busy={rows === undefined} aria-rowcount={isPart ? rows!.length + 1 : undefined}>
        <thead>
          <tr>
            {columns.map(({ title, align, from }) => (
              <th key={title} scope="col" class={classOf(align, from)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined ? (
            SKELETON_ROWS.map((row) => (
              <tr key={row}>
                {columns.map(({ title, align, from }) => (
                  <td key={title} class={classOf(align, from)}>
                    <span class="skeleton" />
                  </td>
                ))}
              </tr>
            ))
          ) : (
            <>
              {from > 0 && <Gap key="before" height={from * rowHeight} />}
              {rows.slice(from, to).map((row, at) => (
                <Row
                  key={keyOf(row)}
                  row={row}
                  columns={columns}
                  index={isPart ? from + at + 2 : undefined}
                />
              ))}
              {to < rows.length && <Gap key="behind" height={(rows.length - to) * rowHeight} />}
            </>
          )}
        </tbody>
      </table>
    </section>
  )
}

/** Stands for rows that are not drawn. */
function Gap({ height }: { height: number }) {
  return <tr style={{ height: `${height}px` }} />
}

interface RowProps<T> {
  readonly row: T
  readonly columns: readonly Column<T>[]
  /** Its place in the table, of which the heading is 1, where not all rows are there to be counted. */
  readonly index: number | undefined
}

/** Drawn anew only when it is another row, or a signal that its cells read has changed: lists grow long. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate({ row, columns, index }: RowProps<T>, state: object): boolean {
    const { props } = this
    return row !== props.row || columns !== props.columns || index !== props.index || state !== this.state
  }

  override render() {
    const { row, columns, index } = this.props
    return (
      <tr aria-rowindex={index}>
        {columns.map(({ title, cell, align, from }) => (
          <td key={title} class={classOf(align, from)}>
            {cell(row)}
          </td>
        ))}
      </tr>
    )
  }
}

/** A list in pages with its table, its failures and its next page. */
export function PagedTable<T>({ pages, ...table }: Omit<TableProps<T>, 'rows'> & { pages: Pages<T> }) {
  const { rows, problem, hasMore, isLoading, more, reload } = pages
  const end = useRef<HTMLButtonElement>(null)
  /** Rows that were there when the next page was asked for by scrolling, and those that were drawn last. */
  const asked = useRef(0)
  const drawn = useRef(0)
  const shown = rows?.length ?? 0
  useEffect(() => {
    if (shown < drawn.current) asked.current = 0
    drawn.current = shown
    if (end.current === null || isLoading) return
    // Who scrolls to the end reads on. Where a page has brought nothing, or all fits the window, somebody has to ask.
    const sight = new IntersectionObserver(([entry]) => {
      if (!entry!.isIntersecting || window.scrollY === 0 || shown <= asked.current) return
      asked.current = shown
      more()
    })
    sight.observe(end.current)
    return () => sight.disconnect()
  }, [shown, isLoading, more])
  return (
    <>
      <ProblemNote problem={problem} retry={reload} />
      {(rows !== undefined || problem === null) && <Table {...table} rows={rows} />}
      {hasMore && (
        <button ref={end} type="button" class="more" disabled={isLoading} onClick={more}>
          {isLoading ? 'Loading…' : 'Show more'}
        </button>
      )}
    </>
  )
}

function classOf(align: 'end' | undefined, from: 'medium' | 'wide' | undefined): string {
  return [align, from && `from-${from}`].filter(Boolean).join(' ')
}
