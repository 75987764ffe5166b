/** Blocks of rows, gone through backwards: see ledger.ts for how they lie. */
import { largeTurn } from '../../base/large-turns.js'
import { TurnSlices } from '../../base/turn-slices.js'
import {
  firstIdAt,
  generationTime,
  isPart,
  slotStart,
  timeSlotAt,
  wholeId,
} from '../ledger/generation-time.js'
import { isInScope } from '../ledger/ledger-query.js'
import type { LedgerStretch, RowScan } from '../ledger/list-rows.js'
import { isLostLine, isPayerLine, lineId, lineTime, parseRow, readPayerIds } from '../ledger/row-text.js'
import { LEDGER_OUTCOMES, type LedgerListQuery, type LedgerRow } from '../ledger-store.js'
import type { LmdbEnvironment } from './environment.js'
import type { LedgerHours } from './ledger-hours.js'
import type { LmdbByteTable } from './table.js'

const TIME_SLOT_BYTES = 6
const OUTCOME_FIELD = 4
/** Bytes of blocks that are gone through for a page, and at a time. */
const PAGE_BYTES = 16 * 1024 * 1024
const PIECE_BYTES = 512 * 1024
/** Pieces of a page, however small. */
const PAGE_PIECES = 200

/** A call, or its part, as it stands in a block. */
interface FoundLine {
  readonly id: string
  readonly payer: string
  readonly line: string
}

export class LedgerRows implements RowScan {
  readonly #env: LmdbEnvironment
  readonly #table: LmdbByteTable
  readonly #hours: LedgerHours

  constructor(env: LmdbEnvironment, table: LmdbByteTable, hours: LedgerHours) {
    this.#env = env
    this.#table = table
    this.#hours = hours
  }

  async hours(query: LedgerListQuery, upTo: number): Promise<readonly number[]> {
    const slices = new TurnSlices()
    for (let hour = upTo; ; ) {
      const { found, next } = this.#env.inSnapshot(() => this.#hours.hoursOf(query, hour))
      if (found !== null) return [found]
      if (next < 0) return []
      hour = next
      if (slices.isOver) await slices.next()
    }
  }

  async scan(query: LedgerListQuery, stretch: LedgerStretch) {
    const { before, from, limit } = stretch
    const wanted = new WantedRows(query, stretch)
    let bytes = 0
    let stopped: string | null = null
    this.#env.inSnapshot(() => {
      let slot = -1
      let blocks: Buffer[] = []
      const range = {
        start: timeSlotPrefix(timeSlotAt(generationTime(before)!) + 1),
        end: timeSlotPrefix(timeSlotAt(from)),
      }
      for (const { key, value } of this.#env.entriesBackwards(this.#table, range)) {
        const of = Buffer.from(key).readUIntBE(0, TIME_SLOT_BYTES)
        if (of !== slot) {
          wanted.addSlot(blocks)
          blocks = []
          if (slot >= 0 && (bytes > PIECE_BYTES || wanted.rows.length >= limit)) {
            stopped = firstIdAt(slotStart(slot))
            return
          }
          slot = of
        }
        bytes += value.length
        blocks.push(value)
      }
      wanted.addSlot(blocks)
    })
    await largeTurn()
    const rows = wanted.rows.slice(0, limit)
    return { rows, stopped, cost: bytes / PAGE_BYTES + 1 / PAGE_PIECES }
  }
}

/** Rows that a query looks for, out of one time slot after the other. */
class WantedRows {
  readonly rows: LedgerRow[] = []
  readonly #query: LedgerListQuery
  readonly #stretch: LedgerStretch
  /** What a block has somewhere if it has a row that is looked for. */
  readonly #needles: readonly Buffer[]
  /** The same for its line. */
  readonly #words: readonly string[]
  readonly #outcome: string | null
  readonly #inScope = new Map<string, boolean>()

