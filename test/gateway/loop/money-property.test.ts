/**
 * The law of money over loops (contract/tools 2, contract/decisions 61): whatever becomes of turns, tools, callers and
 * keys, what was charged over the rows of a request is what the answer says and what its limits have lost.
 */
import fc from 'fast-check'
import { test } from 'tap'
import { keyMoneyQuota } from '../../../src/gateway/accounting/claims.js'
import type { LedgerRow } from '../../../src/store/ledger-store.js'
import {
  DEEDS,
  FATES,
  type LoopRunResult,
  type LoopScript,
  MISHAPS,
  playLoop,
  type ToolScript,
  type TurnScript,
} from '../../support/models/loop-money-world.js'
import { CALLER } from '../../support/providers/scripted-provider.js'

const RUNS = 10_000

const toolScript: fc.Arbitrary<ToolScript> = fc.record({
  tool: fc.constantFrom('free', 'paid', 'paid', 'unknown'),
  deed: fc.constantFrom(...DEEDS, 'answer', 'answer', 'nest'),
  charged: fc.nat(900),
})
const turnScript: fc.Arbitrary<TurnScript> = fc.record({
  fate: fc.constantFrom(...FATES, 'served', 'served', 'served', 'served', 'served', 'served', 'uncounted'),
  calls: fc.array(toolScript, { maxLength: 3 }),
  prompt: fc.nat(5),
  completion: fc.nat(60),
})
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 4 })
const often = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value })
const loopScript: fc.Arbitrary<LoopScript> = fc.record({
  turns: fc.array(turnScript, { minLength: 1, maxLength: 8 }),
  credits: fc.constantFrom(1_000_000_000, 1_000_000_000, 700_000, 260_000, 900),
  keyLimit: often(fc.constantFrom(1_000_000, 300_000)),
  maxCost: seldom(fc.nat(300_000)),
  steps: fc.integer({ min: 1, max: 6 }),
  streamed: fc.boolean(),
  leavesAt: often(fc.nat(14)),
  disabledAt: often(fc.nat(20)),
  pluginFee: often(fc.nat(2_000)),
  mishap: often(fc.constantFrom(...MISHAPS)),
})

const seen = { charged: 0, left: 0, refused: 0, crossed: 0, nested: 0, fees: 0, rows: 0, uncharged: 0 }

/** What is wrong with the money of a run, in words; nothing where the law holds. */
async function breaches(script: LoopScript, result: LoopRunResult): Promise<string[]> {
  const { root, told, ends, gauges, world, defects } = result
  const wrong: string[] = []
  const check = (holds: boolean, what: string): void => {
    if (!holds) wrong.push(what)
  }
  check(defects.length === 0, `defects: ${defects.map(String).join()}`)
  check(ends <= 1, `told ${ends} times`)
  for (const [name, count] of Object.entries(gauges)) check(count === 0, `${name}: ${count}`)
  const row = world.row(root.id)
  const { charged, calls, unclosed } = world.books()
  const parts = row?.parts ?? []
  const sum = parts.reduce((before, part) => before + part.cost, 0)
  check(unclosed === 0, `${unclosed} rows are open`)
  check(calls === (row === null ? 0 : 1), `${calls} calls`)
  check((row?.cost ?? 0) === 0, `the root costs ${row?.cost}`)
  check(sum === charged, `rows ${sum}, books ${charged}`)
  const left = await world.creditsLeft()
  check(
    left === Math.max(0, script.credits - charged),
    `credits ${left} of ${script.credits} after ${charged}`,
  )
  if (script.keyLimit !== null) {
    const ofKey = await world.left(
      keyMoneyQuota(CALLER.keyHash, { reset: 'never', inclusive: false }, 0),
      script.keyLimit,
    )
    check(
      ofKey === Math.max(0, script.keyLimit - charged),
      `key ${ofKey} of ${script.keyLimit} after ${charged}`,
    )
  }
  if (told?.fault === null || root.consumption !== null) {
    const said = root.consumption?.cost.total
    check(said === charged, `usage.cost ${said}, charged ${charged}`)
  }
  if (script.maxCost !== null) wrong.push(...overruns(script.maxCost, parts, world.lines))
  count(result, parts, charged)
  return wrong
}

/** Rows of a request in the order in which they began. */
function inOrder(parts: readonly LedgerRow[], lines: readonly string[]): readonly LedgerRow[] {
  const begun = lines.filter((line) => line.startsWith('O ')).map((line) => line.split(' ')[1]!)
  return [...parts].sort((a, b) => begun.indexOf(a.id) - begun.indexOf(b.id))
}

/** contract/tools 1.2: `max_cost` is passed by the turn that crosses it, its pending fees and the last turn only. */
function overruns(maxCost: number, parts: readonly LedgerRow[], lines: readonly string[]): string[] {
  const rows = inOrder(parts, lines)
  const wrong: string[] = []
  let spent = 0
  let since = 0
  /** Turns of the caller's own loop that began when more than that was spent. */
  let late = 0
  let budget = Number.POSITIVE_INFINITY
  for (const { cost, detail } of rows) {
    if (detail.api === 'turn') {
      if (spent > maxCost) late++
      spent += cost
      budget = Math.max(0, maxCost - spent)
      since = 0
    } else {
      if (late > 0) wrong.push(`${detail.api} began after the last turn`)
      spent += cost
      if (detail.api === 'advisor') since += cost
      if (since > budget) wrong.push(`nested runs cost ${since}, ${budget} was left`)
    }
  }
  if (spent > maxCost) seen.crossed++
  // A last turn that calls all the same is made once more, without tools.
  if (late > 2) wrong.push(`${late} turns began beyond max_cost`)
  return wrong
}

function count({ told }: LoopRunResult, parts: readonly LedgerRow[], charged: number): void {
  seen.rows += parts.length
  if (charged > 0) seen.charged++
  else seen.uncharged++
  if (told === null) seen.left++
  else if (told.fault !== null) seen.refused++
  if (parts.some(({ detail }) => detail.api === 'advisor')) seen.nested++
  if (parts.some(({ detail, cost }) => detail.api === 'tool' && cost > 0)) seen.fees++
}

test('rows, usage, credits and limits agree to the nano-dollar, whatever becomes of turns and tools', async (t) => {
  await fc.assert(
    fc.asyncProperty(loopScript, async (script) => {
      const wrong = await breaches(script, await playLoop(script))
      if (wrong.length > 0) throw new Error(wrong.join('; '))
    }),
    { numRuns: RUNS },
  )
  const enough = Object.entries(seen).filter(([, times]) => times < RUNS / 50)
  t.strictSame(enough, [], JSON.stringify(seen))
})
