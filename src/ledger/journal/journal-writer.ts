/** The writing end of a journal: one process appends lines, gathered into one write per turn of its event loop. */
import { closeSync, existsSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { batchBytes, continuationMark, HEAD_BYTES, segmentPath } from './segment-format.js'

interface JournalWriterOptions {
  readonly folder: string
  readonly journal: string
  /** Called when the disk begins to refuse. */
  readonly onFailing: (error: unknown) => void
  /** Called when it takes lines again. */
  readonly onRecovered: () => void
  readonly segmentBytes?: number
  /** About how much may wait until it is taken; without it as much as the disk takes. */
  readonly most?: { readonly bytes: number; readonly onFull: (isFull: boolean) => void }
}

/** A segment is left for the next when it has grown so long; what was taken out of it can then be removed. */
const SEGMENT_BYTES = 16 * 1024 * 1024
/** Room that is made at a time. */
const ALLOCATION = Buffer.alloc(1024 * 1024)
/** Least room for the calls that are open; each writes one more line, of a few hundred bytes where it is not labelled. */
const SPARE_BYTES = 128 * 1024
const BYTES_PER_OPEN_CALL = 2048
/** A character of a line has at most as many bytes. */
const BYTES_PER_CHAR = 3
/** How long the disk is left alone after it has refused. */
const RETRY_MS = 250
/** How often is looked for lines that no answer waits for; those that have waited as long are written. */
const LAZY_MS = 1
/** Longest time that an answer is held back because its line cannot be written. */
const HOLD_MS = 2_000

/**
 * A line counts as written when the system has it: the process may then die at any moment. A machine that loses its
 * power may lose the last lines, of which the books have not made a durable copy yet.
 */
export class JournalWriter {
  readonly #options: JournalWriterOptions
  readonly #segmentBytes: number
  /** Most segments that there may be. */
  readonly #mostSegments: number
  #segment = 0
  /** The first that was not taken when it was last looked for. */
  #oldest = 0
  #isFull = false
  #lookedAt = Number.NEGATIVE_INFINITY
  #file: number
  /** Where the next batch goes. */
  #position = 0
  /** Up to where the disk has given room. */
  #allocated = 0
  /** Lines of this turn, or those that could not be written. */
  #lines = ''
  /** The last heading among them. */
  #heading = ''
  /** What answers wait for, until the lines are written. */
  #turn: { readonly written: Promise<void>; readonly resolve: () => void } | null = null
  #scheduled = false
  #lazy = false
  /** One for all waits: to wind it up again costs less than another. */
  #lazyTimer: NodeJS.Timeout | null = null
  /** `performance.now()` when the first of the lines came, where that one was a lazy one. */
  #waitingSince = Number.NEGATIVE_INFINITY
  #openCalls = 0
  #failing = false
  #refusedAt = Number.NEGATIVE_INFINITY
  #closed = false
  readonly #endOfTurn = (): void => {
    this.#scheduled = false
    if (!this.#closed) this.#flush()
  }

  /** What waits may be younger than the wait: where answers come, their lines take the others along. */
  readonly #endOfLazyWait = (): void => {
    this.#lazy = false
    if (this.#scheduled || this.#closed || this.#lines === '') return
    if (performance.now() - this.#waitingSince < LAZY_MS) this.#waitLazily()
    else this.#flush()
  }

  /** Creates the folder and the first segment. Throws when the disk does not take them. */
  constructor(options: JournalWriterOptions) {
    this.#options = options
    this.#segmentBytes = options.segmentBytes ?? SEGMENT_BYTES
    this.#mostSegments = (options.most?.bytes ?? Number.POSITIVE_INFINITY) / this.#segmentBytes
    mkdirSync(options.folder, { recursive: true })
    this.#file = this.#createSegment(0)
  }

  /** Whether there is room for one more call besides those that are open: its lines will find it. */
  hasRoomFor(openCalls: number): boolean {
    this.#openCalls = openCalls
    if (this.#segment - this.#oldest >= this.#mostSegments && !this.#hasBeenTaken()) return false
    const wanted = this.#roomBeside((openCalls + 1) * BYTES_PER_OPEN_CALL)
    return !this.#failing && this.#allocated - this.#position >= wanted ? true : this.#makeRoom(wanted)
  }

  /** Whether a line can be written without taking the room of the calls that are open. Refuses no call. */
  hasRoomForLine({ length }: string): boolean {
    const bytes = length * BYTES_PER_CHAR
    if (bytes <= BYTES_PER_OPEN_CALL) return true
    const until = this.#position + this.#roomBeside(this.#openCalls * BYTES_PER_OPEN_CALL + bytes)
    if (this.#allocated >= until) return true
    if (performance.now() - this.#refusedAt < RETRY_MS) return false
    try {
      this.#allocate(until)
      return true
    } catch {
      this.#refusedAt = performance.now()
      return false
    }
  }

  #roomBeside(bytes: number): number {
    return SPARE_BYTES + bytes + BYTES_PER_CHAR * this.#lines.length
  }

  /**
   * Appends a line, which ends with a newline; it is written at the end of this turn. A heading is a line that says
   * what several have in common: every batch has it above the first of them, and the others need not repeat it.
   */
  append(line: string, heading = ''): void {
    this.#bufferLine(line, heading)
    if (this.#scheduled || this.#closed) return
    this.#scheduled = true
    setImmediate(this.#endOfTurn)
  }

  /**
   * Appends a line that no answer waits for: it goes with the next one that an answer waits for, or a moment later. A
   * write for itself would cost more than the line.
   */
  appendLazily(line: string, heading = ''): void {
    if (this.#lines === '') this.#waitingSince = performance.now()
    this.#bufferLine(line, heading)
    if (!this.#scheduled && !this.#lazy && !this.#closed) this.#waitLazily()
  }

  #waitLazily(): void {
    this.#lazy = true
    if (this.#lazyTimer === null) this.#lazyTimer = setTimeout(this.#endOfLazyWait, LAZY_MS)
    else this.#lazyTimer.refresh()
  }

  /** Resolves when the lines so far are written, or when the disk has refused them for a while. Never rejects. */
  whenWritten(): Promise<void> {
    if (this.#closed) return Promise.resolve()
    if (this.#turn === null) {
      let resolve = (): void => {}
      const written = new Promise<void>((done) => {
        resolve = done
      })
      this.#turn = { written, resolve }
    }
    return this.#turn.written
  }

  /** Writes what there is at once, before another process is told of it. False: the disk refuses. */
  flush(): boolean {
    if (this.#lines !== '' && !this.#failing && !this.#closed) this.#flush()
    return this.#lines === ''
  }

  /** Writes what there is, and lets go of the file. Lines that come later go nowhere. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#flush()
    closeSync(this.#file)
    this.#resolveTurn()
  }

  #bufferLine(line: string, heading: string): void {
    if (heading !== this.#heading) {
      this.#lines += heading
      this.#heading = heading
    }
    this.#lines += line
  }

  #flush(): void {
    if (this.#lines === '') return
    const bytes = batchBytes(this.#lines)
    try {
      this.#rollSegment(bytes.length)
      writeFully(this.#file, bytes, this.#position)
    } catch (error) {
      this.#markFailing(error)
      this.#retryLater()
      return
    }
    this.#position += bytes.length
    this.#allocated = Math.max(this.#allocated, this.#position)
    this.#lines = ''
    this.#heading = ''
    this.#markHealthy()
    this.#resolveTurn()
  }

  /** The end of the answers waits; but not for ever. Their lines are kept, and written when there is room. */
  #retryLater(): void {
    if (this.#closed || this.#scheduled) return
    this.#scheduled = true
    setTimeout(this.#endOfTurn, RETRY_MS)
    const turn = this.#turn
    setTimeout(() => {
      if (turn !== null && this.#turn === turn) this.#resolveTurn()
    }, HOLD_MS)
  }

  #resolveTurn(): void {
    const turn = this.#turn
    this.#turn = null
    turn?.resolve()
  }

  /** Goes on in a new segment when this one is long. The mark comes last: a reader that sees it finds the other. */
  #rollSegment(coming: number): void {
    if (this.#position + coming + HEAD_BYTES <= this.#segmentBytes || this.#position === 0) return
    const next = this.#createSegment(this.#segment + 1)
    try {
      writeFully(this.#file, continuationMark(), this.#position)
    } catch (error) {
      closeSync(next)
      throw error
    }
    closeSync(this.#file)
    this.#segment++
    this.#file = next
    this.#position = 0
    this.#allocated = 0
    this.#allocate(ALLOCATION.length)
  }

  #createSegment(segment: number): number {
    return openSync(segmentPath(this.#options.folder, this.#options.journal, segment), 'w')
  }

  /** Whether fewer segments wait than may. Segments go when they are taken. */
  #hasBeenTaken(): boolean {
    const now = performance.now()
    if (now - this.#lookedAt < RETRY_MS) return !this.#isFull
    this.#lookedAt = now
    const { folder, journal, most } = this.#options
    while (this.#oldest < this.#segment && !existsSync(segmentPath(folder, journal, this.#oldest))) {
      this.#oldest++
    }
    const isFull = this.#segment - this.#oldest >= this.#mostSegments
    if (isFull !== this.#isFull) most?.onFull(isFull)
    this.#isFull = isFull
    return !isFull
  }

  #makeRoom(wanted: number): boolean {
    if (this.#failing && performance.now() - this.#refusedAt < RETRY_MS) return false
    try {
      this.#allocate(this.#position + wanted)
      if (this.#lines === '') this.#markHealthy()
      return !this.#failing
    } catch (error) {
      this.#refusedAt = performance.now()
      this.#markFailing(error)
      return false
    }
  }

  #allocate(until: number): void {
    while (this.#allocated < until) {
      writeFully(this.#file, ALLOCATION, this.#allocated)
      this.#allocated += ALLOCATION.length
    }
  }

  #markFailing(error: unknown): void {
    if (!this.#failing) this.#options.onFailing(error)
    this.#failing = true
  }

  #markHealthy(): void {
    if (this.#failing) this.#options.onRecovered()
    this.#failing = false
  }
}

/** A write may take less than it was given: a disk takes what fits. */
function writeFully(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done)
  }
}