  constructor(query: LedgerListQuery, stretch: LedgerStretch) {
    this.#query = query
    this.#stretch = stretch
    const { scope, keyHash, model, provider, sessionId } = query
    const quoted = [model, provider, sessionId]
      .filter((name) => name !== null)
      .map((name) => JSON.stringify(name))
    const payers = [scope.organizationId, keyHash].filter((id) => id !== null)
    this.#needles = [...payers, ...quoted].map((text) => Buffer.from(text))
    this.#outcome = query.outcome === null ? null : String(LEDGER_OUTCOMES.indexOf(query.outcome))
    // Lines are read with a character for each byte.
    this.#words = quoted.map((text) => Buffer.from(text).toString('latin1'))
  }

  /** All blocks of a slot: the parts of a call stand in the slot of the call, perhaps in another block. */
  addSlot(blocks: readonly Buffer[]): void {
    if (!this.#needles.every((needle) => blocks.some((block) => block.includes(needle)))) return
    const calls: FoundLine[] = []
    const parts = new Map<string, FoundLine[]>()
    for (const block of blocks) this.#readBlock(block, calls, parts)
    calls.sort((a, b) => (a.id < b.id ? 1 : -1))
    for (const call of calls) {
      if (this.rows.length >= this.#stretch.limit) return
      const row = rowOf(call)
      if (this.#isWanted(row)) this.rows.push({ ...row, parts: (parts.get(call.id) ?? []).map(rowOf) })
    }
  }

  #readBlock(block: Buffer, calls: FoundLine[], parts: Map<string, FoundLine[]>): void {
    let payer = ''
    let isTheirs = false
    for (const line of block.toString('latin1').split('\n')) {
      if (isPayerLine(line)) {
        payer = line
        isTheirs = this.#isTheirs(line)
      } else if (isTheirs && !isLostLine(line)) {
        const id = lineId(line)
        if (isPart(id)) {
          const found = { id, payer, line }
          const known = parts.get(wholeId(id))
          if (known === undefined) parts.set(wholeId(id), [found])
          else known.push(found)
        } else if (this.#mayBe(id, line)) calls.push({ id, payer, line })
      }
    }
  }

  #mayBe(id: string, line: string): boolean {
    const { before, from } = this.#stretch
    if (this.#outcome !== null && outcomeOf(line) !== this.#outcome) return false
    return id < before && lineTime(line) >= from && this.#words.every((word) => line.includes(word))
  }

  #isTheirs(payerLine: string): boolean {
    const known = this.#inScope.get(payerLine)
    if (known !== undefined) return known
    const payer = readPayerIds(payerLine)
    const { scope, keyHash } = this.#query
    const is = isInScope(scope, payer) && (keyHash === null || payer.keyHash === keyHash)
    this.#inScope.set(payerLine, is)
    return is
  }

  #isWanted({ detail }: LedgerRow): boolean {
    const wanted = this.#query
    return (
      (wanted.model === null || wanted.model === detail.model) &&
      (wanted.provider === null || wanted.provider === detail.provider) &&
      (wanted.sessionId === null || wanted.sessionId === detail.sessionId)
    )
  }
}

function rowOf({ payer, line }: FoundLine): LedgerRow {
  return parseRow(readPayerIds(payer), Buffer.from(line, 'latin1').toString())
}

/** The digit that stands for the outcome in a line that closes a call. */
function outcomeOf(line: string): string | undefined {
  return line.split(' ', OUTCOME_FIELD + 1)[OUTCOME_FIELD]
}

/** Begins the keys of all blocks of a time slot. */
export function timeSlotPrefix(slot: number): Buffer {
  const bytes = Buffer.alloc(TIME_SLOT_BYTES)
  bytes.writeUIntBE(slot, 0, TIME_SLOT_BYTES)
  return bytes
}

/** @param place what no other part of any journal has */
export function rowBlockKey(slot: number, place: string): Buffer {
  return Buffer.concat([timeSlotPrefix(slot), Buffer.from(place)])
}
