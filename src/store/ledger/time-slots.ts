/** The stretches of time by which the ledger sorts its rows and its sums. */

const HOUR_MS = 60 * 60 * 1000
/** Rows whose generations began within so many milliseconds share their blocks. */
const TIME_SLOT_MS = 64

/** Number of the UTC hour that `unixMs` lies in. */
export function hourOf(unixMs: number): number {
  return Math.floor(unixMs / HOUR_MS)
}

/** Unix time in milliseconds at which an hour begins. */
export function hourStart(hour: number): number {
  return hour * HOUR_MS
}

/** Number of the moment that `unixMs` lies in. */
export function timeSlotAt(unixMs: number): number {
  return Math.floor(unixMs / TIME_SLOT_MS)
}
