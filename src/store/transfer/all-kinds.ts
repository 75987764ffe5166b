/** All that a store keeps, kind by kind. */
import { NO_LIMITS } from '../disk-reserve.js'
import { LmdbEnvironment } from '../lmdb/environment.js'
import { createLmdbItemStore } from '../lmdb/items/item-store.js'
import { openLmdbLedgerTransfer } from '../lmdb/ledger-transfer.js'
import type { Query } from '../postgres/database.js'
import { readPostgresLedger, writePostgresLedger } from '../postgres/ledger-transfer.js'
import { auditRows } from './audit.js'
import { storedFiles } from './files.js'
import { lastItemId, practiceItems } from './items.js'
import { keptTexts } from './kept-texts.js'
import { ledgerRows, ledgerSums } from './ledger.js'
import { managedRecords, type TransferSealer } from './managed-records.js'
import { type Transfer, transferOf } from './transfer.js'

interface TransferEnds {
  /** Of one transaction. */
  readonly query: Query
  /** Of the embedded store, and of its ledger. */
  readonly folder: string
  readonly ledgerFolder: string
  /** What seals signing keys, at either end. */
  readonly sealers: { readonly embedded: TransferSealer; readonly postgres: TransferSealer }
}

/** In the order in which they are moved. `close` releases the files of the embedded store. */
export function openTransfers({ query, folder, ledgerFolder, sealers }: TransferEnds): {
  readonly transfers: readonly Transfer[]
  readonly close: () => Promise<void>
} {
  const env = new LmdbEnvironment(folder)
  const items = createLmdbItemStore(env, () => 0, NO_LIMITS)
  const ledger = openLmdbLedgerTransfer(ledgerFolder)
  const ledgers = {
    embedded: ledger,
    postgres: { ...readPostgresLedger(query), ...writePostgresLedger(query) },
  }
  const transfers = [
    transferOf(managedRecords({ env, query, sealers })),
    transferOf(auditRows(env, query)),
    transferOf(practiceItems(items, query)),
    transferOf(lastItemId(items, query)),
    transferOf(storedFiles(env, folder, query)),
    transferOf(keptTexts(env, query)),
    transferOf(ledgerRows(ledgers)),
    transferOf(ledgerSums(ledgers)),
  ]
  return {
    transfers,
    close: async () => {
      await items.idle()
      await env.close()
      await ledger.close()
    },
  }
}
