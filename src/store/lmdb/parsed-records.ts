import { decodeRecord } from './accounts/account-layout.js'

/** Parsed records kept at a time; beyond it the oldest goes. About 1.5 KB each. */
const MAX_PARSED_RECORDS = 10_000

interface ParsedRecord {
  /** What the store said when the record was parsed. */
  readonly bytes: Buffer
  readonly record: object
}

/**
 * Records by name, each parsed once. The stored bytes are read every time, and only when they are the ones that were
 * parsed before does the parsed record serve again: it saves the parsing and can never be stale.
 */
export class ParsedRecords {
  readonly #parsed = new Map<string, ParsedRecord>()

  /** `raw` is borrowed, and its underlying buffer is larger than it says: it may only be compared with bounds. */
  parse<T extends object>(name: string, raw: Buffer): Readonly<T> {
    const { length } = raw
    const before = this.#parsed.get(name)
    if (before?.bytes.length === length && before.bytes.compare(raw, 0, length) === 0) {
      return before.record as T
    }
    const bytes = Buffer.from(raw.subarray(0, length))
    const record = decodeRecord<T>(bytes)
    if (this.#parsed.size >= MAX_PARSED_RECORDS) {
      const { value: oldest } = this.#parsed.keys().next()
      if (oldest !== undefined) this.#parsed.delete(oldest)
    }
    this.#parsed.set(name, { bytes, record })
    return record
  }
}
