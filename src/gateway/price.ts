/** What a call costs: tokens times the catalogue's prices, each token priced once. */
import { priced, settle } from '../base/money.js'
import type { Usage } from './canonical.js'
import type { Prices } from './catalog.js'

/** Nano-dollars. `total` is rounded once and may differ from the parts by one. */
export interface Cost {
  readonly total: number
  readonly prompt: number
  readonly completion: number
}

/**
 * The cost of a call. `usage` keeps the canonical rule (prompt includes cached and written tokens, completion
 * includes reasoning), so each kind is taken out of its sum before the rest is priced. A kind without a price of
 * its own costs what the tokens around it cost.
 */
export function costOf(usage: Usage, prices: Prices): Cost {
  const prompt = promptRows(usage, prices)
  const completion = completionRows(usage, prices)
  return {
    total: nanos([...prompt, ...completion]) + prices.request,
    prompt: nanos(prompt),
    completion: nanos(completion),
  }
}

type Row = readonly [tokens: number, nanosPerMillion: number]

function promptRows(usage: Usage, prices: Prices): Row[] {
  return [
    [usage.prompt - usage.cached - usage.cacheWrite - usage.promptAudio, prices.prompt],
    [usage.cached, prices.inputCacheRead ?? prices.prompt],
    [usage.cacheWrite, prices.inputCacheWrite ?? prices.prompt],
    [usage.promptAudio, prices.inputAudio ?? prices.prompt],
  ]
}

function completionRows(usage: Usage, prices: Prices): Row[] {
  return [
    [usage.completion - usage.reasoning - usage.completionAudio, prices.completion],
    [usage.reasoning, prices.internalReasoning ?? prices.completion],
    [usage.completionAudio, prices.outputAudio ?? prices.completion],
  ]
}

const MILLION = 1_000_000
/** Below this, sums and the division by a million are exact in plain numbers, which cost a tenth of big ones. */
const EXACT = 2 ** 52

/** A sum of priced tokens in nano-dollars, halves rounded up. Figures that overlap count as nothing, not less. */
function nanos(rows: readonly Row[]): number {
  let sum = 0
  for (const [tokens, price] of rows) if (tokens > 0) sum += tokens * price
  if (sum < EXACT) return Math.floor((sum + MILLION / 2) / MILLION)
  return settle(rows.reduce((total, [tokens, price]) => total + priced(Math.max(0, tokens), price), 0n))
}
