/** Sums of hours, put together by what they are asked to be told apart by. */

import type { UsageDimension, UsageFigures, UsageLine } from '../ledger-store.js'
import { hourStart } from './generation-time.js'
import { USAGE_FIGURES } from './ledger-query.js'

interface HourSum extends UsageFigures {
  readonly hour: number
  readonly keyHash: string
  readonly model: string
  readonly provider: string
}

const HOURS_OF_DAY = 24

export class UsageTable {
  readonly #by: ReadonlySet<UsageDimension>
  readonly #lines = new Map<string, UsageLine>()

  constructor(by: readonly UsageDimension[]) {
    this.#by = new Set(by)
  }

  get size(): number {
    return this.#lines.size
  }

  /** In the order of time, key, model and provider. */
  get lines(): readonly UsageLine[] {
    return [...this.#lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line)
  }

  add(sum: HourSum): void {
    const by = this.#by
    const { hour } = sum
    const at = by.has('hour') ? hour : by.has('day') ? hour - (hour % HOURS_OF_DAY) : null
    const names = {
      keyHash: by.has('key') ? sum.keyHash : null,
      model: by.has('model') ? sum.model : null,
      provider: by.has('provider') ? sum.provider : null,
    }
    const { keyHash, model, provider } = names
    const place = [String(at ?? '').padStart(12, '0'), keyHash, model, provider].join('\0')
    const known = this.#lines.get(place)
    if (known !== undefined) addFigures(known, sum)
    else {
      const line = { at: at === null ? null : hourStart(at), ...names, ...noFigures() }
      this.#lines.set(place, addFigures(line, sum))
    }
  }
}

/** Nothing was used. */
export function noFigures(): UsageFigures {
  return { cost: 0, promptTokens: 0, completionTokens: 0, calls: 0, failed: 0, byok: 0 }
}

/** Adds to the first, and answers it. */
export function addFigures<T extends UsageFigures>(to: T, by: UsageFigures): T {
  for (const member of USAGE_FIGURES) to[member] += by[member]
  return to
}
