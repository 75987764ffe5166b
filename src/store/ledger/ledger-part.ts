import { hourOf, momentAt } from './moments.js'
import { type Figures, isOpenLine, isPayerLine, lineId, lineTime, payersOf, readFigures } from './row-text.js'

/** What a payer has used. Doubles hold whole nano-dollars exactly up to nine million dollars. */
export interface Sums {
  cost: number
  promptTokens: number
  completionTokens: number
  calls: number
}

/** What calls of one key, one hour and one kind of coverage came to. */
export interface Share extends Sums {
  readonly keyHash: string
  readonly organizationId: string
  /** Number of the UTC hour in which they were dispatched. */
  readonly hour: number
  /** The digit of the lines (see `coverageOf`). */
  readonly coverage: number
}

/** What began at about the same time. */
interface Block {
  readonly lines: string[]
  /** The last payer line among them. */
  payer: string
}

/** Lines of a journal, sorted into what they change. Made outside of the transaction, so that it can be repeated. */
export class LedgerPart {
  /** Of what is over, by the moment in which it began. */
  readonly blocks = new Map<number, Block>()
  closed = 0
  /** Dispatched in this part and not over at its end: payer line and line, by id. */
  readonly opened = new Map<string, string>()
  /** Dispatched before this part and over now. */
  readonly over: string[] = []
  readonly #shares = new Map<string, Share>()
  /** Most lines are of the same share as the one before them, and paid by the same. */
  #share: Share | null = null
  #sharePayer = ''
  #payer = ''
  readonly #figures: Figures = { cost: 0, coverage: 0, promptTokens: 0, completionTokens: 0 }

  /** @param before calls that were open before these lines, by id */
  constructor(lines: readonly string[], before: ReadonlyMap<string, string>) {
    for (const line of lines) this.#take(line, before)
  }

  get shares(): readonly Share[] {
    return [...this.#shares.values()]
  }

  #take(line: string, before: ReadonlyMap<string, string>): void {
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
    this.#intoBlock(momentAt(time), line)
    this.closed++
    if (!this.opened.delete(id) && before.has(id)) this.over.push(id)
    const figures = this.#figures
    readFigures(line, id.length, figures)
    const share = this.#shareOf(hourOf(time), figures.coverage)
    add(share, figures.cost, figures.promptTokens, figures.completionTokens, 1)
  }

  #intoBlock(moment: number, line: string): void {
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

  #shareOf(hour: number, coverage: number): Share {
    const last = this.#share
    if (last?.hour === hour && last.coverage === coverage && this.#sharePayer === this.#payer) return last
    const name = `${hour} ${coverage} ${this.#payer}`
    let share = this.#shares.get(name)
    if (share === undefined) {
      const { keyHash, organizationId } = payersOf(this.#payer)
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
      this.#shares.set(name, share)
    }
    this.#share = share
    this.#sharePayer = this.#payer
    return share
  }
}

export function add(sums: Sums, cost: number, prompt: number, completion: number, calls: number): void {
  sums.cost += cost
  sums.promptTokens += prompt
  sums.completionTokens += completion
  sums.calls += calls
}
