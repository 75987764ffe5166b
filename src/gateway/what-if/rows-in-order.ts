/** Rows of the ledger in the order in which their calls came, in pieces that fit into memory. */
import type { LedgerFilter, LedgerReader, LedgerRow } from '../../store/ledger-store.js'

const HOUR_MS = 60 * 60 * 1000
/** Rows that are held at a time, if those of an hour come evenly. */
const AT_ONCE = 5_000
const PAGE = 500
const MOST_HOURS = 1_000_000

/** How many calls there are; by the sums of whole hours, so it may be some more. */
export async function countCalls(ledger: Pick<LedgerReader, 'usage'>, filter: LedgerFilter): Promise<number> {
  const [all] = await ledger.usage({ ...filter, by: [], limit: 1 })
  return all?.calls ?? 0
}

/** The ledger lists the newest first: each stretch of an hour is read backwards, and given the other way round. */
export async function* rowsInOrder(
  ledger: Pick<LedgerReader, 'list' | 'usage'>,
  filter: LedgerFilter,
): AsyncGenerator<readonly LedgerRow[]> {
  const hours = await ledger.usage({ ...filter, by: ['hour'], limit: MOST_HOURS })
  const calls = new Map<number, number>()
  for (const { at, calls: some } of hours) calls.set(at!, (calls.get(at!) ?? 0) + some)
  for (const hour of [...calls.keys()].sort((one, other) => one - other)) {
    const stretches = Math.max(1, Math.ceil(calls.get(hour)! / AT_ONCE))
    for (let stretch = 0; stretch < stretches; stretch++) {
      const from = Math.max(filter.from, hour + Math.floor((HOUR_MS * stretch) / stretches))
      const to = Math.min(filter.to, hour + Math.floor((HOUR_MS * (stretch + 1)) / stretches))
      if (from < to) yield await readStretch(ledger, { ...filter, from, to })
    }
  }
}

async function readStretch(ledger: Pick<LedgerReader, 'list'>, filter: LedgerFilter): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = []
  for (let before: string | null = null; ; ) {
    const page = await ledger.list({ ...filter, outcome: null, sessionId: null, before, limit: PAGE })
    if (page === null) break
    rows.push(...page.rows)
    if (page.next === null) break
    before = page.next.before
  }
  return rows.reverse()
}
