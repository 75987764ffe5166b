/**
 * A user of a directory as a flat table of cells and lists of rows, changed by deeds; and the deeds as a directory would
 * write them, in any of the spellings that directories use. It knows nothing of paths, schemas or documents.
 */
import { ENTERPRISE } from '../schemas/scim-bodies.js'

/** `name.givenName`, `title` or, in the extension, `+department`. */
export const CELLS = [
  'userName',
  'title',
  'name.givenName',
  'name.familyName',
  '+department',
  '+manager.value',
] as const
type Cell = (typeof CELLS)[number]
export const LISTS = ['emails', 'phoneNumbers'] as const
type List = (typeof LISTS)[number]

interface Row {
  readonly value: string
  readonly type: string
  readonly primary?: boolean
}

/** Which rows a deed concerns. */
interface Choice {
  readonly type: string
  /** All but those of the type. */
  readonly not: boolean
}

export type Deed =
  | { readonly do: 'set'; readonly cell: Cell; readonly text: string }
  | { readonly do: 'unset'; readonly cell: Cell }
  | { readonly do: 'activate'; readonly active: boolean }
  | { readonly do: 'fill'; readonly list: List; readonly rows: readonly Row[] }
  | { readonly do: 'append'; readonly list: List; readonly rows: readonly Row[] }
  | { readonly do: 'write'; readonly list: List; readonly choice: Choice; readonly value: string }
  | { readonly do: 'prefer'; readonly list: List; readonly choice: Choice }
  | { readonly do: 'drop'; readonly list: List; readonly choice: Choice }
  | { readonly do: 'clear'; readonly list: List }

interface MutableRow {
  value: string
  type: string
  primary?: boolean
}

/** What a user is: every cell that has a text, every list that has rows. */
export class UserModel {
  active = true
  readonly cells = new Map<Cell, string>([['userName', 'ann']])
  readonly lists = new Map<List, MutableRow[]>()

  /** Carries out deeds together; false, and nothing is done, when one of them cannot be. */
  perform(deeds: readonly Deed[]): boolean {
    const before = structuredClone({ active: this.active, cells: [...this.cells], lists: [...this.lists] })
    if (deeds.every((deed) => this.act(deed))) return this.cells.has('userName') || this.restore(before)
    return this.restore(before)
  }

  private restore(before: {
    active: boolean
    cells: [Cell, string][]
    lists: [List, MutableRow[]][]
  }): false {
    this.active = before.active
    this.cells.clear()
    for (const [cell, text] of before.cells) this.cells.set(cell, text)
    this.lists.clear()
    for (const [list, rows] of before.lists) this.lists.set(list, rows)
    return false
  }

  private act(deed: Deed): boolean {
    switch (deed.do) {
      case 'set':
        this.cells.set(deed.cell, deed.text)
        return true
      case 'unset':
        this.cells.delete(deed.cell)
        return true
      case 'activate':
        this.active = deed.active
        return true
      case 'clear':
        this.lists.delete(deed.list)
        return true
      default:
        return this.actOnRows(deed)
    }
  }

  private actOnRows(deed: Exclude<Deed, { do: 'set' | 'unset' | 'activate' | 'clear' }>): boolean {
    const rows = deed.do === 'fill' ? [] : (this.lists.get(deed.list) ?? [])
    this.lists.set(deed.list, rows)
    if (deed.do === 'fill' || deed.do === 'append') {
      const added = deed.rows.map((row) => ({ ...row }))
      rows.push(...added)
      return settle(rows, added)
    }
    const chosen = rows.filter(({ type }) => (type === deed.choice.type) !== deed.choice.not)
    if (deed.do === 'drop') {
      this.lists.set(
        deed.list,
        rows.filter((row) => !chosen.includes(row)),
      )
      return true
    }
    if (chosen.length === 0) {
      if (deed.choice.not) return false
      // Entra writes into a value that is not there yet.
      const row = (
        deed.do === 'write' ? { type: deed.choice.type, value: deed.value } : { type: deed.choice.type }
      ) as MutableRow
      rows.push(row)
      chosen.push(row)
    }
    for (const row of chosen) {
      if (deed.do === 'write') row.value = deed.value
      else row.primary = true
    }
    return settle(rows, chosen)
  }

