/**
 * When a generation began: its id tells it (contract/decisions 2), so nothing else has to. The ledger sorts its rows by
 * time slots, its sums by hours.
 */

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'
/** The parts of a request have its id, a dot and a number. */
const ID = /^gen-[0-9a-hjkmnp-tv-z]{26}(?:\.[1-9]\d{0,4})?$/
const WHOLE_CHARS = 30
const TIME_AT = 4
const RANDOM_AT = 14
const LATEST_UNIX_MS = 2 ** 47

const HOUR_MS = 60 * 60 * 1000
/** Rows whose generations began within so many milliseconds share their blocks. */
const TIME_SLOT_MS = 64

/** When a generation of that id began, in Unix milliseconds; null for what is no such id. */
export function generationTime(id: string): number | null {
  if (!ID.test(id)) return null
  const time = readGenerationTime(id, 0)
  return time < LATEST_UNIX_MS ? time : null
}

/** The id before which everything began before that moment, and nothing that began in it. */
export function firstIdAt(unixMs: number): string {
  let time = Math.min(Math.max(unixMs, 0), LATEST_UNIX_MS - 1)
  let digits = ''
  for (let digit = TIME_AT; digit < RANDOM_AT; digit++) {
    digits = BASE32[time % 32] + digits
    time = Math.floor(time / 32)
  }
  return `gen-${digits}${'0'.repeat(WHOLE_CHARS - RANDOM_AT)}`
}

/** Whether the id of a generation is that of a part of a request. */
export function isPart(id: string): boolean {
  return id.length > WHOLE_CHARS
}

/** The id of the request that it is a part of. */
export function wholeId(id: string): string {
  return id.slice(0, WHOLE_CHARS)
}

/** Which part it is; not a number for what is none. */
export function partNumber(id: string): number {
  return Number(id.slice(WHOLE_CHARS + 1))
}

let lastPrefix = ''
let lastTime = 0

/**
 * The same for an id of ours that stands in a line from `at` on: nearly all have their time in common with the
 * last.
 */
export function readGenerationTime(line: string, at: number): number {
  if (lastPrefix !== '' && line.startsWith(lastPrefix, at)) return lastTime
  const prefix = line.slice(at, at + RANDOM_AT)
  let time = 0
  for (let digit = TIME_AT; digit < RANDOM_AT; digit++) time = time * 32 + BASE32.indexOf(prefix[digit]!)
  lastPrefix = prefix
  lastTime = time
  return time
}

/** Number of the UTC hour that `unixMs` lies in. */
export function hourAt(unixMs: number): number {
  return Math.floor(unixMs / HOUR_MS)
}

/** Unix time in milliseconds at which an hour begins. */
export function hourStart(hour: number): number {
  return hour * HOUR_MS
}

/** Number of the time slot that `unixMs` lies in. */
export function timeSlotAt(unixMs: number): number {
  return Math.floor(unixMs / TIME_SLOT_MS)
}

/** Unix time in milliseconds at which a time slot begins. */
export function slotStart(slot: number): number {
  return slot * TIME_SLOT_MS
}
