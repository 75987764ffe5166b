/** Numbers of an entry, padded to a line of the processor's cache. */
const WIDTH = 8
/** 8 KiB: they stay near the processor while they wait. */
const ENTRIES = 128

const OPERATION = 0
const AT = 1
/** Negative for an arrival. */
const STATUS = 2
const SERVICE_MS = 3
const BYTES_IN = 4
const BYTES_OUT = 5
const ABORTED = 6

const ARRIVAL = -1

/** What reads the log, in the order in which it was written. */
export interface CallLogReader {
  /** @param operation number of the operation whose call arrived */
  onArrival(operation: number, at: number): void
  onSettled(
    operation: number,
    serviceMs: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
    arrivedAt: number,
  ): void
}

/**
 * What happened to calls and is not counted yet. To count a call touches some forty places in memory, which are cold
 * each time that a call comes along; a hundred at a time cost a third. Whoever looks at what is counted has the log
 * read first.
 */
export class CallLog {
  readonly #entries = new Float64Array(ENTRIES * WIDTH)
  readonly #reader: CallLogReader
  #end = 0

  constructor(reader: CallLogReader) {
    this.#reader = reader
  }

  addArrival(operation: number, at: number): void {
    const entries = this.#entries
    const row = this.#end
    entries[row + OPERATION] = operation
    entries[row + AT] = at
    entries[row + STATUS] = ARRIVAL
    this.#close(row)
  }

  addSettled(
    operation: number,
    serviceMs: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
    arrivedAt: number,
  ): void {
    const entries = this.#entries
    const row = this.#end
    entries[row + OPERATION] = operation
    entries[row + AT] = arrivedAt
    entries[row + STATUS] = status
    entries[row + SERVICE_MS] = serviceMs
    entries[row + BYTES_IN] = bytesIn
    entries[row + BYTES_OUT] = bytesOut
    entries[row + ABORTED] = aborted ? 1 : 0
    this.#close(row)
  }

  #close(row: number): void {
    this.#end = row + WIDTH
    if (this.#end === ENTRIES * WIDTH) this.read()
  }

  /** Has everything read that was written. */
  read(): void {
    const end = this.#end
    if (end === 0) return
    // At once: the reader may come back here, and finds nothing left.
    this.#end = 0
    const entries = this.#entries
    const reader = this.#reader
    for (let row = 0; row < end; row += WIDTH) {
      const operation = entries[row + OPERATION]!
      const status = entries[row + STATUS]!
      const at = entries[row + AT]!
      if (status === ARRIVAL) reader.onArrival(operation, at)
      else {
        const aborted = entries[row + ABORTED] === 1
        const serviceMs = entries[row + SERVICE_MS]!
        reader.onSettled(
          operation,
          serviceMs,
          status,
          entries[row + BYTES_IN]!,
          entries[row + BYTES_OUT]!,
          aborted,
          at,
        )
      }
    }
  }
}
