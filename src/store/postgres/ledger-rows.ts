/**
 * Rows of journals as columns of a statement. What rows have in common (who pays, names, outcome) goes over once, as a
 * kind of rows; what a row has for itself are figures, its id and its detail, which is the text of the journal's line.
 */
import { isPart } from '../ledger/generation-time.js'
import { LineCursor } from '../ledger/line-cursor.js'
import { isLostLine, isPayerLine, LINE_ID_AT, lineId, lineTime, readPayerIds } from '../ledger/row-text.js'
import type { JournalPiece } from '../ledger/writable-ledger.js'
import { LEDGER_OUTCOMES } from '../ledger-store.js'
import { NumberColumn, TextColumn } from './columns.js'

/** What stands in the column `outcome` of a lost attempt. */
const LOST = 'lost'
/** A segment has fewer bytes: a place is the segment's number and, below it, a place in it. */
const SEGMENT_PLACES = 2 ** 32

/** What rows of one payer have in common. */
interface RowTraits {
  readonly kind: 'call' | 'part' | typeof LOST
  /** Digits of the line. */
  readonly outcome: number
  readonly coverage: number
  /** Model, what was asked for, provider and api as JSON, with a comma behind each. */
  readonly names: string
  /** As JSON, with a comma. */
  readonly fault: string
}

interface RowKind extends RowTraits {
  readonly number: number
}

interface Payer {
  readonly line: string
  readonly kinds: Map<string, RowKind>
  /** Most rows are of the same kind as the one before. */
  latest: RowKind | null
}

const NO_FAULT = 'null,'
/** No payer line is empty. */
const NOBODY: Payer = { line: '\n', kinds: new Map(), latest: null }

/** Rows in the order of the parameters `row_…` and `kind_…` of `sluice.take_journals`. */
export class RowColumns {
  readonly #keys = new TextColumn()
  readonly #organizations = new TextColumn()
  readonly #workspaces = new TextColumn()
  readonly #kinds = new TextColumn()
  readonly #models = new TextColumn()
  readonly #providers = new TextColumn()
  readonly #apis = new TextColumn()
  readonly #outcomes = new TextColumn()
  readonly #faults = new TextColumn()
  readonly #coverages = new NumberColumn()
  readonly #places = new NumberColumn()

  readonly #kindsOfRows = new NumberColumn()
  readonly #begun = new NumberColumn()
  readonly #ids = new TextColumn()
  readonly #costs = new NumberColumn()
  readonly #prompts = new NumberColumn()
  readonly #completions = new NumberColumn()
  readonly #durations = new NumberColumn()
  readonly #details = new TextColumn()

