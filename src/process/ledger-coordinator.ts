/** Accounting in the supervisor: the only writer of the ledger and the server of all limits, for all workers. */
import { type Clock, sleep } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { type MaybePromise, mapMaybe } from '../base/maybe-promise.js'
import type { CalendarPeriod } from '../base/utc-period.js'
import type { FleetBank } from '../compose/fleet-bank.js'
import type { FleetMachine } from '../compose/fleet-machine.js'
import { openLedger } from '../compose/ledger.js'
import { quotaSpending } from '../compose/quota-spending.js'
import type { Config } from '../config/config.js'
import { journalName } from '../ledger/journal/segment-format.js'
import { JournalIngest } from '../ledger/journal-ingest.js'
import { parseMoneyQuotaName } from '../limits/quota.js'
import { QuotaServer } from '../limits/quota-server.js'
import type { UsageDelta } from '../store/ledger/ledger-batch.js'
import type { InclusivePayer, LedgerPayer } from '../store/ledger-store.js'
import type { LedgerMessageToSupervisor, LedgerMessageToWorker } from './ipc/messages.js'

/** Sends a message to a worker. */
type SendToWorker = (message: LedgerMessageToWorker) => void

/** An exit in the middle of a change would wait for ever, so it waits for the change instead; not for ever either. */
const WRITING_MS = 1_000
const POLL_MS = 10
/** Between two looks whether the journals of earlier runs are gone, and two tries to tell the bank. */
const EARLIER_MS = 1_000

/** A holder of leases is named by its journal: both begin and end with a worker process. */
export class LedgerCoordinator {
  readonly #clock: Clock
  readonly #ingest: JournalIngest
  readonly #quotas: QuotaServer
  /** Of all machines; null on one that stands alone. */
  #bank: FleetBank | null = null
  #closed = false
  readonly #workers = new Map<string, SendToWorker>()
  /** Brings in what any worker has answered, of any machine. */
  readonly #sync: () => Promise<boolean>

  /** @param fleet null on a machine that stands alone */
  constructor(
    config: Pick<Config, 'dataDir' | 'ledgerDays'>,
    clock: Clock,
    log: Log,
    fleet: FleetMachine | null,
  ) {
    const { dataDir } = config
    this.#clock = clock
    this.#ingest = new JournalIngest({
      ...(fleet === null ? openLedger(dataDir) : fleet.openLedger(dataDir, log)),
      days: config.ledgerDays,
      clock,
      log,
      onCommitted: (journal, deltas) => this.#countSpending(journal, deltas),
      onFinished: (journal) => this.#quotas.holderSettled(journal),
    })
    const sync = (): Promise<boolean> => this.#ingest.sync()
    this.#sync = fleet === null ? sync : fleet.openFlush(sync, clock).flushAll
    this.#quotas = new QuotaServer({
      clock,
      load: (name, done) => void this.#loadSpending(name, done),
      revoke: (holder, name) => this.#workers.get(holder)?.({ type: 'quota-revocation', name }),
      ...(fleet !== null && {
        supply: (quotas) => {
          this.#bank = fleet.openBank(quotas, this.#sync)
          return this.#bank.supply
        },
      }),
    })
  }

  /** Resolves when everything of earlier runs is in the ledger, or on its way there. */
  async start(): Promise<void> {
    const bank = this.#bank
    // Before anything of theirs is settled: what earlier runs hold is told apart from what this one draws.
    if (bank !== null) await this.#insist(() => bank.retire())
    await this.#ingest.start()
    if (bank !== null) void this.#freeEarlier(bank)
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
        void this.#sync().then((done) => send({ type: 'ledger-synced', id: message.id, done }))
    }
  }

  /** About how many bytes of journals wait for the ledger. */
  backlogBytes(): number {
    return this.#ingest.backlogBytes()
  }

  workerDied(journal: string): void {
    this.#workers.delete(journal)
    this.#quotas.holderDied(journal)
    this.#ingest.writerDied(journal)
  }

  /** Takes what is left, and releases the files. */
  close(): Promise<void> {
    this.#closed = true
    return this.#ingest.close()
  }

  /** Resolves when a process may exit at once; what is not in the ledger waits in the journals. */
  async whenIdle(): Promise<void> {
    const until = this.#clock.monotonicMs() + WRITING_MS
    while (this.#ingest.ledger.isWriting() && this.#clock.monotonicMs() < until) {
      await sleep(POLL_MS, this.#clock)
    }
  }

  /** Journals of earlier runs may have writers that are still leaving. */
  async #freeEarlier(bank: FleetBank): Promise<void> {
    while (!this.#closed && this.#ingest.hasEarlier()) await sleep(EARLIER_MS, this.#clock)
    await this.#insist(() => bank.freeEarlier())
  }

  /** Until the store takes it. */
  async #insist(deed: () => Promise<void>): Promise<void> {
    while (!this.#closed) {
      try {
        await deed()
        return
      } catch {
        await sleep(EARLIER_MS * (0.5 + Math.random()), this.#clock)
      }
    }
  }

  async #loadSpending(name: string, done: (spent: number | null) => void): Promise<void> {
    const { payer, period } = parseMoneyQuotaName(name)
    const { ledger } = this.#ingest
    const tell = (spent: MaybePromise<number | null>): MaybePromise<void> => mapMaybe(spent, done)
    try {
      // Between two batches: what comes after the figure is counted by `recordSpending`.
      await this.#ingest.readAfterSync((fresh) =>
        tell(fresh ? ledger.spentIn(payer as LedgerPayer | InclusivePayer, parsePeriod(period)) : null),
      )
    } catch {
      done(null)
    }
  }

  /** The quota server counts what was reserved with the lease it came from, and everything else by itself. */
  #countSpending(journal: string, deltas: readonly UsageDelta[]): void {
    if (this.#quotas.size === 0) return
    for (const { name, amount, leased } of quotaSpending(deltas)) {
      this.#quotas.recordSpending(journal, name, amount, leased)
    }
  }
}

/** From the name that `keyMoneyQuota` makes. */
function parsePeriod(text: string): { name: CalendarPeriod; number: number } | null {
  const match = /^([a-z]+?)(\d+)$/.exec(text)
  return match === null ? null : { name: match[1] as CalendarPeriod, number: Number(match[2]) }
}
