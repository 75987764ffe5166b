/** From texts to numbers and times and back, as CEL asks for: strictly, and the same in every implementation. */
import {
  Duration,
  intOf,
  MAX_INT,
  MIN_INT,
  NO_CONVERSION,
  OUT_OF_RANGE,
  Timestamp,
  type Uint,
  uintOf,
} from './value.js'

const BILLION = 1_000_000_000n
/** Digits of the longest whole number; leading zeros beyond it serve nobody. */
const WHOLE = /^[+-]?[0-9]{1,40}$/
const UNSIGNED = /^[0-9]{1,40}$/
const REAL = /^[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)$/i
/** Longest text that is read as a number or a time. */
const LONGEST = 64

export function intOfText(text: string): bigint {
  if (!WHOLE.test(text)) throw NO_CONVERSION
  return intOf(text.startsWith('+') ? BigInt(text.slice(1)) : BigInt(text))
}

export function uintOfText(text: string): Uint {
  if (!UNSIGNED.test(text)) throw NO_CONVERSION
  return uintOf(BigInt(text))
}

export function doubleOfText(text: string): number {
  if (text.length > LONGEST || !REAL.test(text)) throw NO_CONVERSION
  const word = text.toLowerCase().replace(/^[+-]/, '')
  if (word === 'nan') return Number.NaN
  const isInfinity = word.startsWith('inf')
  const value = isInfinity ? Number.POSITIVE_INFINITY : Number(word)
  if (value === Number.POSITIVE_INFINITY && !isInfinity) throw OUT_OF_RANGE
  return text.startsWith('-') ? -value : value
}

const TRUE_WORDS = ['1', 't', 'true', 'TRUE', 'True']
const FALSE_WORDS = ['0', 'f', 'false', 'FALSE', 'False']

export function boolOfText(text: string): boolean {
  if (TRUE_WORDS.includes(text)) return true
  if (FALSE_WORDS.includes(text)) return false
  throw NO_CONVERSION
}

/** Toward zero. */
export function intOfDouble(value: number): bigint {
  if (!Number.isFinite(value)) throw OUT_OF_RANGE
  return intOf(BigInt(Math.trunc(value)))
}

export function uintOfDouble(value: number): Uint {
  if (!Number.isFinite(value) || value < 0) throw OUT_OF_RANGE
  return uintOf(BigInt(Math.trunc(value)))
}

/** The shortest text that reads as the same number; with an exponent below 10^-4 and from 10^6 on. */
export function textOfDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (Object.is(value, -0)) return '-0'
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return `${value}`
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function textOfBytes(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes)
  } catch {
    throw NO_CONVERSION
  }
}

// ── Times ───────────────────────────────────────────────────────────────────

const FIRST_SECOND = -62_135_596_800n
const LAST_SECOND = 253_402_300_799n
/** RFC 3339 section 5.6, in capitals. */
const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/

export function timestampOfNanos(nanos: bigint): Timestamp {
  const seconds = floorDivide(nanos, BILLION)
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND) throw OUT_OF_RANGE
  return new Timestamp(nanos)
}

export function timestampOfText(text: string): Timestamp {
  const found = text.length <= LONGEST ? RFC_3339.exec(text) : null
  if (found === null) throw NO_CONVERSION
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number)
  const [, , , , , , , fraction = '', sign = '+', zoneHours = '0', zoneMinutes = '0'] = found
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  const isDate = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && year > 0
  if (!isDate || hour > 23 || minute > 59 || second > 59) throw NO_CONVERSION
  const offset = Number(zoneHours) * 60 + Number(zoneMinutes)
  if (Number(zoneHours) > 23 || Number(zoneMinutes) > 59) throw NO_CONVERSION
  const minutes = hour * 60 + minute - (sign === '-' ? -offset : offset)
  const seconds = BigInt(date.getTime() / 1000 + minutes * 60 + second)
  return timestampOfNanos(seconds * BILLION + BigInt(fraction.padEnd(9, '0')))
}

export function textOfTimestamp({ nanos }: Timestamp): string {
  const seconds = floorDivide(nanos, BILLION)
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  return `${whole}${fractionText(nanos - seconds * BILLION)}Z`
}

/** Seconds since the epoch; toward the past. */
export function secondsOfTimestamp({ nanos }: Timestamp): bigint {
  return floorDivide(nanos, BILLION)
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by
  return value % by < 0n ? quotient - 1n : quotient
}

const UNIT_NANOS: Readonly<Record<string, bigint>> = {
  h: 3600n * BILLION,
  m: 60n * BILLION,
  s: BILLION,
  ms: 1_000_000n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ns: 1n,
}
const DURATION = /^([+-]?)(?:0|((?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|\u03bcs|ms|s|m|h))+))$/
const DURATION_PART = /([0-9]*)\.?([0-9]*)(ns|us|µs|\u03bcs|ms|s|m|h)/g

export function durationOfNanos(nanos: bigint): Duration {
  if (nanos < MIN_INT || nanos > MAX_INT) throw OUT_OF_RANGE
  return new Duration(nanos)
}