  /** The longest first: what a statement is written into grows by parts of its length. */
  readonly #all = [
    ...[this.#details, this.#ids, this.#begun, this.#kindsOfRows, this.#costs, this.#prompts],
    ...[this.#completions, this.#durations],
    ...[this.#keys, this.#organizations, this.#workspaces, this.#kinds, this.#models, this.#providers],
    ...[this.#apis, this.#outcomes, this.#faults, this.#coverages, this.#places],
  ]
  readonly #payers = new Map<string, Payer>()
  readonly #cursor = new LineCursor()
  #payer: Payer = NOBODY
  #kindCount = 0
  #length = 0
  /** Of the row before the first: that of a row is beyond it by the row's number. */
  #firstPlace = 0

  addPiece({ from, batch }: JournalPiece): void {
    let place = from.segment * SEGMENT_PLACES + from.offset
    for (const { lines } of batch.blocks.values()) {
      let payer = ''
      for (const line of lines) {
        if (isPayerLine(line)) payer = line
        else this.add(payer, line, place++)
      }
    }
  }

  /** A line that closes a call or tells a lost attempt, and its payer line; a character of them stands for a byte. */
  add(payerLine: string, line: string, place: number): void {
    const firstPlace = place - ++this.#length
    if (firstPlace !== this.#firstPlace) {
      // A place is part of the kind, so that rows that follow each other need not tell theirs.
      this.#firstPlace = firstPlace
      this.#payers.clear()
      this.#payer = this.#payerOf(payerLine)
    } else if (payerLine !== this.#payer.line) this.#payer = this.#payerOf(payerLine)
    const id = lineId(line)
    this.#begun.push(lineTime(line))
    this.#ids.push(id)
    this.#cursor.begin(line, LINE_ID_AT + id.length + 1)
    if (isLostLine(line)) this.#addLost(line)
    else this.#addClosed(line, isPart(id) ? 'part' : 'call')
  }

  /** Valid until they are cleared. */
  get values(): readonly unknown[] {
    return this.#all.map(({ value }) => value)
  }

  /** For other rows, in the memory of these: what a batch takes outlives the collections of what is young. */
  clear(): void {
    for (const column of this.#all) column.clear()
    this.#payers.clear()
    this.#payer = NOBODY
    this.#kindCount = 0
    this.#length = 0
    this.#firstPlace = 0
  }

  /** `C id cost coverage outcome promptTokens completionTokens`, maybe `byokCost`, and the detail. */
  #addClosed(line: string, kind: 'call' | 'part'): void {
    const cursor = this.#cursor
    this.#costs.push(cursor.whole(' '))
    const coverage = cursor.whole(' ')
    const outcome = cursor.whole(' ')
    this.#prompts.push(cursor.whole(' '))
    this.#completions.push(cursor.whole(' '))
    let isDetail = cursor.passes('[')
    if (!isDetail) {
      cursor.whole(' ')
      isDetail = cursor.passes('[')
    }
    const tailAt = isDetail ? cursor.at - 1 : line.indexOf(' [') + 1
    const { names, fault, durationMs } = this.#readDetail() ?? parseDetail(line.slice(tailAt))
    this.#addRest(line.slice(tailAt), durationMs, { kind, outcome, coverage, names, fault })
  }

  /** `L id upstreamCost promptTokens completionTokens` and the detail. */
  #addLost(line: string): void {
    const tail = line.slice(line.indexOf(' [') + 1)
    for (const column of [this.#costs, this.#prompts, this.#completions]) column.push(this.#cursor.whole(' '))
    const [model, provider, , fault, , durationMs] = parseTail(tail)
    const named = encodeTraits([model, model, provider, ''], fault)
    this.#addRest(tail, Number(durationMs), { kind: LOST, outcome: 0, coverage: 0, ...named })
  }

  #addRest(tail: string, durationMs: number, traits: RowTraits): void {
    this.#durations.push(durationMs)
    this.#details.push(tail)
    const { latest } = this.#payer
    const kind = latest !== null && isSame(latest, traits) ? latest : this.#kindOf(traits)
    this.#payer.latest = kind
    this.#kindsOfRows.push(kind.number)
  }

  /** What stands at the cursor, behind the bracket of a detail; null when it has to be parsed. */
  #readDetail(): DetailTraits | null {
    const cursor = this.#cursor
    if (!cursor.passesFigures()) return null
    let names = this.#payer.latest?.names ?? ''
    if (names === '' || !cursor.passes(names)) {
      const namesAt = cursor.at
      if (!cursor.passesValues(API + 1 - MODEL)) return null
      names = cursor.since(namesAt)
    }
    if (!cursor.passesValues(DURATION - API - 1)) return null
    const durationMs = cursor.whole(',')
    if (Number.isNaN(durationMs) || !cursor.passesValues(FAULT - DURATION - 1)) return null
    if (cursor.passes(NO_FAULT)) return { names, fault: NO_FAULT, durationMs }
    const faultAt = cursor.at
    return cursor.passesValues(1) ? { names, fault: cursor.since(faultAt), durationMs } : null
  }

  #payerOf(line: string): Payer {
    let payer = this.#payers.get(line)
    if (payer === undefined) {
      payer = { line, kinds: new Map(), latest: null }
      this.#payers.set(line, payer)
    }
    return payer
  }

  #kindOf(traits: RowTraits): RowKind {
    const { kind, outcome, coverage, names, fault } = traits
    const { kinds } = this.#payer
    const name = `${kind} ${outcome} ${coverage} ${names}${fault}`
    const known = kinds.get(name)
    if (known !== undefined) return known
    const made = { ...traits, number: ++this.#kindCount }
    kinds.set(name, made)
    this.#addKind(made)
    return made
  }

  #addKind({ kind, outcome, coverage, names, fault }: RowKind): void {
    const { keyHash, organizationId, workspaceId } = readPayerIds(this.#payer.line)
    this.#keys.push(plainText(keyHash))
    this.#organizations.push(plainText(organizationId))
    this.#workspaces.push(plainText(workspaceId ?? ''))
    const [model, , provider, api, why] = parseTail(`[${names}${fault.slice(0, -1)}]`)
    this.#kinds.push(kind)
    this.#models.push(plainText(model))
    this.#providers.push(plainText(provider))
    this.#apis.push(plainText(api))
    this.#outcomes.push(kind === LOST ? LOST : (LEDGER_OUTCOMES[outcome] ?? 'failed'))
    this.#faults.push(plainText(why))
    this.#coverages.push(coverage)
    this.#places.push(this.#firstPlace)
  }
}

/** Where they stand in the detail of a closed line (see row-text.ts). */
const [MODEL, API, DURATION, FAULT] = [1, 4, 7, 11] as const

interface DetailTraits extends Pick<RowTraits, 'names' | 'fault'> {
  readonly durationMs: number
}

function parseDetail(tail: string): DetailTraits {
  const values = parseTail(tail)
  const traits = encodeTraits(values.slice(MODEL, API + 1), values[FAULT])
  return { ...traits, durationMs: Number(values[DURATION]) }
}

function encodeTraits(names: readonly unknown[], fault: unknown): Pick<RowTraits, 'names' | 'fault'> {
  const encode = (value: unknown): string => `${JSON.stringify(value ?? null)},`
  return { names: names.map(encode).join(''), fault: encode(fault) }
}

function parseTail(tail: string): readonly unknown[] {
  try {
    const values: unknown = JSON.parse(tail)
    return Array.isArray(values) ? values : []
  } catch {
    return []
  }
}

function isSame(a: RowTraits, b: RowTraits): boolean {
  return (
    a.kind === b.kind &&
    a.outcome === b.outcome &&
    a.coverage === b.coverage &&
    a.names === b.names &&
    a.fault === b.fault
  )
}

const PLAIN = /^[\x20-\xff]*$/
const NOT_PLAIN = /[^\x20-\xff]/g

/** For a column: control characters would end a line, and what is beyond a byte is no part of one. */
function plainText(value: unknown): string {
  if (typeof value !== 'string') return ''
  return PLAIN.test(value) ? value : value.replaceAll(NOT_PLAIN, '?')
}
