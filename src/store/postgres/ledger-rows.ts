/**
 * Rows of journals as columns of a statement. A text that holds one value per line costs no quoting, here or there; it
 * goes as bytes, which is what the characters of a journal's lines are.
 */
import { isUtf8 } from 'node:buffer'
import { isPart } from '../ledger/generation-time.js'
import { isLostLine, isPayerLine, lineId, lineTime, readPayerIds } from '../ledger/row-text.js'
import type { JournalPiece } from '../ledger/writable-ledger.js'
import { LEDGER_OUTCOMES } from '../ledger-store.js'

/** What stands in the column `outcome` of a lost attempt. */
const LOST = 'lost'
/** A segment has fewer bytes: a place is the segment's number and, below it, a place in it. */
const SEGMENT_PLACES = 2 ** 32

/** A column of whole numbers, as the text of an array. */
class NumberColumn {
  #text = ''
  #length = 0

  push(value: number): void {
    // What is no number of ours must not keep all that comes behind it from the ledger.
    const whole = Number.isSafeInteger(value) ? value : toWhole(value)
    this.#text += this.#length++ === 0 ? whole : `,${whole}`
  }

  get value(): string {
    return `{${this.#text}}`
  }
}

function toWhole(value: number): number {
  const whole = Math.round(value)
  return Number.isSafeInteger(whole) ? whole : 0
}

/** A column of texts without line ends. */
class TextColumn {
  #text = ''
  #length = 0

  push(value: string): void {
    this.#text += this.#length++ === 0 ? value : `\n${value}`
  }

  get value(): Buffer {
    const bytes = Buffer.from(this.#text, 'latin1')
    // PostgreSQL takes nothing else, and one bad name must not stop the ledger.
    return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8'))
  }
}

/** Rows in the order of the parameters `row_…` of `sluice.take_journals`. */
export class RowColumns {
  readonly #begun = new NumberColumn()
  readonly #ids = new TextColumn()
  readonly #kinds = new TextColumn()
  readonly #places = new NumberColumn()
  readonly #keys = new TextColumn()
  readonly #organizations = new TextColumn()
  readonly #workspaces = new TextColumn()
  readonly #models = new TextColumn()
  readonly #providers = new TextColumn()
  readonly #apis = new TextColumn()
  readonly #outcomes = new TextColumn()
  readonly #faults = new TextColumn()
  readonly #coverages = new NumberColumn()
  readonly #costs = new NumberColumn()
  readonly #upstream = new NumberColumn()
  readonly #prompts = new NumberColumn()
  readonly #completions = new NumberColumn()
  readonly #durations = new NumberColumn()
  readonly #details = new TextColumn()
  length = 0

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
    this.length++
    const id = lineId(line)
    this.#begun.push(lineTime(line))
    this.#ids.push(id)
    this.#places.push(place)
    this.#addPayer(payerLine)
    const tailAt = line.indexOf(' [')
    const front = line.slice(0, tailAt).split(' ')
    const tail = line.slice(tailAt + 1)
    this.#details.push(tail.includes('\0') ? tail.replaceAll('\0', '\\u0000') : tail)
    if (isLostLine(line)) this.#addLost(front, tail)
    else this.#addCall(isPart(id), front, tail)
  }

  get values(): readonly unknown[] {
    return [
      ...[this.#begun, this.#ids, this.#kinds, this.#places, this.#keys, this.#organizations],
      ...[this.#workspaces, this.#models, this.#providers, this.#apis, this.#outcomes, this.#faults],
      ...[this.#coverages, this.#costs, this.#upstream, this.#prompts, this.#completions],
      ...[this.#durations, this.#details],
    ].map(({ value }) => value)
  }

  #addPayer(line: string): void {
    const { keyHash, organizationId, workspaceId } = readPayerIds(line)
    this.#keys.push(plainText(keyHash))
    this.#organizations.push(plainText(organizationId))
    this.#workspaces.push(plainText(workspaceId ?? ''))
  }

  /** `C id cost coverage outcome promptTokens completionTokens` and the detail. */
  #addCall(isOfPart: boolean, front: readonly string[], tail: string): void {
    const [, , cost, coverage, outcome, prompt, completion] = front
    const detail = parseTail(tail)
    this.#kinds.push(isOfPart ? 'part' : 'call')
    this.#outcomes.push(LEDGER_OUTCOMES[Number(outcome)] ?? 'failed')
    this.#coverages.push(Number(coverage))
    this.#costs.push(Number(cost))
    this.#upstream.push(0)
    this.#prompts.push(Number(prompt))
    this.#completions.push(Number(completion))
    this.#models.push(plainText(detail[MODEL]))
    this.#providers.push(plainText(detail[PROVIDER]))
    this.#apis.push(plainText(detail[API]))
    this.#durations.push(Number(detail[DURATION]))
    this.#faults.push(plainText(detail[FAULT]))
  }

  /** `L id upstreamCost promptTokens completionTokens` and the detail. */
  #addLost(front: readonly string[], tail: string): void {
    const [, , upstreamCost, prompt, completion] = front
    const [model, provider, , fault, , durationMs] = parseTail(tail)
    this.#kinds.push(LOST)
    this.#outcomes.push(LOST)
    this.#coverages.push(0)
    this.#costs.push(0)
    this.#upstream.push(Number(upstreamCost))
    this.#prompts.push(Number(prompt))
    this.#completions.push(Number(completion))
    this.#models.push(plainText(model))
    this.#providers.push(plainText(provider))
    this.#apis.push('')
    this.#durations.push(Number(durationMs))
    this.#faults.push(plainText(fault))
  }
}

/** Where they stand in the detail of a closed line (see row-text.ts). */
const [MODEL, PROVIDER, API, DURATION, FAULT] = [1, 3, 4, 7, 11] as const

function parseTail(tail: string): readonly unknown[] {
  try {
    const values: unknown = JSON.parse(tail)
    return Array.isArray(values) ? values : []
  } catch {
    return []
  }
}

const PLAIN = /^[\x20-\xff]*$/
const NOT_PLAIN = /[^\x20-\xff]/g

/** For a column: control characters would end a line, and what is beyond a byte is no part of one. */
function plainText(value: unknown): string {
  if (typeof value !== 'string') return ''
  return PLAIN.test(value) ? value : value.replaceAll(NOT_PLAIN, '?')
}
