/** Accounting over a journal of lines and a quota server in the same process: what limits hold can be asked. */
import type { Clock } from '../../../src/base/clock.js'
import { Fault } from '../../../src/base/fault.js'
import type { Principal } from '../../../src/base/principal.js'
import { Accounting } from '../../../src/gateway/accounting/accounting.js'
import { organizationMoneyQuota } from '../../../src/gateway/accounting/claims.js'
import { isPermit, NO_ANSWER } from '../../../src/limits/quota-leases.js'
import { LedgerBatch } from '../../../src/store/ledger/ledger-batch.js'
import {
  encodeClosedLine,
  encodeLostLine,
  encodeOpenLine,
  encodePayerLine,
  findParts,
  findRow,
} from '../../../src/store/ledger/row-text.js'
import type { LedgerRow } from '../../../src/store/ledger-store.js'
import { quotaProcesses } from './quota-processes.js'

interface AccountWorld {
  readonly accounting: Accounting
  readonly lines: readonly string[]
  /** What is left of a quota of money, asked from the quota server. */
  left(name: string, capacity: number): Promise<number>
  /** Of the credits of the organization. */
  creditsLeft(): Promise<number>
  /** Changes what `renew` says of the key. */
  disableKey(): void
  row(id: string): LedgerRow | null
  books(): { readonly charged: number; readonly calls: number; readonly unclosed: number }
}

export function accountWorld(clock: Clock, credits: number, caller: Principal): AccountWorld {
  const lines: string[] = []
  const leases = quotaProcesses(clock, 1).processes[0]!
  let isDisabled = false
  const accounting = new Accounting({
    journal: {
      hasRoomFor: () => true,
      recordOpen: (entry) => lines.push(encodePayerLine(entry), encodeOpenLine(entry)),
      recordLost: (entry) => lines.push(encodePayerLine(entry), encodeLostLine(entry)),
      recordClosed: async (row) => void lines.push(encodePayerLine(row), encodeClosedLine(row)),
    },
    leases,
    accounts: { organization: (id) => ({ id, credits }) as never },
    clock,
    creditsUrl: 'money',
    renew: (asked) => (isDisabled ? new Fault('unauthenticated') : asked),
  })
  const block = (): Buffer => Buffer.from(lines.join(''))
  const left = async (name: string, capacity: number): Promise<number> => {
    const asked = await leases.acquire({ name, capacity, windowMs: 0 }, capacity)
    if (asked === NO_ANSWER) throw new Error('no answer')
    if (!isPermit(asked)) return asked.left
    leases.release(asked, 0)
    return capacity
  }
  return {
    accounting,
    lines,
    left,
    creditsLeft: () => left(organizationMoneyQuota(caller.organizationId), credits),
    disableKey: () => {
      isDisabled = true
    },
    row: (id) => {
      const row = findRow(block(), id)
      return row && { ...row, parts: findParts(block(), id) }
    },
    books: () => {
      const whole = lines.flatMap((line) => line.trimEnd().split('\n'))
      const { deltas, opened } = new LedgerBatch(whole, new Map())
      const sum = (of: 'cost' | 'calls'): number => deltas.reduce((before, delta) => before + delta[of], 0)
      return { charged: sum('cost'), calls: sum('calls'), unclosed: opened.size }
    },
  }
}
