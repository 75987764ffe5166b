/** Keeps a part of the disk free: a store on a full disk cannot even delete. */
import { statfsSync } from 'node:fs'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'

/** How long a look at the disk counts; what is written meanwhile is subtracted. */
const LOOK_MS = 100
const TOLD_MS = 60_000
const RETRY_AFTER_S = 30

/** Free bytes of the file system of a folder; null where it does not say. */
type FreeBytes = () => number | null

interface DiskReserveOptions {
  /** A folder on the disk. */
  readonly folder: string
  /** What stays free; 0: nothing. */
  readonly bytes: number
  readonly clock: Clock
  /** Something was refused, told once a minute at most. */
  readonly onRefused: (freeBytes: number) => void
  /** For trials. */
  readonly freeBytes?: FreeBytes
}

export class DiskReserve {
  readonly #bytes: number
  readonly #clock: Clock
  readonly #freeBytes: FreeBytes
  readonly #onRefused: DiskReserveOptions['onRefused']
  #free = 0
  #lookedAt = Number.NEGATIVE_INFINITY
  #toldAt = Number.NEGATIVE_INFINITY

  constructor({ folder, bytes, clock, onRefused, freeBytes }: DiskReserveOptions) {
    this.#bytes = bytes
    this.#clock = clock
    this.#onRefused = onRefused
    this.#freeBytes = freeBytes ?? (() => freeBytesOf(folder))
  }

  /**
   * Whether so many bytes more may be written; they count as written then. `isReuse`: they go to where others were
   * deleted, in a file that never shrinks; then half of the reserve is enough.
   */
  take(bytes: number, isReuse = false): boolean {
    if (this.#bytes === 0) return true
    const now = this.#clock.monotonicMs()
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#free = this.#freeBytes() ?? Number.POSITIVE_INFINITY
      this.#lookedAt = now
    }
    if (this.#free - bytes >= (isReuse ? this.#bytes / 2 : this.#bytes)) {
      this.#free -= bytes
      return true
    }
    if (now - this.#toldAt >= TOLD_MS) {
      this.#toldAt = now
      this.#onRefused(this.#free)
    }
    return false
  }
}

/** What a store refuses for want of room, until something was deleted. */
export function noRoomFault(detail: string): Fault {
  return new Fault('unavailable', { retryAfter: RETRY_AFTER_S, detail })
}

/** As `DiskReserve.take`. */
export type TakeRoom = (bytes: number, isReuse?: boolean) => boolean

/** How much may be stored, and where to ask for room on the disk (contract/decisions 64). */
export interface StoreLimits {
  /** Most bytes of all items, as JSON. */
  readonly itemBytes: number
  /** Most files of an organization. */
  readonly files: number
  /** Most bytes of an organization's files. */
  readonly fileBytes: number
  readonly takeRoom: TakeRoom
}

/** For commands, which store little and are the operator's. */
export const NO_LIMITS: StoreLimits = {
  itemBytes: Number.POSITIVE_INFINITY,
  files: Number.POSITIVE_INFINITY,
  fileBytes: Number.POSITIVE_INFINITY,
  takeRoom: () => true,
}

function freeBytesOf(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return null
  }
}
