import type { UsageLedger } from '../../../src/store/ledger-store.js'

/** A ledger in which nobody has ever spent anything. */
export const NO_USAGE: UsageLedger = {
  sync: () => Promise.resolve(),
  row: () => null,
  spending: (payers) => payers.map(() => ({ total: 0, daily: 0, weekly: 0, monthly: 0 })),
  spentIn: () => 0,
  list: async () => ({ rows: [], next: null }),
  usage: async () => [],
}
