/** What the ingest tells the limits when nobody knows whether the ledger has taken a piece: each spending once. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { Fault } from '../../src/base/fault.js'
import { newGenerationId } from '../../src/base/ids.js'
import { createLog } from '../../src/base/log.js'
import { JournalWriter } from '../../src/ledger/journal/journal-writer.js'
import { journalName, segmentPath } from '../../src/ledger/journal/segment-format.js'
import { JournalIngest } from '../../src/ledger/journal-ingest.js'
import { encodeOpenLine, encodePayerLine } from '../../src/store/ledger/row-text.js'
import type { JournalPiece, JournalProgress, WritableLedger } from '../../src/store/ledger/writable-ledger.js'
import { NO_LIMIT_COVERAGE } from '../../src/store/ledger-store.js'
import { hashOf, idOf } from '../support/data/accounts.js'
import { tempFolder } from '../support/data/temp-folder.js'

/** Nobody has this process id. */
const NOBODY = 2 ** 22 + 1
const START: JournalProgress = { segment: 0, offset: 0, done: false }
const LINE_BYTES = 300

/** A ledger of marks. Statements that fail may be carried out when `carryOut` is called, as by a database that woke up. */
class MarkLedger {
  readonly marks = new Map<string, JournalProgress>()
  readonly #late: (() => void)[] = []
  taken = 0
  failing = false
  /** Carries out what is late before it takes the next. */
  wakesUp = false

  get port(): WritableLedger {
    const nothing = async (): Promise<boolean> => false
    return {
      row: () => null,
      spending: () => [],
      spentIn: () => 0,
      list: async () => ({ rows: [], next: null }),
      usage: async () => [],
      readJournal: async (name) => ({ mark: this.marks.get(name) ?? START, open: new Map() }),
      append: (pieces) => {
        const committed = this.#append(pieces)
        return { committed, durable: committed }
      },
      forgetJournal: async () => true,
      prune: nothing,
      isWriting: () => false,
      close: async () => {},
    }
  }

  carryOut(): void {
    for (const deed of this.#late.splice(0)) deed()
  }

  async #append(pieces: readonly JournalPiece[]): Promise<boolean> {
    if (this.wakesUp) this.carryOut()
    if (!this.failing) return this.#take(pieces)
    this.#late.push(() => this.#take(pieces))
    throw new Fault('unavailable')
  }

  #take(pieces: readonly JournalPiece[]): boolean {
    const stands = pieces.every(({ journal, from }) => {
      const mark = this.marks.get(journal) ?? START
      return mark.segment === from.segment && mark.offset === from.offset && !mark.done
    })
    if (stands) for (const { journal, to } of pieces) this.marks.set(journal, to)
    if (stands) for (const { batch } of pieces) this.taken += callsOf(batch.deltas)
    return stands
  }
}

const callsOf = (deltas: readonly { readonly calls: number }[]): number =>
  deltas.reduce((sum, { calls }) => sum + calls, 0)

function worker(t: Test, segmentBytes = 1024 * 1024) {
  const journals = join(tempFolder(t), 'journals')
  const ledger = new MarkLedger()
  const told = { calls: 0 }
  const ingest = new JournalIngest({
    ...{ ledger: ledger.port, journals, days: 30, pause: () => 60_000, mayStartBehind: true },
    clock: { ...systemClock, runAfter: () => () => {} },
    log: createLog('silent' as 'fatal', 'test'),
    onCommitted: (_, deltas) => {
      told.calls += callsOf(deltas)
    },
    onFinished: () => {},
  })
  const name = journalName(Date.now(), NOBODY, 1)
  ingest.expectJournal(name)
  const writer = new JournalWriter({
    ...{ folder: journals, journal: name, onFailing: () => {}, onRecovered: () => {}, segmentBytes },
  })
  const payers = { keyHash: hashOf(1), organizationId: idOf(1), workspaceId: null }
  const call = (): string => {
    const id = newGenerationId(Date.now())
    const model = 'm'.repeat(LINE_BYTES)
    const opened = { ...payers, id, estimate: 5, model, provider: 'p', api: 'completions' as const }
    writer.append(encodeOpenLine({ ...opened, coverage: NO_LIMIT_COVERAGE }), encodePayerLine(payers))
    return id
  }
  const closed = (): void => {
    // Cost, coverage, outcome, tokens and detail.
    writer.append(`C ${call()} 5 0 0 1 1 []\n`, encodePayerLine(payers))
    writer.flush()
  }
  return { ledger, ingest, told, name, journals, writer, call, closed }
}

test('statements that are carried out after they failed are told when the ledger shows them', async (t) => {
  const { ledger, ingest, told, closed } = worker(t)
  ledger.failing = true
  // Each attempt has more than the one before; the first of them is carried out at last.
  for (let attempts = 0; attempts < 3; attempts++) {
    closed()
    t.equal(await ingest.sync(), false)
  }
  t.equal(told.calls, 0)
  ledger.carryOut()
  t.equal(ledger.taken, 1, 'the others begin where the journal does not stand any more')
  ledger.failing = false
  t.equal(await ingest.sync(), true)
  t.equal(ledger.taken, 3)
  t.equal(told.calls, 3, 'each once')
  await ingest.close()
})

test('a statement that overtakes its successor is told as well', async (t) => {
  const { ledger, ingest, told, closed } = worker(t)
  ledger.failing = true
  closed()
  t.equal(await ingest.sync(), false)
  closed()
  // The mark is read before the late statement is carried out, and the next piece is sent after it.
  ledger.failing = false
  ledger.wakesUp = true
  t.equal(await ingest.sync(), true)
  t.equal(ledger.taken, 2)
  t.equal(told.calls, 2)
  await ingest.close()
})

test('the end of a journal that could not be written is told when it is, and not before', async (t) => {
  const { ledger, ingest, told, name, call, writer } = worker(t)
  call()
  writer.flush()
  t.equal(await ingest.sync(), true)
  writer.close()
  ledger.failing = true
  ingest.writerDied(name)
  for (let attempts = 0; attempts < 3; attempts++) {
    await ingest.sync()
    t.equal(told.calls, 0, 'the call that was cut off is not in the ledger')
  }
  ledger.failing = false
  await ingest.sync()
  await ingest.sync()
  t.equal(told.calls, ledger.taken)
  await ingest.close()
})

test('a ledger that was set back goes on behind the segments that are gone', async (t) => {
  const { ledger, ingest, name, journals, closed } = worker(t, 1024)
  for (let calls = 0; calls < 9; calls++) {
    closed()
    t.equal(await ingest.sync(), true)
  }
  const { segment } = ledger.marks.get(name)!
  t.ok(segment > 2)
  for (let gone = 0; gone < segment; gone++) rmSync(segmentPath(journals, name, gone), { force: true })
  // As from a backup.
  ledger.marks.set(name, START)
  closed()
  await ingest.sync()
  t.equal(await ingest.sync(), true)
  t.ok(ledger.marks.get(name)!.segment >= segment, 'what is there is taken')
  await ingest.close()
})
