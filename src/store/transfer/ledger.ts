/** Rows of the ledger, and what payers have used. */
import type { LedgerSink, LedgerSource, TransferredRow, TransferredSum } from '../ledger/ledger-transfer.js'
import { joinBytes } from './packed-bytes.js'
import type { TransferKind } from './transfer.js'

interface LedgerEnds {
  readonly embedded: LedgerSource & LedgerSink
  readonly postgres: LedgerSource & LedgerSink
}

export function ledgerRows({ embedded, postgres }: LedgerEnds): TransferKind<TransferredRow> {
  const endOf = (ledger: LedgerSource & LedgerSink) => ({
    read: () => ledger.rows(),
    write: (rows: readonly TransferredRow[]) => ledger.addRows(rows),
  })
  return {
    name: 'rows of the ledger',
    // Their characters stand for bytes.
    tell: ({ payer, line }) => joinBytes(Buffer.from(payer, 'latin1'), Buffer.from(line, 'latin1')),
    embedded: endOf(embedded),
    postgres: endOf(postgres),
  }
}

export function ledgerSums({ embedded, postgres }: LedgerEnds): TransferKind<TransferredSum> {
  const endOf = (ledger: LedgerSource & LedgerSink) => ({
    read: () => ledger.sums(),
    write: (sums: readonly TransferredSum[]) => ledger.addSums(sums),
  })
  return {
    name: 'sums of the ledger',
    tell: ({ payer, period, cost, promptTokens, completionTokens, calls }) =>
      [payer, period, cost, promptTokens, completionTokens, calls].join(' '),
    embedded: endOf(embedded),
    postgres: endOf(postgres),
  }
}
