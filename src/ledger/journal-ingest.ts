/** Brings the journals of the workers into the ledger: the only writer of it. Runs beside the workers. */
import { mkdirSync, rmSync } from 'node:fs'
import { type Clock, sleep } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { LedgerBatch, type UsageDelta } from '../store/ledger/ledger-batch.js'
import { closeAbandonedLine } from '../store/ledger/row-text.js'
import type { JournalProgress, WritableLedger } from '../store/ledger/writable-ledger.js'
import { JournalReader } from './journal/journal-reader.js'
import { isWriterAlive, listJournals, segmentPath, writerPid } from './journal/segment-format.js'

interface JournalIngestPorts {
  /** Closed with the ingest. */
  readonly ledger: WritableLedger
  /** Folder of the journals; made where it is missing. */
  readonly journals: string
  /** How many days rows are kept. */
  readonly days: number
  readonly clock: Clock
  readonly log: Log
  /** Called with everything that has come into the ledger, in the turn in which it is seen there. */
  readonly onCommitted: (journal: string, deltas: readonly UsageDelta[]) => void
  /** Called when all of a dead writer's journal is in it. */
  readonly onFinished: (journal: string) => void
}

interface IngestedJournal {
  readonly name: string
  readonly reader: JournalReader
  /** Its writer may come with more. */
  hasWriter: boolean
  /** How far it has been taken. */
  mark: JournalProgress
  /** Calls that are open there: payer line and line, by id. */
  open: Map<string, string>
}

/** How often journals are looked into. What a loss of power may take is what was written since. */
const TICK_MS = 250
/** After the disk has refused. */
const RETRY_MS = 500
/** How long the writers of an earlier run get to leave; they have lost their supervisor. */
const EARLIER_WRITERS_MS = 4_000
const POLL_MS = 50
/** How often journals of others are looked for. */
const ADOPT_MS = 5_000
const PRUNE_MS = 10 * 60_000
const DAY_MS = 24 * 60 * 60 * 1000

export class JournalIngest {
  readonly ledger: WritableLedger
  readonly #ports: JournalIngestPorts
  readonly #journals = new Map<string, IngestedJournal>()
  /** Operations are serialised: what is read between two of them was committed and reported as a whole. */
  #work: Promise<unknown> = Promise.resolve()
  /** A pass that has not begun yet; those who ask now share it. */
  #nextPass: Promise<boolean> | null = null
  #cancel: () => void = () => {}
  #adoptAt = 0
  #pruneAt = 0
  #failing = false
  #closed = false

  constructor(ports: JournalIngestPorts) {
    mkdirSync(ports.journals, { recursive: true })
    this.ledger = ports.ledger
    this.#ports = ports
  }

  /** Finishes the journals of earlier runs, and begins to look for new lines. */
  async start(): Promise<void> {
    await this.#awaitEarlierWriters()
    this.#adoptOrphans()
    await this.sync()
    this.#scheduleTick(TICK_MS)
  }

  /** A worker is about to write a journal of that name. */
  expectJournal(name: string): void {
    this.#register(name, true)
  }

