/**
 * Moves what a store keeps from the embedded one to PostgreSQL, or back: kind by kind, in batches, so that the memory it
 * takes does not grow with the store. What has arrived is read again and compared with what was sent.
 */
import { EntryDigest } from './entry-digest.js'

/** One of the two stores, as it has entries of a kind. */
interface TransferEnd<Entry> {
  read(): AsyncIterable<readonly Entry[]> | Iterable<readonly Entry[]>
  write(entries: readonly Entry[]): Promise<void>
  /** Called once, when all of them are written. */
  finish?(): Promise<void>
}

export interface TransferKind<Entry> {
  /** In the plural, for people. */
  readonly name: string
  readonly embedded: TransferEnd<Entry>
  readonly postgres: TransferEnd<Entry>
  /** The bytes that an entry is compared by, equal at both ends. */
  tell(entry: Entry): Uint8Array | string | Promise<Uint8Array | string>
}

export type TransferDirection = 'import' | 'export'

export interface MovedKind {
  readonly name: string
  readonly count: number
  /** Equal at both ends; see `EntryDigest`. */
  readonly digest: string
}

/** How far a transfer is: entries of a kind that were written, or that were read again. */
export type ReportProgress = (name: string, phase: 'moved' | 'compared', count: number) => void

/** A kind whose entries only it knows. */
export interface Transfer {
  /** Rejects with `TransferMismatch` when something else has arrived. */
  move(direction: TransferDirection, report: ReportProgress): Promise<MovedKind>
}

class TransferMismatch extends Error {
  constructor(name: string, sent: EntryDigest, arrived: EntryDigest) {
    super(
      `${name} have not arrived as they were sent: ${sent.count} of ${sent.hex}, and ${arrived.count} of ${arrived.hex} are there`,
    )
    this.name = 'TransferMismatch'
  }
}

export function transferOf<Entry>(kind: TransferKind<Entry>): Transfer {
  return { move: (direction, report) => moveKind(kind, direction, report) }
}

async function moveKind<Entry>(
  { name, embedded, postgres, tell }: TransferKind<Entry>,
  direction: TransferDirection,
  report: ReportProgress,
): Promise<MovedKind> {
  const [from, into] = direction === 'import' ? [embedded, postgres] : [postgres, embedded]
  const sent = new EntryDigest()
  for await (const entries of from.read()) {
    await into.write(entries)
    for (const entry of entries) sent.add(await tell(entry))
    report(name, 'moved', sent.count)
  }
  await into.finish?.()
  const arrived = new EntryDigest()
  for await (const entries of into.read()) {
    for (const entry of entries) arrived.add(await tell(entry))
    report(name, 'compared', arrived.count)
  }
  if (arrived.hex !== sent.hex) throw new TransferMismatch(name, sent, arrived)
  return { name, count: sent.count, digest: sent.hex }
}