/** `1h30m`, `-1.5s`, `0`: numbers with units, largest or smallest first. What is below a nanosecond is dropped. */
export function durationOfText(text: string): Duration {
  const found = text.length <= LONGEST ? DURATION.exec(text) : null
  if (found === null) throw NO_CONVERSION
  let nanos = 0n
  for (const [, whole = '', fraction = '', unit = ''] of (found[2] ?? '').matchAll(DURATION_PART)) {
    const scale = 10n ** BigInt(fraction.length)
    nanos += (BigInt(`${whole}${fraction}`) * UNIT_NANOS[unit]!) / scale
  }
  return durationOfNanos(found[1] === '-' ? -nanos : nanos)
}

export function textOfDuration({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos
  return `${nanos < 0n ? '-' : ''}${size / BILLION}${fractionText(size % BILLION)}s`
}

function fractionText(nanos: bigint): string {
  return nanos === 0n ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`
}

/** The parts of a duration that CEL tells; the milliseconds are those beyond the seconds. */
export function durationPart(
  part: 'hours' | 'minutes' | 'seconds' | 'milliseconds',
  value: Duration,
): bigint {
  const { nanos } = value
  if (part === 'hours') return nanos / UNIT_NANOS.h!
  if (part === 'minutes') return nanos / UNIT_NANOS.m!
  return part === 'seconds' ? nanos / BILLION : (nanos / UNIT_NANOS.ms!) % 1000n
}

// ── Calendar ────────────────────────────────────────────────────────────────

const FIXED_ZONE = /^([+-]?)(\d\d):(\d\d)$/

/** What a zone's clocks show at a moment, as the moment at which those of UTC show the same. */
export type ZoneClock = (unixMs: number) => Date

export const UTC: ZoneClock = (unixMs) => new Date(unixMs)

/**
 * Clocks of named zones, by the name in small letters: the engine knows some six hundred names, in any case. One takes
 * a quarter of a millisecond and fifty kilobytes to make, so all conditions of a thread share it.
 */
const namedClocks = new Map<string, ZoneClock>()

/** The clocks of a zone: an offset like `+05:30` or a name of the IANA database; null when nobody knows it. */
export function zoneClock(name: string): ZoneClock | null {
  const [, sign, hours = '', minutes = ''] = FIXED_ZONE.exec(name) ?? []
  if (sign !== undefined) {
    const offset = (Number(hours) * 60 + Number(minutes)) * 60_000
    return Number(hours) > 23 || Number(minutes) > 59
      ? null
      : (unixMs) => new Date(unixMs + (sign === '-' ? -offset : offset))
  }
  // The engine also takes offsets without a colon, which the language has not.
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return null
  const key = name.toLowerCase()
  try {
    const clock = namedClocks.get(key) ?? namedZoneClock(name)
    namedClocks.set(key, clock)
    return clock
  } catch {
    return null
  }
}

const FIELDS = {
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
} as const

function namedZoneClock(timeZone: string): ZoneClock {
  const options = {
    timeZone,
    era: 'short',
    second: 'numeric',
    hourCycle: 'h23',
    calendar: 'gregory',
  } as const
  const format = new Intl.DateTimeFormat('en-US', { ...FIELDS, ...options })
  return (unixMs) => {
    const told: Record<string, string> = {}
    for (const { type, value } of format.formatToParts(unixMs)) told[type] = value
    const shown = new Date(0)
    const year = told.era?.startsWith('B') ? 1 - Number(told.year) : Number(told.year)
    shown.setUTCFullYear(year, Number(told.month) - 1, Number(told.day))
    const millisecond = ((unixMs % 1000) + 1000) % 1000
    shown.setUTCHours(Number(told.hour), Number(told.minute), Number(told.second), millisecond)
    return shown
  }
}

const DAY_MS = 86_400_000

/** The parts of a date that CEL tells, by the name of the function. */
export const CALENDAR: Readonly<Record<string, (shown: Date) => number>> = {
  getFullYear: (shown) => shown.getUTCFullYear(),
  getMonth: (shown) => shown.getUTCMonth(),
  getDate: (shown) => shown.getUTCDate(),
  getDayOfMonth: (shown) => shown.getUTCDate() - 1,
  getDayOfWeek: (shown) => shown.getUTCDay(),
  getDayOfYear: (shown) => {
    const begin = new Date(0)
    begin.setUTCFullYear(shown.getUTCFullYear(), 0, 1)
    return Math.floor((shown.getTime() - begin.getTime()) / DAY_MS)
  },
  getHours: (shown) => shown.getUTCHours(),
  getMinutes: (shown) => shown.getUTCMinutes(),
  getSeconds: (shown) => shown.getUTCSeconds(),
  getMilliseconds: (shown) => shown.getUTCMilliseconds(),
}

/** A part of a moment as clocks of a zone show it. */
export function calendarPart(name: string, { nanos }: Timestamp, clock: ZoneClock): bigint {
  return BigInt(CALENDAR[name]!(clock(Number(floorDivide(nanos, 1_000_000n)))))
}