  /** The writer of that journal has died: what it has left is taken, and what it has left open is closed. */
  writerDied(name: string): void {
    const journal = this.#journals.get(name)
    if (journal === undefined) return
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
  readAfterSync<T>(read: (sync: boolean) => T): Promise<T> {
    return this.#serialise(async () => read(await this.#ingestAll()))
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.sync()
    await this.#work
    for (const { reader } of this.#journals.values()) reader.close()
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
    if (now >= this.#adoptAt) this.#adoptOrphans()
    const good = await this.sync()
    if (good && now >= this.#pruneAt) await this.#serialise(() => this.#prune(now))
    this.#scheduleTick(good ? TICK_MS : RETRY_MS)
  }

  /** Workers of an earlier supervisor are leaving; the rows of what they still answer are theirs to write. */
  async #awaitEarlierWriters(): Promise<void> {
    const until = this.#ports.clock.monotonicMs() + EARLIER_WRITERS_MS
    const written = (): boolean =>
      [...listJournals(this.#ports.journals).keys()].some((name) => this.#hasForeignWriter(name))
    while (written() && this.#ports.clock.monotonicMs() < until) {
      await sleep(POLL_MS, this.#ports.clock)
    }
  }

  /** Takes on journals that dead processes have left behind. */
  #adoptOrphans(): void {
    this.#adoptAt = this.#ports.clock.monotonicMs() + ADOPT_MS
    for (const name of listJournals(this.#ports.journals).keys()) {
      if (!this.#journals.has(name) && !this.#hasForeignWriter(name)) this.#register(name, false)
    }
  }

  /**
   * Whether a process writes it that is none of ours. A process writes one journal in its life, so that another one
   * under the same number is of an earlier process: in a container every run has the same numbers.
   */
  #hasForeignWriter(name: string): boolean {
    const pid = writerPid(name)
    if (pid === process.pid) return false
    for (const { name: known, hasWriter } of this.#journals.values()) {
      if (hasWriter && writerPid(known) === pid) return false
    }
    return isWriterAlive(name)
  }

  #register(name: string, hasWriter: boolean): void {
    const { ledger } = this
    const reader = new JournalReader(this.#ports.journals, name)
    this.#journals.set(name, { name, reader, hasWriter, ...ledger.readJournal(name) })
  }

  /** False when something could not be taken now. */
  async #ingestAll(): Promise<boolean> {
    let good = true
    for (const journal of [...this.#journals.values()]) {
      try {
        await this.#ingestJournal(journal)
      } catch (err) {
        good = false
        // One that cannot be read does not keep the others waiting.
        if (!this.#failing) {
          this.#ports.log.error({ err }, 'the ledger does not take rows; they wait in the journals')
        }
        this.#failing = true
      }
    }
    if (good && this.#failing) {
      this.#ports.log.info({}, 'the ledger takes rows again')
      this.#failing = false
    }
    return good
  }

  async #ingestJournal(journal: IngestedJournal): Promise<void> {
    // Asked first: what its writer has written before it died is there from then on.
    const { hasWriter } = journal
    for (let more = !journal.mark.done; more; ) {
      const chunk = journal.reader.read(journal.mark)
      more = chunk.more
      if (chunk.lines.length > 0 || chunk.position.segment !== journal.mark.segment) {
        await this.#commitBatch(journal, chunk.lines, { ...chunk.position, done: false })
      }
    }
    if (!hasWriter) await this.#finishJournal(journal)
  }

  async #commitBatch(journal: IngestedJournal, lines: readonly string[], to: JournalProgress): Promise<void> {
    const { name, open, mark: from } = journal
    const { ledger } = this
    const batch = new LedgerBatch(lines, open)
    const { committed, durable } = ledger.appendBatch(name, from, batch, to)
    durable.catch(() => {})
    if (!(await committed)) {
      // Another server on the same folder was faster. What it has taken is in the sums.
      Object.assign(journal, ledger.readJournal(name))
      return
    }
    this.#ports.onCommitted(name, batch.deltas)
    for (const id of batch.closedIds) open.delete(id)
    for (const [id, line] of batch.opened) open.set(id, line)
    journal.mark = to
    if (to.done) await durable
    else if (to.segment > from.segment) void this.#removeSegments(durable, name, from.segment, to.segment)
  }

  /** A segment goes when the disk has what stood in it. */
  async #removeSegments(durable: Promise<boolean>, name: string, from: number, to: number): Promise<void> {
    try {
      await durable
      for (let segment = from; segment < to; segment++) {
        rmSync(segmentPath(this.#ports.journals, name, segment), { force: true })
      }
    } catch {
      // The whole journal goes when its writer does.
    }
  }

  async #finishJournal(journal: IngestedJournal): Promise<void> {
    const { name, reader, open, mark } = journal
    if (!mark.done) {
      const lines = [...open.values()].flatMap((both) => {
        const [payer, line] = both.split('\n') as [string, string]
        return [payer, closeAbandonedLine(line)]
      })
      if (open.size > 0) {
        this.#ports.log.warn({ calls: open.size, journal: name }, 'calls were cut off; closed')
      }
      await this.#commitBatch(journal, lines, { ...mark, done: true })
      if (!journal.mark.done) return
    }
    reader.close()
    for (const segment of listJournals(this.#ports.journals).get(name) ?? []) {
      rmSync(segmentPath(this.#ports.journals, name, segment), { force: true })
    }
    await this.ledger.forgetJournal(name)
    this.#journals.delete(name)
    this.#ports.onFinished(name)
  }

  async #prune(now: number): Promise<void> {
    const before = this.#ports.clock.unixSeconds() * 1000 - this.#ports.days * DAY_MS
    try {
      if (await this.ledger.prune(before)) return
    } catch {
      // What could not be removed now is removed with the next round.
    }
    this.#pruneAt = now + PRUNE_MS
  }
}
