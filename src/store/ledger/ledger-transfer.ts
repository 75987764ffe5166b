/**
 * A ledger in bulk, for moving all of it from one store to another. Journals are no part of it: they have to be in the
 * ledger before. Sums of hours are made anew from the rows; those of payers are older than the oldest row, and go over.
 */
import type { UsageSums } from './ledger-batch.js'

/** A row: its payer line and its line, without their ends; a character stands for a byte. */
export interface TransferredRow {
  readonly payer: string
  readonly line: string
}

/** What a payer has used in all (`never`) or in a period (`daily20780`). */
export interface TransferredSum extends UsageSums {
  readonly payer: string
  readonly period: string
}

/** Both come in pieces of bounded size and in no order that means anything. */
export interface LedgerSource {
  rows(): AsyncIterable<readonly TransferredRow[]>
  sums(): AsyncIterable<readonly TransferredSum[]>
}

/** Takes rows and sums into a ledger that has none of them. */
export interface LedgerSink {
  addRows(rows: readonly TransferredRow[]): Promise<void>
  addSums(sums: readonly TransferredSum[]): Promise<void>
}

/** About how many rows or sums go over at a time. */
export const TRANSFER_ROWS = 2_000
