/**
 * How many files organizations have, and how many bytes in them, in the table of the files.
 *
 *     'q' organization       ->  {files, bytes}
 *     'counted'              ->  {}            every file is counted: stores of earlier versions are not yet
 */
import type { FileRecord } from '../file-store.js'
import { idKey, type RecordTable } from '../records/record-table.js'

interface Usage {
  readonly files: number
  readonly bytes: number
}

const NOTHING: Usage = { files: 0, bytes: 0 }
const COUNTED = Buffer.from('counted')

export class FileUsage {
  readonly #records: RecordTable
  readonly #most: Usage
  readonly #allFiles: () => readonly FileRecord[]

  constructor(records: RecordTable, most: Usage, allFiles: () => readonly FileRecord[]) {
    this.#records = records
    this.#most = most
    this.#allFiles = allFiles
  }

  /** Whether there is room for one more file of at least a byte. For the inside of a snapshot or a transaction. */
  hasRoom(organizationId: string, bytes = 1): boolean {
    const { files, bytes: stored } = this.#usageOf(organizationId)
    return files < this.#most.files && stored + bytes <= this.#most.bytes
  }

  /** Counts a file, or a removed one with a sign of -1; in the transaction that changes its record, before it does. */
  count({ organizationId, sizeBytes }: FileRecord, sign: 1 | -1): void {
    if (!this.#records.has(COUNTED)) {
      for (const file of this.#allFiles()) this.#add(file.organizationId, file.sizeBytes, 1)
      this.#records.put(COUNTED, {})
    }
    this.#add(organizationId, sizeBytes, sign)
  }

  #usageOf(organizationId: string): Usage {
    return this.#records.get<Usage>(usageKey(organizationId)) ?? NOTHING
  }

  #add(organizationId: string, sizeBytes: number, sign: 1 | -1): void {
    const key = usageKey(organizationId)
    if (key === null) return
    const { files, bytes } = this.#usageOf(organizationId)
    this.#records.put(key, { files: files + sign, bytes: bytes + sign * sizeBytes })
  }
}

function usageKey(organizationId: string): Buffer | null {
  return idKey(organizationId, 'q')
}
