import {
  type ClosedLineFigures,
  isOpenLine,
  isPayerLine,
  lineId,
  lineTime,
  readFigures,
  readPayerIds,
} from './row-text.js'
import { hourOf, timeSlotAt } from './time-slots.js'

/** What a payer has used. Doubles hold whole nano-dollars exactly up to nine million dollars. */
export interface UsageSums {
  cost: number
  promptTokens: number
  completionTokens: number
  calls: number
}

/** What calls of one key, one hour and one kind of coverage came to. */
export interface UsageDelta extends UsageSums {
  readonly keyHash: string
  readonly organizationId: string
  /** Number of the UTC hour in which they were dispatched. */
  readonly hour: number
  /** The digit of the lines (see `coverageOf`). */
  readonly coverage: number
}

/** What began at about the same time. */
interface LineBlock {
  readonly lines: string[]
  /** The last payer line among them. */
  payer: string
}

/** Lines of a journal, sorted into what they change. Made outside of the transaction, so that it can be repeated. */
export class LedgerBatch {
  /** Of what is over, by the moment in which it began. */
  readonly blocks = new Map<number, LineBlock>()
  closed = 0
  /** Dispatched in this part and not over at its end: payer line and line, by id. */
  readonly opened = new Map<string, string>()
  /** Dispatched before this part and over now. */
  readonly closedIds: string[] = []
  readonly #deltas = new Map<string, UsageDelta>()
  /** Most lines are of the same share as the one before them, and paid by the same. */
  #lastDelta: UsageDelta | null = null
  #lastDeltaPayer = ''
  #payer = ''
  readonly #figures: ClosedLineFigures = { cost: 0, coverage: 0, promptTokens: 0, completionTokens: 0 }

  /** @param before calls that were open before these lines, by id */
  constructor(lines: readonly string[], before: ReadonlyMap<string, string>) {
    for (const line of lines) this.#addLine(line, before)
  }

  get deltas(): readonly UsageDelta[] {
    return [...this.#deltas.values()]
  }

  #addLine(line: string, before: ReadonlyMap<string, string>): void {
    if (isPayerLine(line)) {
      // Each batch says it anew: what is the same is to be the very same text, which is told at a glance.
      if (line !== this.#payer) this.#payer = line
      return
    }
    const id = lineId(line)
    if (isOpenLine(line)) {
      this.opened.set(id, `${this.#payer}\n${line}`)
      return
    }
    const time = lineTime(line)
    this.#addToBlock(timeSlotAt(time), line)
    this.closed++
    if (!this.opened.delete(id) && before.has(id)) this.closedIds.push(id)
    const figures = this.#figures
    readFigures(line, id.length, figures)
    const share = this.#deltaOf(hourOf(time), figures.coverage)
    addUsage(share, figures.cost, figures.promptTokens, figures.completionTokens, 1)
  }

  #addToBlock(moment: number, line: string): void {
    let block = this.blocks.get(moment)
    if (block === undefined) {
      block = { lines: [], payer: '' }
      this.blocks.set(moment, block)
    }
    if (block.payer !== this.#payer) {
      block.lines.push(this.#payer)
      block.payer = this.#payer
    }
    block.lines.push(line)
  }

  #deltaOf(hour: number, coverage: number): UsageDelta {
    const last = this.#lastDelta
    if (last?.hour === hour && last.coverage === coverage && this.#lastDeltaPayer === this.#payer) return last
    const name = `${hour} ${coverage} ${this.#payer}`
    let share = this.#deltas.get(name)
    if (share === undefined) {
      const { keyHash, organizationId } = readPayerIds(this.#payer)
      share = {
        keyHash,
        organizationId,
        hour,
        coverage,
        cost: 0,
        promptTokens: 0,
        completionTokens: 0,
        calls: 0,
      }
      this.#deltas.set(name, share)
    }
    this.#lastDelta = share
    this.#lastDeltaPayer = this.#payer
    return share
  }
}

export function addUsage(
  sums: UsageSums,
  cost: number,
  prompt: number,
  completion: number,
  calls: number,
): void {
  sums.cost += cost
  sums.promptTokens += prompt
  sums.completionTokens += completion
  sums.calls += calls
}
