/** A data folder whose ledger holds calls of the last days. */
import { systemClock, unixMs } from '../../../src/base/clock.js'
import { newGenerationId } from '../../../src/base/ids.js'
import { createLog } from '../../../src/base/log.js'
import { ledgerPaths } from '../../../src/ledger/journal/segment-format.js'
import { JournalIngest } from '../../../src/ledger/journal-ingest.js'
import { type LedgerRow, NO_LIMIT_COVERAGE, NOTHING_TOLD } from '../../../src/store/ledger-store.js'
import { openLmdbLedger } from '../../../src/store/lmdb/ledger.js'
import { writeJournal } from '../written-journal.js'

/** Over so many days they are spread evenly. */
const DAYS = 30
const DAY_MS = 24 * 60 * 60_000
/** One call of so many fails. */
const FAILS_ONCE_IN = 50

/** Whose calls they are. */
export interface Caller {
  readonly organizationId: string
  readonly workspaceId: string
  readonly keyHash: string
}

function rowOf(n: number, createdAt: number, caller: Caller): LedgerRow {
  const isFailed = n % FAILS_ONCE_IN === 0
  const name = n % 3 === 0 ? 'large' : 'small'
  return {
    ...{ id: newGenerationId(createdAt), createdAt, coverage: NO_LIMIT_COVERAGE, ...caller },
    ...{ outcome: isFailed ? 'failed' : 'settled', cost: isFailed ? 0 : 100 + (n % 1_000) },
    ...{ promptTokens: 120, completionTokens: isFailed ? 0 : 80, units: {}, lost: [], parts: [] },
    detail: {
      ...{ model: `acme/${name}`, requested: `acme/${name}`, provider: 'acme', api: 'completions' },
      ...{ streamed: n % 2 === 0, attempts: 1, durationMs: 500 + (n % 700), firstEventMs: 100 + (n % 90) },
      ...{ sessionId: null, estimated: false, guessed: false, fault: null, finish: 'stop' },
      ...{ nativeFinish: 'stop', serviceTier: null, mediaParts: 0, audioParts: 0, why: NOTHING_TOLD },
    },
  }
}

/** Writes so many calls into the ledger of a folder that no server uses. */
export async function fillLedger(folder: string, caller: Caller, rows: number): Promise<void> {
  const { database, journals } = ledgerPaths(folder)
  const ingest = new JournalIngest({
    ...{ ledger: openLmdbLedger(database), journals, days: 90, clock: systemClock, mayStartBehind: true },
    ...{ pause: () => 1_000, log: createLog('fatal', 'trial'), onCommitted: () => {}, onFinished: () => {} },
  })
  const now = unixMs(systemClock)
  const createdAt = (n: number): number => Math.floor(now - DAYS * DAY_MS * (1 - n / rows))
  const journal = writeJournal(journals, rows, (n) => rowOf(n, createdAt(n), caller))
  ingest.expectJournal(journal)
  if (!(await ingest.sync())) throw new Error('the ledger did not take the journal')
  await ingest.close()
}
