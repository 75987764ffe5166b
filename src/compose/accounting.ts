/** Accounting in a worker: its journal, its leases of limits, and the ledger as the operations on usage read it. */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { PendingReplies } from '../base/pending-replies.js'
import type { Config } from '../config/config.js'
import { Accounting } from '../gateway/accounting/accounting.js'
import { JournalWriter } from '../ledger/journal/journal-writer.js'
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import type { QuotaGrant } from '../limits/quota.js'
import { QuotaLeases, type QuotaServerLink } from '../limits/quota-leases.js'
import { isTokenRequest, TokenBuckets } from '../limits/token-buckets.js'
import type { LedgerMessageToWorker } from '../process/ipc/messages.js'
import type { AccountStore } from '../store/account-store.js'
import { encodeClosedLine, encodeOpenLine, encodePayerLine } from '../store/ledger/row-text.js'
import type { WritableLedger } from '../store/ledger/writable-ledger.js'
import type { UsageLedger } from '../store/ledger-store.js'
import { openLmdbLedger } from '../store/lmdb/ledger.js'
import type { WorkerContext } from './worker-context.js'

interface AccountingOptions
  extends Pick<WorkerContext, 'journal' | 'clock' | 'log' | 'baseUrl' | 'sendToSupervisor'> {
  readonly config: Pick<Config, 'dataDir'>
  readonly store: { readonly accounts: AccountStore }
}

/** A supervisor that answers later than this is busy or gone. */
const SYNC_MS = 5_000
const GRANT_MS = 2_000
const ADDRESS_GRANT_MS = 500

/** The ledger as its only writer has it, in the folder of the store, and where the journals lie that it is made of. */
export function openLedger(dataDir: string): { readonly ledger: WritableLedger; readonly journals: string } {
  const { database, journals } = ledgerPaths(dataDir)
  return { ledger: openLmdbLedger(database), journals }
}

/**
 * Puts the accounting of one worker together: its journal, leases of quotas from the supervisor, and the ledger, which
 * is brought up to date before it is read. The caller hands messages of the supervisor to `onMessage`, and closes it.
 */
export function composeAccounting(options: AccountingOptions) {
  const { config, journal: name, store, clock, log, baseUrl, sendToSupervisor } = options
  const { ledger, journals } = openLedger(config.dataDir)
  const writer = new JournalWriter({
    folder: journals,
    journal: name,
    onFailing: (err) => log.error({ err }, 'the journal cannot be written; inferences are refused'),
    onRecovered: () => log.info({}, 'the journal can be written again'),
  })
  const grants = new PendingReplies<QuotaGrant | null>(clock, { takesLate: true })
  const syncs = new PendingReplies<boolean>(clock)
  const leases = new QuotaLeases(clock, {
    acquire: (request, onReply) => {
      grants.ask(GRANT_MS, (id) => sendToSupervisor({ type: 'acquire-quota', id, request }), onReply)
    },
    notify: (type, amount) => void sendToSupervisor({ type, amount }),
    makeDurable: () => writer.flush(),
  })
  return {
    accounting: new Accounting({
      journal: {
        hasRoomFor: (open) => writer.hasRoomFor(open),
        recordOpen: (entry) => writer.appendLazily(encodeOpenLine(entry), encodePayerLine(entry)),
        recordClosed: (row) => {
          writer.append(encodeClosedLine(row), encodePayerLine(row))
          return writer.whenWritten()
        },
      },
      leases,
      accounts: store.accounts,
      clock,
      creditsUrl: `${baseUrl}/credits`,
    }),
    ledger: {
      row: (id) => ledger.row(id),
      spending: (payer, now) => ledger.spending(payer, now),
      spentIn: (payer, period) => ledger.spentIn(payer, period),
      sync: () => {
        writer.flush()
        return new Promise<void>((resolve, reject) => {
          const send = (id: number): boolean => sendToSupervisor({ type: 'sync-ledger', id })
          const detail = 'the ledger cannot be brought up to date'
          syncs.ask(SYNC_MS, send, (done) => {
            if (done === true) resolve()
            else reject(new Fault('unavailable', { retryAfter: 1, detail }))
          })
        })
      },
    } satisfies UsageLedger,
    /** For limits by client address. */
    addressLeases: createAddressLeases(clock, (request, onReply) => {
      grants.ask(ADDRESS_GRANT_MS, (id) => sendToSupervisor({ type: 'acquire-quota', id, request }), onReply)
    }),
    onMessage: (message: LedgerMessageToWorker): void => {
      if (message.type === 'quota-grant') grants.receive(message.id, message.grant)
      else if (message.type === 'quota-revocation') leases.onRevoke(message.name)
      else syncs.receive(message.id, message.done)
    },
    /** Writes what there is. Safe at any time, also at the exit of the process. */
    flush: () => writer.flush(),
    close: async (): Promise<void> => {
      writer.close()
      await ledger.close()
    },
  }
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
