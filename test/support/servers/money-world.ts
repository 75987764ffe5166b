/** A gateway with its accounting over a journal of lines and leases that add up what was taken of them. */
import { systemClock } from '../../../src/base/clock.js'
import { Accounting } from '../../../src/gateway/accounting/accounting.js'
import type { CallerAccount } from '../../../src/gateway/catalog/caller-key.js'
import type { Catalog } from '../../../src/gateway/catalog/catalog.js'
import { Gateway } from '../../../src/gateway/gateway.js'
import type { QuotaLeases, QuotaPermit } from '../../../src/limits/quota-leases.js'
import { LedgerBatch } from '../../../src/store/ledger/ledger-batch.js'
import {
  encodeClosedLine,
  encodeLostLine,
  encodeOpenLine,
  encodePayerLine,
} from '../../../src/store/ledger/row-text.js'
import { NO_FILE_PORTS } from '../data/no-files.js'
import { routingState } from '../providers/routing.js'

interface MoneyWorld {
  readonly gateway: Gateway
  /** Lines of the journal. */
  readonly lines: string[]
  /** What all limits have lost. */
  spent(): number
  /** Calls that are admitted and not settled. */
  open(): number
  /** What the books make of the lines. */
  charged(): {
    readonly nanos: number
    /** What went on callers' own accounts. */
    readonly byok: number
    readonly calls: number
    readonly unclosed: number
  }
}

export function moneyWorld(catalog: Catalog, keys?: CallerAccount['keys']): MoneyWorld {
  const lines: string[] = []
  let spent = 0
  const leases = {
    tryAcquire: (): QuotaPermit => ({}) as QuotaPermit,
    release: (_: QuotaPermit, amount: number) => {
      spent += amount
    },
  } as unknown as QuotaLeases
  const organization = (id: string) => ({ id, credits: 1e15 })
  const accounting = new Accounting({
    journal: {
      hasRoomFor: () => true,
      recordOpen: (entry) => lines.push(encodePayerLine(entry), encodeOpenLine(entry)),
      recordLost: (entry) => lines.push(encodePayerLine(entry), encodeLostLine(entry)),
      recordClosed: async (row) => void lines.push(encodePayerLine(row), encodeClosedLine(row)),
    },
    leases,
    accounts: { organization: organization as never },
    clock: systemClock,
    creditsUrl: 'money',
    renew: (caller) => caller,
  })
  const gateway = new Gateway({
    catalog: () => catalog,
    ...routingState(),
    ...(keys !== undefined && {
      accountOf: ({ organizationId: id }) => ({ organization: organization(id), keys }),
    }),
    countTokens: async (texts) => ({ counts: texts.map(({ length }) => length), areGuessed: false }),
    clock: systemClock,
    files: NO_FILE_PORTS,
    deadlineMs: 60_000,
    onDefect: (error) => {
      throw error
    },
    observe: () => {},
    admit: (generation) => accounting.admit(generation),
    admitCount: async () => () => {},
  })
  return {
    gateway,
    lines,
    spent: () => spent,
    open: () => accounting.open,
    charged: () => {
      const whole = lines.flatMap((line) => line.trimEnd().split('\n'))
      const { deltas, opened } = new LedgerBatch(whole, new Map())
      const sum = (member: 'cost' | 'byok' | 'calls') => deltas.reduce((all, each) => all + each[member], 0)
      return { nanos: sum('cost'), byok: sum('byok'), calls: sum('calls'), unclosed: opened.size }
    },
  }
}
