/** Bounds on the bytes of contents that are no files yet, of one process. */

/** On their way to the database, of all files: senders are held back long before. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024

/** What waits for the database. */
export class WaitingBytes {
  #bytes = 0

  /** False beyond the bound; then nothing is counted. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > MOST_WAITING_BYTES) return false
    this.#bytes += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes
  }
}

/**
 * What organizations have in the database of files that are not complete. It counts as stored when a file has its
 * record; before that, all an organization uploads at a time may be as much as it may store, in each process.
 */
export class UnfinishedBytes {
  readonly #most: number
  readonly #bytes = new Map<string, number>()

  /** `most`: of an organization. */
  constructor(most: number) {
    this.#most = most
  }

  /** False beyond the bound; then nothing is counted. */
  take(organizationId: string, bytes: number): boolean {
    const taken = (this.#bytes.get(organizationId) ?? 0) + bytes
    if (taken > this.#most) return false
    this.#bytes.set(organizationId, taken)
    return true
  }

  giveBack(organizationId: string, bytes: number): void {
    const left = (this.#bytes.get(organizationId) ?? 0) - bytes
    if (left > 0) this.#bytes.set(organizationId, left)
    else this.#bytes.delete(organizationId)
  }
}
