import { byokPayer, keyPayer, LEDGER_OUTCOMES, type LedgerPayer, organizationPayer } from '../ledger-store.js'
import { hourAt, isPart, timeSlotAt } from './generation-time.js'
import { LineNames, type NamesOfLine } from './line-names.js'
import {
  isLostLine,
  isOpenLine,
  isPayerLine,
  lineId,
  lineTime,
  readFigures,
  readPayerIds,
} from './row-text.js'

/** In the order in which the ledger keeps them. */
export const USAGE_MEMBERS = ['cost', 'promptTokens', 'completionTokens', 'calls'] as const

/** What a payer has used. Doubles hold whole nano-dollars exactly up to nine million dollars. */
export type UsageSums = Record<(typeof USAGE_MEMBERS)[number], number>

/** What calls of one key, one model of one provider, one hour and one kind of coverage came to. */
export interface UsageDelta extends UsageSums, NamesOfLine {
  readonly keyHash: string
  readonly organizationId: string
  readonly workspaceId: string | null
  /** Number of the UTC hour in which they were dispatched. */
  readonly hour: number
  /** The number of the lines (see `decodeCoverage`). */
  readonly coverage: number
  /** What went on the caller's own accounts. */
  byok: number
  /** How many of the calls have failed. */
  failed: number
}

const FAILED = LEDGER_OUTCOMES.indexOf('failed')

/** Lines of calls that began at about the same time. */
interface LineBlock {
  readonly lines: string[]
  /** The last payer line among them. */
  payer: string
}

/** Lines of a journal, sorted into what they change. Made outside of the transaction, so that it can be repeated. */
export class LedgerBatch {
  /** Lines of calls that are over, by the time slot in which the call began. */
  readonly blocks = new Map<number, LineBlock>()
  closed = 0
  /** Dispatched in this batch and not over at its end: payer line and line, by id. */
  readonly opened = new Map<string, string>()
  /** Dispatched before this batch and over now. */
  readonly closedIds: string[] = []
  readonly #deltas = new Map<string, UsageDelta>()
  /** Most lines belong to the same delta as the line before them. */
  #lastDelta: UsageDelta | null = null
  #lastDeltaPayer = ''
  #lastDeltaNames = ''
  readonly #names = new LineNames()
  #payer = ''
  /** Of the line that is being read. */
  readonly #figures = {
    ...{ cost: 0, coverage: 0, outcome: 0, promptTokens: 0, completionTokens: 0, byok: 0, detailAt: 0 },
    calls: 1,
  }

  /** @param before calls that were open before these lines, by id */
  constructor(lines: readonly string[], before: ReadonlyMap<string, string>) {
    for (const line of lines) this.#addLine(line, before)
  }

  get deltas(): readonly UsageDelta[] {
    return [...this.#deltas.values()]
  }

  #addLine(line: string, before: ReadonlyMap<string, string>): void {
    if (isPayerLine(line)) {
      // Equal payer lines shall be the same string, which is compared at once.
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
    // Nobody has paid for it.
    if (isLostLine(line)) return
    this.closed++
    if (!this.opened.delete(id) && before.has(id)) this.closedIds.push(id)
    readFigures(line, id.length, this.#figures)
    // The request is the call.
    this.#figures.calls = isPart(id) ? 0 : 1
    const names = this.#names.read(line, this.#figures.detailAt)
    const delta = this.#deltaOf(hourAt(time), this.#figures.coverage, names)
    addUsage(delta, this.#figures)
    delta.byok += this.#figures.byok
    if (this.#figures.outcome === FAILED) delta.failed += this.#figures.calls
  }

  #addToBlock(slot: number, line: string): void {
    let block = this.blocks.get(slot)
    if (block === undefined) {
      block = { lines: [], payer: '' }
      this.blocks.set(slot, block)
    }
    if (block.payer !== this.#payer) {
      block.lines.push(this.#payer)
      block.payer = this.#payer
    }
    block.lines.push(line)
  }

  #deltaOf(hour: number, coverage: number, names: string): UsageDelta {
    const last = this.#lastDelta
    const isSame = last?.hour === hour && last.coverage === coverage
    if (isSame && this.#lastDeltaPayer === this.#payer && this.#lastDeltaNames === names) return last
    const name = `${hour} ${coverage} ${this.#payer} ${names}`
    let delta = this.#deltas.get(name)
    if (delta === undefined) {
      const none = { byok: 0, failed: 0, ...noUsage() }
      delta = { ...readPayerIds(this.#payer), ...this.#names.named(names), hour, coverage, ...none }
      this.#deltas.set(name, delta)
    }
    this.#lastDelta = delta
    this.#lastDeltaPayer = this.#payer
    this.#lastDeltaNames = names
    return delta
  }
}

/** The sums of payers that calls add to, and what they add to each. */
export function usageByPayer(delta: UsageDelta): readonly { payer: LedgerPayer; used: UsageSums }[] {
  const { keyHash, organizationId, byok } = delta
  const charged = [keyPayer(keyHash), organizationPayer(organizationId)].map((payer) => ({
    payer,
    used: delta,
  }))
  return byok === 0
    ? charged
    : [...charged, { payer: byokPayer(keyHash), used: { ...noUsage(), cost: byok } }]
}

export function noUsage(): UsageSums {
  return { cost: 0, promptTokens: 0, completionTokens: 0, calls: 0 }
}

export function addUsage(sums: UsageSums, used: UsageSums): void {
  sums.cost += used.cost
  sums.promptTokens += used.promptTokens
  sums.completionTokens += used.completionTokens
  sums.calls += used.calls
}
