/** Markdown that also reads well in a terminal. */

export const bulletList = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n')

/** A padded table: the first column to the left, the others to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const safe = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((name, column) =>
    Math.max(name.length, 2, ...safe.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
    return `| ${padded.join(' | ')} |`
  }
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(head), line(rule), ...safe.map(line)].join('\n')
}

/** Columns of a table: their heads, and what stands there. */
export type Columns<Row> = readonly (readonly [head: string, cell: (row: Row) => string])[]

export const headsOf = <Row>(columns: Columns<Row>): string[] => columns.map(([head]) => head)

export const cellsOf = <Row>(columns: Columns<Row>, row: Row): string[] =>
  columns.map(([, cell]) => cell(row))

export const columnTable = <Row>(columns: Columns<Row>, rows: readonly Row[]): string =>
  markdownTable(
    headsOf(columns),
    rows.map((row) => cellsOf(columns, row)),
  )
