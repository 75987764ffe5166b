/** Accounting in a worker: its journal, its leases of limits, and the ledger as the operations on usage read it. */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import { PendingReplies } from '../base/pending-replies.js'
import { Accounting } from '../gateway/accounting/accounting.js'
import { callerRenewal } from '../identity/authenticate.js'
import type { People } from '../identity/people.js'
import { JournalWriter } from '../ledger/journal/journal-writer.js'
import type { QuotaGrant } from '../limits/quota.js'
import { QuotaLeases, type QuotaServerLink } from '../limits/quota-leases.js'
import { isTokenRequest, TokenBuckets } from '../limits/token-buckets.js'
import type { LedgerMessageToSupervisor, LedgerMessageToWorker } from '../process/ipc/messages.js'
import type { AccountStore } from '../store/account-store.js'
import {
  encodeClosedLine,
  encodeLostLine,
  encodeOpenLine,
  encodePayerLine,
} from '../store/ledger/row-text.js'
import {
  type ClosedLedgerEntry,
  type LedgerJournal,
  NOTHING_TOLD,
  type UsageLedger,
} from '../store/ledger-store.js'
import type { LiveTap } from '../telemetry/live/live-tap.js'
import type { WorkerContext } from './worker-context.js'
import type { WorkerStore } from './worker-store.js'

interface AccountingOptions
  extends Pick<WorkerContext, 'journal' | 'clock' | 'log' | 'baseUrl'>,
    Pick<WorkerStore, 'ledger' | 'journals' | 'fleet'> {
  readonly store: { readonly accounts: AccountStore }
  readonly people: People
  readonly live: Pick<LiveTap, 'recordOpen' | 'recordClosed'>
  /** False when there is none. */
  readonly sendToSupervisor: (message: LedgerMessageToSupervisor) => boolean
}

/** A supervisor that answers later than this is busy or gone. */
const SYNC_MS = 5_000
const GRANT_MS = 2_000
const ADDRESS_GRANT_MS = 500

/** The accounting of one worker. Whoever makes it hands it the messages of the supervisor, and closes it. */
export class WorkerAccounting {
  readonly accounting: Accounting
  /** Brought up to date before it is read. */
  readonly ledger: UsageLedger
  /** For limits by client address. */
  readonly addressLeases: QuotaLeases
  readonly #sendToSupervisor: AccountingOptions['sendToSupervisor']
  readonly #ledger: WorkerStore['ledger']
  readonly #writer: JournalWriter
  readonly #leases: QuotaLeases
  readonly #grants: PendingReplies<QuotaGrant | null>
  readonly #syncs: PendingReplies<boolean>

  constructor(options: AccountingOptions) {
    const { journal, store, people, clock, log, baseUrl, ledger, journals, fleet, live } = options
    const renew = callerRenewal(store.accounts, clock, people)
    this.#sendToSupervisor = options.sendToSupervisor
    this.#ledger = ledger
    this.#writer = new JournalWriter({
      folder: journals,
      journal,
      onFailing: (err) => log.error({ err }, 'the journal cannot be written; inferences are refused'),
      onRecovered: () => log.info({}, 'the journal can be written again'),
      // An embedded ledger is behind when the disk is full, which bounds both.
      ...(fleet !== null && {
        most: { bytes: fleet.journalBytes, onFull: (isFull) => tellFull(log, isFull) },
      }),
    })
    this.#grants = new PendingReplies(clock, { takesLate: true })
    this.#syncs = new PendingReplies(clock)
    this.#leases = new QuotaLeases(clock, {
      acquire: this.#acquireWithin(GRANT_MS),
      notify: (type, amount) => void this.#sendToSupervisor({ type, amount }),
      makeDurable: () => this.#writer.flush(),
    })
    this.accounting = new Accounting({
      journal: ledgerJournal(this.#writer, live),
      leases: this.#leases,
      accounts: store.accounts,
      clock,
      creditsUrl: `${baseUrl}/credits`,
      renew: (caller) => {
        const renewed = renew(caller)
        // After the key was read: a process that was frozen in between has read what no longer counts.
        return fleet?.standing.refusal() ?? renewed
      },
    })
    this.ledger = { ...ledger, sync: () => this.#sync() }
    this.addressLeases = createAddressLeases(clock, this.#acquireWithin(ADDRESS_GRANT_MS))
  }

  onMessage(message: LedgerMessageToWorker): void {
    if (message.type === 'quota-grant') this.#grants.receive(message.id, message.grant)
    else if (message.type === 'quota-revocation') this.#leases.onRevoke(message.name)
    else this.#syncs.receive(message.id, message.done)
  }

  /** Writes what there is. Safe at any time, also at the exit of the process. */
  flush(): void {
    this.#writer.flush()
  }

  async close(): Promise<void> {
    this.#writer.close()
    await this.#ledger.close()
  }

  #acquireWithin(deadlineMs: number): QuotaServerLink['acquire'] {
    return (request, onReply) => {
      const send = (id: number): boolean => this.#sendToSupervisor({ type: 'acquire-quota', id, request })
      this.#grants.ask(deadlineMs, send, onReply)
    }
  }

  #sync(): Promise<void> {
    this.#writer.flush()
    const send = (id: number): boolean => this.#sendToSupervisor({ type: 'sync-ledger', id })
    return new Promise((resolve, reject) => {
      this.#syncs.ask(SYNC_MS, send, (done) => {
        if (done === true) resolve()
        else
          reject(
            new Fault('unavailable', { retryAfter: 1, detail: 'the ledger cannot be brought up to date' }),
          )
      })
    })
  }
}

function tellFull(log: Log, isFull: boolean): void {
  if (isFull) log.error({}, 'the journal holds all that may wait for the database; inferences are refused')
  else log.info({}, 'the journal has room again')
}

/** Rows as the lines of a journal, and for those who watch. */
function ledgerJournal(writer: JournalWriter, live: AccountingOptions['live']): LedgerJournal {
  return {
    hasRoomFor: (open) => writer.hasRoomFor(open),
    recordOpen: (entry) => {
      live.recordOpen(entry)
      writer.appendLazily(encodeOpenLine(entry), encodePayerLine(entry))
    },
    recordLost: (entry) => writer.appendLazily(encodeLostLine(entry), encodePayerLine(entry)),
    recordClosed: (row) => {
      live.recordClosed(row)
      const line = encodeClosedLine(row)
      writer.append(writer.hasRoomForLine(line) ? line : encodeShortLine(row), encodePayerLine(row))
      return writer.whenWritten()
    },
  }
}

/** Where the disk has no room for what a row tells beside its figures, it tells the figures. */
function encodeShortLine(row: ClosedLedgerEntry): string {
  return encodeClosedLine({ ...row, detail: { ...row.detail, why: NOTHING_TOLD } })
}

/** Leases of token buckets, one for each client address, from the supervisor that `ask` asks. */
function createAddressLeases(clock: Clock, ask: QuotaServerLink['acquire']): QuotaLeases {
  // Stands in for a supervisor that is late or gone: the limit then holds per worker, better than none or no calls.
  const ownBuckets = new TokenBuckets(clock)
  return new QuotaLeases(clock, {
    acquire: (request, onReply) => {
      ask(request, (grant, late) => {
        // Tokens that come late are lost: the worker's own bucket has been drawn from in their place.
        if (late) return
        onReply(grant ?? (isTokenRequest(request) ? ownBuckets.take(request) : null), false)
      })
    },
    // Tokens are never given back.
    notify: () => {},
    makeDurable: () => true,
  })
}
