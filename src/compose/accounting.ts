/** Accounting in a worker: its journal, its desk for limits, and the ledger as the operations on usage read it. */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import { Accounting } from '../gateway/accounting/accounting.js'
import { JournalWriter } from '../ledger/journal/journal-writer.js'
import { ledgerPaths } from '../ledger/ledger-paths.js'
import { QuotaLeases } from '../limits/quota-leases.js'
import type { LedgerMessageToSupervisor, LedgerMessageToWorker } from '../process/ipc/ledger-messages.js'
import type { AccountStore } from '../store/account-store.js'
import { encodeClosedLine, encodeOpenLine, encodePayerLine } from '../store/ledger/row-text.js'
import type { LedgerJournal, UsageLedger } from '../store/ledger-store.js'
import { LmdbLedger } from '../store/lmdb/ledger.js'

interface AccountingOptions {
  readonly dataDir: string
  /** Name of the journal this process writes. */
  readonly journal: string
  readonly accounts: AccountStore
  readonly clock: Clock
  readonly log: Log
  /** Public base URL, for the place where credits are bought. */
  readonly baseUrl: string
  /** Sends to the supervisor; false when there is none. */
  readonly tell: (message: LedgerMessageToSupervisor) => boolean
}

export interface AccountingParts {
  readonly accounting: Accounting
  readonly ledger: UsageLedger
  onMessage(message: LedgerMessageToWorker): void
  /** Writes what there is. Safe at any time, also at the exit of the process. */
  flush(): void
  close(): Promise<void>
}

/** The supervisor is busy or gone. */
const SYNC_MS = 5_000

export function composeAccounting(setting: AccountingOptions): AccountingParts {
  const { dataDir, journal: name, accounts, clock, log, baseUrl, tell } = setting
  const { database, journals } = ledgerPaths(dataDir)
  const writer = new JournalWriter({
    folder: journals,
    journal: name,
    onFailing: (err) => log.error({ err }, 'the journal cannot be written; inferences are refused'),
    onRecovered: () => log.info({}, 'the journal can be written again'),
  })
  const journal: LedgerJournal = {
    hasRoomFor: (open) => writer.hasRoomFor(open),
    recordOpen: (entry) => writer.appendLazily(encodeOpenLine(entry), encodePayerLine(entry)),
    recordClosed: (row) => {
      writer.append(encodeClosedLine(row), encodePayerLine(row))
      return writer.whenWritten()
    },
  }
  const desk = new QuotaLeases(clock, {
    acquire: (id, draw) => tell({ type: 'draw', id, draw }),
    notify: (type, amount) => tell({ type, amount }),
    makeDurable: () => writer.flush(),
  })
  const reading = new LmdbLedger(database)
  const freshness = new LedgerSync(clock, tell)
  return {
    accounting: new Accounting({ journal, leases: desk, accounts, clock, creditsUrl: `${baseUrl}/credits` }),
    ledger: {
      row: (id) => reading.row(id),
      spending: (payer, now) => reading.spending(payer, now),
      spentIn: (payer, period) => reading.spentIn(payer, period),
      sync: () => {
        writer.flush()
        return freshness.ask()
      },
    },
    onMessage: (message) => {
      if (message.type === 'drawn') desk.onGrant(message.id, message.drawn)
      else if (message.type === 'recall') desk.onRevoke(message.name)
      else freshness.answered(message.id, message.done)
    },
    flush: () => writer.flush(),
    close: async () => {
      writer.close()
      await reading.close()
    },
  }
}

/** Asks the supervisor to bring the journals in. Those who ask in the same moment share the answer. */
class LedgerSync {
  readonly #clock: Clock
  readonly #tell: AccountingOptions['tell']
  readonly #open = new Map<number, (done: boolean) => void>()
  #next = 0

  constructor(clock: Clock, tell: AccountingOptions['tell']) {
    this.#clock = clock
    this.#tell = tell
  }

  ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      const id = this.#next++
      const cancel = this.#clock.runAfter(SYNC_MS, () => this.answered(id, false))
      this.#open.set(id, (done) => {
        cancel()
        this.#open.delete(id)
        if (done) resolve()
        else
          reject(
            new Fault('unavailable', { retryAfter: 1, detail: 'the ledger cannot be brought up to date' }),
          )
      })
      if (!this.#tell({ type: 'freshen', id })) this.answered(id, false)
    })
  }

  answered(id: number, done: boolean): void {
    this.#open.get(id)?.(done)
  }
}