  /** As a document: what a reader of the user is shown. */
  fields(): { userName: string; externalId: null; active: boolean; document: object } {
    const extension: Record<string, unknown> = {}
    const document: Record<string, unknown> = {}
    for (const [cell, text] of this.cells) {
      if (cell === 'userName') continue
      const holder = cell.startsWith('+') ? extension : document
      const [name, sub] = cell.replace('+', '').split('.') as [string, string?]
      holder[name] = sub === undefined ? text : { ...(holder[name] as object), [sub]: text }
    }
    for (const [list, rows] of this.lists) if (rows.length > 0) document[list] = rows
    if (Object.keys(extension).length > 0) document[ENTERPRISE] = extension
    return { userName: this.cells.get('userName')!, externalId: null, active: this.active, document }
  }
}

/** Rows that have become the same are one; of those that were written one may be primary, and then no other is. */
function settle(rows: MutableRow[], written: readonly MutableRow[]): boolean {
  const changed = new Set(written)
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!
    const first = rows.findIndex((other) => isSame(other, row))
    if (first === at) continue
    if (row.primary !== undefined) rows[first]!.primary = row.primary
    if (changed.has(row)) changed.add(rows[first]!)
    rows.splice(at--, 1)
  }
  const preferred = rows.filter((row) => row.primary === true && changed.has(row))
  if (preferred.length > 1) return false
  for (const row of rows)
    if (preferred.length === 1 && row !== preferred[0] && row.primary) row.primary = false
  return true
}

function isSame(a: MutableRow, b: MutableRow): boolean {
  return a.type === b.type && a.value === b.value && (a.value !== undefined || a.primary === b.primary)
}

/** How a directory writes: each number chooses among spellings of the same. */
export type Spelling = readonly number[]

/** The deed as an operation of a PATCH. */
export function operationOf(deed: Deed, [op = 0, style = 0, letters = 0]: Spelling): object {
  const written = (name: 'add' | 'replace' | 'remove') =>
    op % 2 === 0 ? name : name[0]!.toUpperCase() + name.slice(1)
  const put = (name: 'add' | 'replace', path: string, value: unknown) =>
    style % 3 === 0 ? { op: written(name), value: { [path]: value } } : { op: written(name), path, value }
  const either = op % 3 === 0 ? 'add' : 'replace'
  switch (deed.do) {
    case 'set':
      return put(either, pathOf(deed.cell, style, letters), deed.text)
    case 'unset':
      return style % 2 === 0
        ? { op: written('remove'), path: pathOf(deed.cell, style, letters) }
        : put('replace', pathOf(deed.cell, style, letters), null)
    case 'activate':
      return put(
        either,
        cased('active', letters),
        style % 2 === 0 ? deed.active : deed.active ? 'True' : 'False',
      )
    case 'fill':
      return put('replace', cased(deed.list, letters), deed.rows)
    case 'append':
      return put('add', cased(deed.list, letters), deed.rows.length === 1 ? deed.rows[0] : deed.rows)
    case 'write':
      return put(either, `${selection(deed, letters)}.${cased('value', letters)}`, deed.value)
    case 'prefer':
      return put(either, `${selection(deed, letters)}.primary`, style % 2 === 0 ? true : 'true')
    case 'drop':
      return { op: written('remove'), path: selection(deed, letters) }
    case 'clear':
      return style % 2 === 0
        ? { op: written('remove'), path: cased(deed.list, letters) }
        : put('replace', cased(deed.list, letters), style % 4 === 1 ? [] : null)
  }
}

function pathOf(cell: Cell, style: number, letters: number): string {
  if (!cell.startsWith('+')) return cased(cell, letters)
  return `${ENTERPRISE}${style % 5 === 0 ? '.' : ':'}${cased(cell.slice(1), letters)}`
}

function cased(name: string, letters: number): string {
  if (letters % 4 === 1) return name.toUpperCase()
  return letters % 4 === 2 ? name[0]!.toUpperCase() + name.slice(1) : name
}

function selection(
  { do: what, list, choice }: { do: string; list: List; choice: Choice },
  letters: number,
): string {
  // A value that is added has its type as the filter writes it.
  const adds = what !== 'drop' && !choice.not
  const type = letters % 2 === 0 || adds ? choice.type : choice.type.toUpperCase()
  const ne = letters % 3 === 0 ? `type ne "${type}"` : `not (${cased('type', letters)} EQ "${type}")`
  return `${cased(list, letters)}[${choice.not ? ne : `${cased('type', letters)} eq "${type}"`}]`
}
