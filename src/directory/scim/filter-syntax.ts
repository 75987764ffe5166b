/** The text of a filter (RFC 7644 3.4.2.2) as a tree. Bounded in length, depth and terms, so that no text costs much. */
import { refusal, type ScimError } from './errors.js'

const COMPARISONS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof COMPARISONS)[number]

/** What an attribute is compared with. An unquoted word that is no JSON is kept as its text. */
export interface Literal {
  readonly value: string | number | boolean | null
  readonly quoted: boolean
  /** As it stands in the filter when it is unquoted. */
  readonly text: string
}

export type FilterNode =
  | { readonly kind: 'and'; readonly terms: readonly FilterNode[] }
  | { readonly kind: 'or'; readonly terms: readonly FilterNode[] }
  | { readonly kind: 'not'; readonly term: FilterNode }
  | { readonly kind: 'present'; readonly name: string }
  | { readonly kind: 'compare'; readonly name: string; readonly op: Comparison; readonly literal: Literal }
  /**
   * `emails[type eq "work"]`: one value of the list satisfies the term. `goesOn`: it was written as
   * `emails[type eq "work"].value eq "x"`, and the term has both.
   */
  | { readonly kind: 'some'; readonly name: string; readonly term: FilterNode; readonly goesOn: boolean }

const LONGEST = 4_096
const DEEPEST = 16
const MOST_TERMS = 100

type Token = { readonly kind: 'word' | 'quoted' | 'mark'; readonly text: string }

/** The tree of a filter, or why it is none: 400 `invalidFilter`. */
export function parseFilterText(text: string): FilterNode | ScimError {
  if (text.length > LONGEST) return invalid(`is longer than ${LONGEST} characters`)
  const tokens = tokensOf(text)
  if (tokens === null) return invalid('has a character that begins nothing, or a quote that does not end')
  const reader = new FilterReader(tokens)
  const tree = reader.disjunction(0)
  if (typeof tree === 'string') return invalid(tree)
  return reader.atEnd() ? tree : invalid('goes on after its end')
}

function invalid(reason: string): ScimError {
  return refusal('invalidFilter', `The filter ${reason}.`)
}

// A word is a name, an operator, or a literal without quotes: numbers, times with an offset, mail addresses, ids.
const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([^\s()[\]"]+))/suy

function tokensOf(text: string): readonly Token[] | null {
  const tokens: Token[] = []
  const end = text.trimEnd().length
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < end) {
    const found = TOKEN.exec(text)
    if (found === null) return null
    if (found[1] !== undefined) tokens.push({ kind: 'quoted', text: found[1] })
    else if (found[2] !== undefined) tokens.push({ kind: 'mark', text: found[2] })
    else tokens.push({ kind: 'word', text: found[3]! })
  }
  return tokens
}

/** Reads by the precedence of the RFC: `not`, then `and`, then `or`. A string is the reason why it cannot. */
class FilterReader {
  private at = 0
  private terms = 0

  constructor(private readonly tokens: readonly Token[]) {}

  atEnd(): boolean {
    return this.at === this.tokens.length
  }

  disjunction(depth: number): FilterNode | string {
    return this.chain('or', () => this.chain('and', () => this.term(depth)))
  }

  private chain(kind: 'and' | 'or', next: () => FilterNode | string): FilterNode | string {
    const terms: FilterNode[] = []
    do {
      const term = next()
      if (typeof term === 'string') return term
      terms.push(term)
    } while (this.takeWord(kind))
    return terms.length === 1 ? terms[0]! : { kind, terms }
  }

  private term(depth: number): FilterNode | string {
    if (depth >= DEEPEST) return `is nested more than ${DEEPEST} deep`
    if (++this.terms > MOST_TERMS) return `has more than ${MOST_TERMS} terms`
    if (this.takeMark('(')) return this.enclosed(')', depth)
    if (this.word()?.toLowerCase() === 'not' && this.tokens[this.at + 1]?.text === '(') {
      this.at += 2
      const term = this.enclosed(')', depth)
      return typeof term === 'string' ? term : { kind: 'not', term }
    }
    return this.expression(depth)
  }

  private enclosed(end: ')' | ']', depth: number): FilterNode | string {
    const term = this.disjunction(depth + 1)
    if (typeof term === 'string') return term
    return this.takeMark(end) ? term : `lacks a ${end}`
  }

  private expression(depth: number): FilterNode | string {
    const name = this.word()
    if (name === null) return 'lacks the name of an attribute'
    this.at++
    if (this.takeMark('[')) {
      const term = this.enclosed(']', depth)
      if (typeof term === 'string') return term
      const sub = this.word()
      if (sub?.startsWith('.') !== true) return { kind: 'some', name, term, goesOn: false }
      this.at++
      const rest = this.comparison(sub.slice(1))
      if (typeof rest === 'string') return rest
      return { kind: 'some', name, term: { kind: 'and', terms: [term, rest] }, goesOn: true }
    }
    return this.comparison(name)
  }

  /** What stands behind the name of an attribute. */
  private comparison(name: string): FilterNode | string {
    const op = this.word()?.toLowerCase()
    if (op === undefined) return 'lacks an operator'
    this.at++
    if (op === 'pr') return { kind: 'present', name }
    if (!isComparison(op)) return 'has an operator that does not exist'
    const literal = this.literal()
    return typeof literal === 'string' ? literal : { kind: 'compare', name, op, literal }
  }

  private literal(): Literal | string {
    const token = this.tokens[this.at]
    if (token === undefined || token.kind === 'mark') return 'lacks a value to compare with'
    this.at++
    const value = jsonOrUndefined(token.text)
    if (token.kind === 'word')
      return { value: value === undefined ? token.text : value, quoted: false, text: token.text }
    return typeof value === 'string'
      ? { value, quoted: true, text: value }
      : 'has a text that is no JSON string'
  }

  private word(): string | null {
    const token = this.tokens[this.at]
    return token?.kind === 'word' ? token.text : null
  }

  private takeWord(word: string): boolean {
    if (this.word()?.toLowerCase() !== word) return false
    this.at++
    return true
  }

  private takeMark(mark: string): boolean {
    const token = this.tokens[this.at]
    if (token?.kind !== 'mark' || token.text !== mark) return false
    this.at++
    return true
  }
}

function isComparison(op: string): op is Comparison {
  return COMPARISONS.some((known) => known === op)
}

function jsonOrUndefined(text: string): string | number | boolean | null | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
      ? undefined
      : (value as string | number | boolean | null)
  } catch {
    return undefined
  }
}
