/** Accounting in the supervisor: the ledger's intake and the bank of all limits, for all workers together. */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { CalendarPeriod } from '../base/utc-period.js'
import { openLedger } from '../compose/ledger.js'
import type { Config } from '../config/config.js'
import { keyMoneyName, organizationMoneyName } from '../gateway/accounting/claims.js'
import { journalName } from '../ledger/journal/segment-format.js'
import { LedgerIntake } from '../ledger/ledger-intake.js'
import { moneyParts } from '../limits/quota.js'
import { QuotaBank } from '../limits/quota-bank.js'
import type { UsageDelta } from '../store/ledger/ledger-batch.js'
import { decodeCoverage } from '../store/ledger/row-text.js'
import type { LedgerPayer } from '../store/ledger-store.js'
import type { FromAccounting, ToAccounting } from './ipc/accounting-messages.js'

/** Sends a message to a worker. */
type Tell = (message: ToAccounting) => void

const HOUR_MS = 60 * 60 * 1000
/** An exit in the middle of a change would wait for ever, so it waits for the change instead; not for ever either. */
const WRITING_MS = 1_000
const POLL_MS = 10

/** A holder of leases is named by its journal: both begin and end with a worker process. */
export class AccountingOffice {
  readonly #clock: Clock
  readonly #intake: LedgerIntake
  readonly #bank: QuotaBank
  readonly #workers = new Map<string, Tell>()

  constructor(config: Pick<Config, 'dataDir' | 'ledgerDays'>, clock: Clock, log: Log) {
    this.#clock = clock
    this.#intake = new LedgerIntake({
      ...openLedger(config.dataDir),
      days: config.ledgerDays,
      clock,
      log,
      came: (journal, shares) => this.#came(journal, shares),
      finished: (journal) => this.#bank.settled(journal),
    })
    this.#bank = new QuotaBank({
      clock,
      load: (name, done) => void this.#load(name, done),
      recall: (holder, name) => this.#workers.get(holder)?.({ type: 'recall', name }),
    })
  }

  /** Resolves when everything of earlier runs is in the ledger. */
  start(): Promise<void> {
    return this.#intake.start()
  }

  /** A worker has come up: the name of its journal. */
  admit(pid: number, worker: number, tell: Tell): string {
    const journal = journalName(Math.floor(this.#clock.unixSeconds() * 1000), pid, worker)
    this.#workers.set(journal, tell)
    this.#intake.expect(journal)
    return journal
  }

  hear(journal: string, message: FromAccounting): void {
    const tell = this.#workers.get(journal)
    // What a process that has died had still to say is no longer true.
    if (tell === undefined) return
    switch (message.type) {
      case 'draw': {
        const { id } = message
        this.#bank.draw(journal, message.draw, (drawn) => tell({ type: 'drawn', id, drawn }))
        break
      }
      case 'gave-back':
        this.#bank.gaveBack(journal, message.amount)
        break
      case 'owes':
        this.#bank.owes(journal, message.amount)
        break
      case 'freshen':
        void this.#intake.fresh().then((done) => tell({ type: 'fresh', id: message.id, done }))
    }
  }

  died(journal: string): void {
    this.#workers.delete(journal)
    this.#bank.died(journal)
    this.#intake.abandoned(journal)
  }

  /** Takes what is left, and releases the files. */
  close(): Promise<void> {
    return this.#intake.close()
  }

  /** Resolves when a process may exit at once; what is not in the ledger waits in the journals. */
  async untilQuiet(): Promise<void> {
    const until = this.#clock.monotonicMs() + WRITING_MS
    while (this.#intake.writing && this.#clock.monotonicMs() < until) {
      await new Promise<void>((resolve) => this.#clock.runAfter(POLL_MS, resolve))
    }
  }

  async #load(name: string, done: (spent: number | null) => void): Promise<void> {
    const { payer, period } = moneyParts(name)
    await this.#intake.whenFresh((fresh) => {
      done(fresh ? this.#intake.reader.spentIn(payer as LedgerPayer, periodOf(period)) : null)
    })
  }

  /** The bank counts what was reserved with the lease it came from, and everything else by itself. */
  #came(journal: string, shares: readonly UsageDelta[]): void {
    if (this.#bank.size === 0) return
    for (const { keyHash, organizationId, hour, coverage: code, cost } of shares) {
      if (cost === 0) continue
      const coverage = decodeCoverage(code)
      for (const reset of RESETS) {
        const name = keyMoneyName(keyHash, reset, hour * HOUR_MS)
        this.#bank.spent(journal, name, cost, coverage.key === reset)
      }
      this.#bank.spent(journal, organizationMoneyName(organizationId), cost, coverage.organization)
    }
  }
}

const RESETS = ['never', 'daily', 'weekly', 'monthly'] as const

/** From the name that `keyMoneyName` makes. */
function periodOf(text: string): { name: CalendarPeriod; number: number } | null {
  const match = /^([a-z]+?)(\d+)$/.exec(text)
  return match === null ? null : { name: match[1] as CalendarPeriod, number: Number(match[2]) }
}
