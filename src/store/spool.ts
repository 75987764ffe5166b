/** Bytes that have to wait somewhere before they can go on: in memory while they are few, on the disk beyond. */

export interface Spool {
  beginWrite(): SpoolWriter
}

export interface SpoolWriter {
  /** Takes a piece, borrowed for the call. While the promise is open nothing more may be written. */
  write(piece: Uint8Array): void | Promise<void>
  /** All of it has been written. */
  finish(): Promise<SpooledBytes>
  /** Not wanted any more; harmless after `finish`, where `discard` does it. Idempotent. */
  abandon(): void
}

export interface SpooledBytes {
  readonly size: number
  /**
   * From the beginning; may be called again, also while another reading goes on. Not after `discard`. A piece is good
   * until the next one is asked for.
   */
  read(): AsyncIterable<Uint8Array>
  /** Gives the place back. Idempotent. */
  discard(): void
}
