import { decoded } from './accounts/account-layout.js'

/** Parsed records kept at a time; beyond it the oldest goes. About 1.5 KB each. */
const REMEMBERED = 10_000

interface Remembered {
  /** What the store said when the record was parsed. */
  readonly bytes: Buffer
  readonly record: object
}

/**
 * Records by name, each parsed once. The stored bytes are read every time, and only when they are the ones that were
 * parsed before does the parsed record serve again: it saves the parsing and can never be stale.
 */
export class ParsedRecords {
  readonly #remembered = new Map<string, Remembered>()

  /** `raw` is borrowed, and its underlying buffer is larger than it says: it may only be compared with bounds. */
  of<T extends object>(name: string, raw: Buffer): Readonly<T> {
    const { length } = raw
    const before = this.#remembered.get(name)
    if (before?.bytes.length === length && before.bytes.compare(raw, 0, length) === 0) {
      return before.record as T
    }
    const bytes = Buffer.from(raw.subarray(0, length))
    const record = decoded<T>(bytes)
    if (this.#remembered.size >= REMEMBERED) {
      const { value: oldest } = this.#remembered.keys().next()
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.set(name, { bytes, record })
    return record
  }
}
