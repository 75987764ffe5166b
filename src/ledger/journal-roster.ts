/** The journals in the folder of a machine: those of its workers, and those that earlier processes have left. */
import { type Clock, sleep } from '../base/clock.js'
import type { JournalPiece, JournalState } from '../store/ledger/writable-ledger.js'
import { JournalReader } from './journal/journal-reader.js'
import { isWriterAlive, listJournals, segmentBytes, writerPid } from './journal/segment-format.js'

/** A journal, and how far it is known to be in the ledger. */
export interface IngestedJournal {
  readonly name: string
  readonly reader: JournalReader
  /** Its writer may come with more. */
  hasWriter: boolean
  /** It was left by an earlier run, or by a server that had the folder before. */
  readonly isInherited: boolean
  /** Null where the ledger has to be asked. */
  taken: JournalState | null
  /**
   * What was sent to the ledger from the place where it stands, as long as nobody knows whether one of them was taken: a
   * statement that was thought to have failed may be carried out later.
   */
  unsure: readonly JournalPiece[]
}

/** How long the writers of an earlier run get to leave; they have lost their supervisor. */
const EARLIER_WRITERS_MS = 4_000
const POLL_MS = 50
/** How often journals of others are looked for. */
const ADOPT_MS = 5_000

export class JournalRoster {
  readonly #folder: string
  readonly #clock: Clock
  readonly #journals = new Map<string, IngestedJournal>()
  #adoptAt = 0

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
  }

  /** In the order in which they were met. */
  all(): IngestedJournal[] {
    return [...this.#journals.values()]
  }

  find(name: string): IngestedJournal | null {
    return this.#journals.get(name) ?? null
  }

  /** A worker of this machine is about to write a journal of that name. */
  expect(name: string): void {
    this.#register(name, { hasWriter: true, isInherited: false })
  }

  remove(name: string): void {
    this.#journals.delete(name)
  }

  /** Workers of an earlier supervisor are leaving; the rows of what they still answer are theirs to write. */
  async awaitEarlierWriters(): Promise<void> {
    const until = this.#clock.monotonicMs() + EARLIER_WRITERS_MS
    const written = (): boolean =>
      [...listJournals(this.#folder).keys()].some((name) => this.#hasForeignWriter(name))
    while (written() && this.#clock.monotonicMs() < until) await sleep(POLL_MS, this.#clock)
  }

  /** Takes on journals that dead processes have left behind; looks for them now and then. */
  adoptOrphans(): void {
    const now = this.#clock.monotonicMs()
    if (now < this.#adoptAt) return
    this.#adoptAt = now + ADOPT_MS
    for (const name of listJournals(this.#folder).keys()) {
      if (this.#journals.has(name) || this.#hasForeignWriter(name)) continue
      this.#register(name, { hasWriter: false, isInherited: true })
    }
  }

  /** Whether there is a journal that no worker of this run writes or has written, taken in or not. */
  hasInherited(): boolean {
    return [...listJournals(this.#folder).keys()].some(
      (name) => this.#journals.get(name)?.isInherited !== false,
    )
  }

  /** About how many bytes of journals are not in the ledger: a segment has room at its end that nobody has used. */
  bytesBehind(): number {
    let bytes = 0
    for (const [name, segments] of listJournals(this.#folder)) {
      const mark = this.#journals.get(name)?.taken?.mark ?? { segment: 0, offset: 0 }
      for (const segment of segments) {
        if (segment < mark.segment) continue
        const taken = segment === mark.segment ? mark.offset : 0
        bytes += Math.max(0, segmentBytes(this.#folder, name, segment) - taken)
      }
    }
    return bytes
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

  #register(name: string, origin: Pick<IngestedJournal, 'hasWriter' | 'isInherited'>): void {
    const reader = new JournalReader(this.#folder, name)
    this.#journals.set(name, { name, reader, ...origin, taken: null, unsure: [] })
  }
}
