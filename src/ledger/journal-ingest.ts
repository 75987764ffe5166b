/** Brings the journals of this machine's workers into the ledger: the only process that does. Runs beside the workers. */
import { mkdirSync } from 'node:fs'
import { type Clock, unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { LedgerBatch, type UsageDelta } from '../store/ledger/ledger-batch.js'
import { closeAbandonedLines } from '../store/ledger/row-text.js'
import type {
  JournalPiece,
  JournalProgress,
  JournalState,
  WritableLedger,
} from '../store/ledger/writable-ledger.js'
import { listJournals, removeSegments } from './journal/segment-format.js'
import { type IngestedJournal, JournalRoster } from './journal-roster.js'

interface JournalIngestPorts {
  /** Closed with the ingest. */
  readonly ledger: WritableLedger
  /** Folder of the journals; made where it is missing. */
  readonly journals: string
  /** How many days rows are kept. */
  readonly days: number
  /** How long to wait before the journals are looked into again. `good`: all was taken, in so many milliseconds. */
  readonly pause: (good: boolean, tookMs: number) => number
  /** The start need not wait for what earlier runs have written: what they may have spent is kept in leases. */
  readonly mayStartBehind: boolean
  readonly clock: Clock
  readonly log: Log
  /** Called with everything that has come into the ledger, in the turn in which it is seen there. */
  readonly onCommitted: (journal: string, deltas: readonly UsageDelta[]) => void
  /** Called when all of a dead writer's journal is in it. */
  readonly onFinished: (journal: string) => void
}

/** Most that is read of all journals before it is taken, but for the last piece. */
const ROUND_BYTES = 1024 * 1024
const LEAST_ROUND_BYTES = 64 * 1024
const PRUNE_MS = 10 * 60_000
/** Pieces of one journal that are remembered as perhaps taken. */
const MOST_UNSURE = 8

export class JournalIngest {
  readonly ledger: WritableLedger
  readonly #ports: JournalIngestPorts
  readonly #roster: JournalRoster
  /** Operations are serialised: what is read between two of them was committed and reported as a whole. */
  #work: Promise<unknown> = Promise.resolve()
  /** A pass that has not begun yet; those who ask now share it. */
  #nextPass: Promise<boolean> | null = null
  #cancel: () => void = () => {}
  #pruneAt = 0
  #failing = false
  #roundBytes = ROUND_BYTES
  #closed = false

  constructor(ports: JournalIngestPorts) {
    mkdirSync(ports.journals, { recursive: true })
    this.ledger = ports.ledger
    this.#ports = ports
    this.#roster = new JournalRoster(ports.journals, ports.clock)
  }

  /** Finishes the journals of earlier runs, or begins with it, and looks for new lines from then on. */
  async start(): Promise<void> {
    await this.#roster.awaitEarlierWriters()
    this.#roster.adoptOrphans()
    const done = this.sync()
    if (!this.#ports.mayStartBehind) await done
    this.#scheduleTick(this.#ports.pause(true, 0))
  }

  /** A worker is about to write a journal of that name. */
  expectJournal(name: string): void {
    this.#roster.expect(name)
  }

  /** The writer of that journal has died: what it has left is taken, and what it has left open is closed. */
  writerDied(name: string): void {
    const journal = this.#roster.find(name)
    if (journal === null) return
    journal.hasWriter = false
    void this.sync()
  }

  /** Resolves when all that was written before is in the ledger; with false when the disk does not take it. */
  sync(): Promise<boolean> {
    this.#nextPass ??= this.#serialise(() => {
      this.#nextPass = null
      return this.#ingestAll()
    })
    return this.#nextPass
  }

  /** Runs `read` in a moment in which all that was written before is in the ledger, and `onCommitted` knows of it. */
  readAfterSync<T>(read: (sync: boolean) => MaybePromise<T>): Promise<T> {
    return this.#serialise(async () => read(await this.#ingestAll()))
  }

  /** Whether a journal of an earlier run is still there: what that run has spent is not known in all. */
  hasEarlier(): boolean {
    return this.#roster.hasInherited()
  }

  /** About how many bytes of journals wait for the ledger; 0 as long as it takes them. */
  backlogBytes(): number {
    return this.#failing ? this.#roster.bytesBehind() : 0
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.sync()
    await this.#work
    for (const { reader } of this.#roster.all()) reader.close()
    await this.ledger.close()
  }

  #serialise<T>(deed: () => Promise<T>): Promise<T> {
    const done = this.#work.then(deed)
    this.#work = done.catch(() => {})
    return done
  }

  #scheduleTick(ms: number): void {
    if (this.#closed) return
    this.#cancel = this.#ports.clock.runAfter(ms, () => void this.#tick())
  }

  async #tick(): Promise<void> {
    const now = this.#ports.clock.monotonicMs()
    this.#roster.adoptOrphans()
    const good = await this.sync()
    const tookMs = this.#ports.clock.monotonicMs() - now
    if (good && now >= this.#pruneAt) await this.#serialise(() => this.#prune(now))
    this.#scheduleTick(this.#ports.pause(good, tookMs))
  }

  /** False when something could not be taken now. */
  async #ingestAll(): Promise<boolean> {
    const journals = this.#roster.all()
    // Asked first: what its writer has written before it died is there from then on.
    const orphans = journals.filter(({ hasWriter }) => !hasWriter)
    const whole = new Set<IngestedJournal>()
    for (const isInherited of [true, false]) {
      const waiting = journals.filter((journal) => journal.isInherited === isInherited)
      if (!(await this.#takeRounds(new Set(waiting), whole))) break
    }
    let good = whole.size === journals.length
    for (const journal of orphans) {
      if (whole.has(journal)) good = (await this.#attempt(() => this.#finishJournal(journal))) && good
    }
    if (good && this.#failing) {
      this.#ports.log.info({}, 'the ledger takes rows again')
      this.#failing = false
    }
    return good
  }

  /** False when `deed` failed, which is told once. */
  async #attempt(deed: () => Promise<void>): Promise<boolean> {
    try {
      await deed()
      return true
    } catch (err) {
      if (!this.#failing) {
        this.#ports.log.error({ err }, 'the ledger does not take rows; they wait in the journals')
      }
      this.#failing = true
      return false
    }
  }

  /**
   * Takes all there is, a bounded part of it at a time; adds to `whole` the journals of which nothing is left. False when
   * the ledger does not take it.
   */
  async #takeRounds(waiting: Set<IngestedJournal>, whole: Set<IngestedJournal>): Promise<boolean> {
    let mostJournals = Number.POSITIVE_INFINITY
    while (waiting.size > 0) {
      const round = new Map<IngestedJournal, JournalPiece>()
      let bytes = 0
      for (const journal of waiting) {
        if (bytes >= this.#roundBytes || round.size >= mostJournals) break
        const isRead = await this.#attempt(async () => {
          const { piece, more, size } = await this.#readPiece(journal)
          if (piece !== null) round.set(journal, piece)
          if (!more) whole.add(journal)
          bytes += size
        })
        // One that cannot be read does not keep the others waiting.
        if (!isRead || whole.has(journal)) waiting.delete(journal)
      }
      if (round.size === 0) continue
      let isTaken = false
      let isRefused = false
      const isHeard = await this.#attempt(async () => {
        isTaken = await this.#takePieces(round).catch((err: unknown) => {
          isRefused = !(err instanceof Fault && err.kind === 'unavailable')
          throw err
        })
      })
      for (const journal of isTaken ? [] : round.keys()) {
        whole.delete(journal)
        waiting.add(journal)
      }
      // One that is slow gets less at a time, or it would never be done in time.
      this.#roundBytes = isHeard
        ? Math.min(ROUND_BYTES, 2 * this.#roundBytes)
        : Math.max(LEAST_ROUND_BYTES, this.#roundBytes / 2)
      if (isHeard) continue
      if (!isRefused) return false
      // Not away: it has something against one of these. It is looked for, and keeps none of the others waiting.
      if (mostJournals === 1) for (const journal of round.keys()) waiting.delete(journal)
      mostJournals = 1
    }
    return true
  }

  /** What stands behind the mark of a journal; `piece` is null when there is nothing. */
  async #readPiece(
    journal: IngestedJournal,
  ): Promise<{ readonly piece: JournalPiece | null; readonly more: boolean; readonly size: number }> {
    const { name, reader } = journal
    journal.taken ??= await this.#readState(journal)
    const { mark: from, open } = journal.taken
    if (from.done) return { piece: null, more: false, size: 0 }
    const { lines, position, more, bytes: size, missing } = reader.read(from, this.#roundBytes)
    if (missing) {
      const gap = { journal: name, from: from.segment, to: position.segment }
      this.#ports.log.error(
        gap,
        'segments of a journal are gone, and the ledger does not have them: it was set back',
      )
    }
    if (lines.length === 0 && position.segment === from.segment) return { piece: null, more, size }
    const to = { ...position, done: false }
    return { piece: { journal: name, from, batch: new LedgerBatch(lines, open), to }, more, size }
  }

  async #readState(journal: IngestedJournal): Promise<JournalState> {
    const state = await this.ledger.readJournal(journal.name)
    const { mark } = state
    // Nobody but this process brings it in, so if it stands behind a piece, that piece was taken.
    const taken = journal.unsure.find(({ to }) => isSamePlace(to, mark))
    if (taken !== undefined) this.#ports.onCommitted(journal.name, taken.batch.deltas)
    journal.unsure = journal.unsure.filter(({ from }) => isSamePlace({ ...from, done: false }, mark))
    return state
  }

  /**
   * False when a journal has been taken to another place: by another server on the same folder, or by an append that
   * was thought to have failed. What it has taken is in the sums.
   */
  async #takePieces(pieces: ReadonlyMap<IngestedJournal, JournalPiece>): Promise<boolean> {
    const isInherited = [...pieces.keys()].some((journal) => journal.isInherited)
    const { committed, durable } = this.ledger.append([...pieces.values()], isInherited)
    durable.catch(() => {})
    for (const [journal, piece] of pieces) {
      const others = journal.unsure.filter(({ to }) => !isSamePlace(to, piece.to))
      journal.unsure = [...others, piece].slice(-MOST_UNSURE)
    }
    const isTaken = await committed.catch((error: unknown) => {
      // Whoever hears of a failure does not know whether it was one.
      for (const journal of pieces.keys()) journal.taken = null
      throw error
    })
    if (!isTaken) {
      for (const journal of pieces.keys()) journal.taken = null
      return false
    }
    for (const [journal, piece] of pieces) this.#noteTaken(journal, piece, durable)
    if ([...pieces.values()].some(({ to }) => to.done)) await durable
    return true
  }

  #noteTaken(journal: IngestedJournal, { from, batch, to }: JournalPiece, durable: Promise<boolean>): void {
    const { name, taken } = journal
    this.#ports.onCommitted(name, batch.deltas)
    journal.unsure = []
    const open = taken?.open ?? new Map<string, string>()
    for (const id of batch.closedIds) open.delete(id)
    for (const [id, line] of batch.opened) open.set(id, line)
    journal.taken = { mark: to, open }
    if (!to.done && to.segment > from.segment) {
      void this.#removeSegments(durable, name, from.segment, to.segment)
    }
  }

  /** A segment goes when the disk has what stood in it. */
  async #removeSegments(durable: Promise<boolean>, name: string, from: number, to: number): Promise<void> {
    try {
      await durable
      removeSegments(this.#ports.journals, name, from, to)
    } catch {
      // The whole journal goes when its writer does.
    }
  }

  async #finishJournal(journal: IngestedJournal): Promise<void> {
    const { name, reader, taken } = journal
    // What stood in it could not be taken.
    if (taken === null) return
    const { open, mark } = taken
    if (!mark.done) {
      const lines = closeAbandonedLines(open)
      if (open.size > 0) {
        this.#ports.log.warn({ calls: open.size, journal: name }, 'calls were cut off; closed')
      }
      const batch = new LedgerBatch(lines, open)
      const end = { journal: name, from: mark, batch, to: { ...mark, done: true } }
      if (!(await this.#takePieces(new Map([[journal, end]])))) return
    }
    reader.close()
    const segments = listJournals(this.#ports.journals).get(name) ?? []
    removeSegments(this.#ports.journals, name, segments[0] ?? 0, (segments.at(-1) ?? -1) + 1)
    await this.ledger.forgetJournal(name, unixMs(this.#ports.clock))
    this.#roster.remove(name)
    this.#ports.onFinished(name)
  }

  async #prune(now: number): Promise<void> {
    const { days, clock } = this.#ports
    try {
      if (await this.ledger.prune({ days, now: unixMs(clock) })) return
    } catch {
      // What could not be removed now is removed with the next round.
    }
    this.#pruneAt = now + PRUNE_MS
  }
}

function isSamePlace(a: JournalProgress, b: JournalProgress): boolean {
  return a.segment === b.segment && a.offset === b.offset && a.done === b.done
}
