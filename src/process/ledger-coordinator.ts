/** Accounting in the supervisor: the only writer of the ledger and the server of all limits, for all workers. */
import { type Clock, sleep } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { CalendarPeriod } from '../base/utc-period.js'
import { openLedger } from '../compose/ledger.js'
import type { Config } from '../config/config.js'
import { keyMoneyQuota, organizationMoneyQuota } from '../gateway/accounting/claims.js'
import { journalName } from '../ledger/journal/segment-format.js'
import { JournalIngest } from '../ledger/journal-ingest.js'
import { parseMoneyQuotaName } from '../limits/quota.js'
import { QuotaServer } from '../limits/quota-server.js'
import { hourStart } from '../store/ledger/generation-time.js'
import type { UsageDelta } from '../store/ledger/ledger-batch.js'
import { COVERAGE_PERIODS, decodeCoverage } from '../store/ledger/row-text.js'
import type { LedgerPayer } from '../store/ledger-store.js'
import type { LedgerMessageToSupervisor, LedgerMessageToWorker } from './ipc/messages.js'

/** Sends a message to a worker. */
type SendToWorker = (message: LedgerMessageToWorker) => void

/** An exit in the middle of a change would wait for ever, so it waits for the change instead; not for ever either. */
const WRITING_MS = 1_000
const POLL_MS = 10

/** A holder of leases is named by its journal: both begin and end with a worker process. */
export class LedgerCoordinator {
  readonly #clock: Clock
  readonly #ingest: JournalIngest
  readonly #quotas: QuotaServer
  readonly #workers = new Map<string, SendToWorker>()

  constructor(config: Pick<Config, 'dataDir' | 'ledgerDays'>, clock: Clock, log: Log) {
    this.#clock = clock
    this.#ingest = new JournalIngest({
      ...openLedger(config.dataDir),
      days: config.ledgerDays,
      clock,
      log,
      onCommitted: (journal, deltas) => this.#countSpending(journal, deltas),
      onFinished: (journal) => this.#quotas.holderSettled(journal),
    })
    this.#quotas = new QuotaServer({
      clock,
      load: (name, done) => void this.#loadSpending(name, done),
      revoke: (holder, name) => this.#workers.get(holder)?.({ type: 'quota-revocation', name }),
    })
  }

  /** Resolves when everything of earlier runs is in the ledger. */
  start(): Promise<void> {
    return this.#ingest.start()
  }

  /** A worker has come up: the name of its journal. */
  registerWorker(pid: number, worker: number, send: SendToWorker): string {
    const journal = journalName(Math.floor(this.#clock.unixSeconds() * 1000), pid, worker)
    this.#workers.set(journal, send)
    this.#ingest.expectJournal(journal)
    return journal
  }

  /** Messages of a dead worker are dropped: what they say of its leases is no longer true. */
  onMessage(journal: string, message: LedgerMessageToSupervisor): void {
    const send = this.#workers.get(journal)
    if (send === undefined) return
    switch (message.type) {
      case 'acquire-quota': {
        const { id, request } = message
        this.#quotas.acquire(journal, request, (grant) => send({ type: 'quota-grant', id, grant }))
        break
      }
      case 'release-quota':
        this.#quotas.release(journal, message.amount)
        break
      case 'quota-overdraft':
        this.#quotas.recordOverdraft(journal, message.amount)
        break
      case 'sync-ledger':
        void this.#ingest.sync().then((done) => send({ type: 'ledger-synced', id: message.id, done }))
    }
  }

  workerDied(journal: string): void {
    this.#workers.delete(journal)
    this.#quotas.holderDied(journal)
    this.#ingest.writerDied(journal)
  }

  /** Takes what is left, and releases the files. */
  close(): Promise<void> {
    return this.#ingest.close()
  }

  /** Resolves when a process may exit at once; what is not in the ledger waits in the journals. */
  async whenIdle(): Promise<void> {
    const until = this.#clock.monotonicMs() + WRITING_MS
    while (this.#ingest.ledger.isWriting() && this.#clock.monotonicMs() < until) {
      await sleep(POLL_MS, this.#clock)
    }
  }

  async #loadSpending(name: string, done: (spent: number | null) => void): Promise<void> {
    const { payer, period } = parseMoneyQuotaName(name)
    await this.#ingest.readAfterSync((fresh) => {
      done(fresh ? this.#ingest.ledger.spentIn(payer as LedgerPayer, parsePeriod(period)) : null)
    })
  }

  /** The quota server counts what was reserved with the lease it came from, and everything else by itself. */
  #countSpending(journal: string, deltas: readonly UsageDelta[]): void {
    if (this.#quotas.size === 0) return
    for (const { keyHash, organizationId, hour, coverage: code, cost } of deltas) {
      if (cost === 0) continue
      const { key, organization } = decodeCoverage(code)
      for (const reset of COVERAGE_PERIODS) {
        const quota = keyMoneyQuota(keyHash, reset, hourStart(hour))
        this.#quotas.recordSpending(journal, quota, cost, key === reset)
      }
      this.#quotas.recordSpending(journal, organizationMoneyQuota(organizationId), cost, organization)
    }
  }
}

/** From the name that `keyMoneyQuota` makes. */
function parsePeriod(text: string): { name: CalendarPeriod; number: number } | null {
  const match = /^([a-z]+?)(\d+)$/.exec(text)
  return match === null ? null : { name: match[1] as CalendarPeriod, number: Number(match[2]) }
}
