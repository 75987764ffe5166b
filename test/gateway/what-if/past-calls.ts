/** Rows of calls and catalogues for tests of what-if. */
import { newGenerationId } from '../../../src/base/ids.js'
import type { Catalog } from '../../../src/gateway/catalog/catalog.js'
import { NO_SUPPOSED_LIMITS } from '../../../src/gateway/what-if/limits.js'
import { WhatIf } from '../../../src/gateway/what-if/what-if.js'
import { type LedgerRow, NO_LIMIT_COVERAGE, NOTHING_TOLD } from '../../../src/store/ledger-store.js'
import { BEGAN, hashOf, idOf } from '../../support/data/accounts.js'
import { catalogOf, PRICES, ScriptedProvider } from '../../support/providers/scripted-provider.js'

export const MODEL = 'acme/one'
export const priced = (prompt: number, completion = 0) => ({ ...PRICES, prompt, completion })
export const catalogWith = (...endpoints: Parameters<typeof catalogOf>[0][string][number][]): Catalog =>
  catalogOf({ [MODEL]: endpoints }, () => new ScriptedProvider())

let count = 0
/** Milliseconds that the calls so far take up, one each second. */
export const passed = (): number => 1000 * count

/** A call of 1,000 prompt and 100 completion tokens that was answered by the provider NORTH. */
export function rowOf(more: Partial<LedgerRow> = {}, detail: Partial<LedgerRow['detail']> = {}): LedgerRow {
  const createdAt = more.createdAt ?? BEGAN + 1000 * count++
  return {
    ...{ id: newGenerationId(createdAt), keyHash: hashOf(1), organizationId: idOf(1), workspaceId: idOf(2) },
    ...{
      coverage: NO_LIMIT_COVERAGE,
      outcome: 'settled',
      cost: 5,
      promptTokens: 1000,
      completionTokens: 100,
    },
    ...{ units: {}, lost: [], parts: [] },
    detail: {
      ...{
        model: MODEL,
        requested: MODEL,
        provider: 'NORTH',
        api: 'completions',
        streamed: false,
        attempts: 1,
      },
      ...{
        durationMs: 200,
        firstEventMs: 50,
        sessionId: null,
        estimated: false,
        guessed: false,
        fault: null,
      },
      ...{ finish: 'stop', nativeFinish: 'stop', serviceTier: null, mediaParts: 0, audioParts: 0 },
      why: { ...NOTHING_TOLD, asked: null },
      ...detail,
    },
    ...more,
    createdAt,
  }
}

export function askOf(
  catalog: Catalog,
  rows: readonly LedgerRow[],
  more: Partial<ConstructorParameters<typeof WhatIf>[0]> = {},
) {
  const whatIf = new WhatIf({
    ...{ catalog, limits: NO_SUPPOSED_LIMITS, since: 0, replicates: 50, seed: 7 },
    ...more,
  })
  for (const row of rows) whatIf.add(row)
  return whatIf.report()
}

/** A figure of which nothing was drawn. */
export const sure = (value: number) => ({ value, low: value, high: value, basis: 'exact' })

export const many = (n: number, make: (at: number) => LedgerRow): LedgerRow[] =>
  Array.from({ length: n }, (_, at) => make(at))
