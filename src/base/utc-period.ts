/** Periods of the calendar, in UTC: days, weeks from Monday on, months. */

export const CALENDAR_PERIODS = ['daily', 'weekly', 'monthly'] as const
export type CalendarPeriod = (typeof CALENDAR_PERIODS)[number]

const DAY_MS = 24 * 60 * 60 * 1000
/** 1 January 1970 was a Thursday. */
const DAYS_SINCE_MONDAY = 3

/** Number of the period that a moment lies in; consecutive periods have consecutive numbers. */
export function periodNumber(period: CalendarPeriod, unixMs: number): number {
  const day = Math.floor(unixMs / DAY_MS)
  if (period === 'daily') return day
  if (period === 'weekly') return Math.floor((day + DAYS_SINCE_MONDAY) / 7)
  const date = new Date(unixMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** When the next period begins, in Unix milliseconds. */
export function nextPeriodAt(period: CalendarPeriod, unixMs: number): number {
  const number = periodNumber(period, unixMs) + 1
  if (period === 'daily') return number * DAY_MS
  if (period === 'weekly') return (number * 7 - DAYS_SINCE_MONDAY) * DAY_MS
  return Date.UTC(Math.floor(number / 12), number % 12)
}
