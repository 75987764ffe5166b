import fc from 'fast-check'
import { test } from 'tap'
import { CALENDAR_PERIODS, nextPeriodAt, periodNumber } from '../../src/base/utc-period.js'

const at = (text: string): number => Date.parse(text)

test('days, weeks and months begin at midnight UTC; weeks on Monday', (t) => {
  for (const [period, first, last, next] of [
    ['daily', '2026-03-01T00:00:00Z', '2026-03-01T23:59:59.999Z', '2026-03-02T00:00:00Z'],
    ['weekly', '2026-11-16T00:00:00Z', '2026-11-22T23:59:59.999Z', '2026-11-23T00:00:00Z'],
    ['monthly', '2028-02-01T00:00:00Z', '2028-02-29T23:59:59.999Z', '2028-03-01T00:00:00Z'],
    ['monthly', '2026-12-01T00:00:00Z', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00Z'],
  ] as const) {
    const number = periodNumber(period, at(first))
    t.equal(periodNumber(period, at(last)), number, `${period} ${last}`)
    t.equal(periodNumber(period, at(first) - 1), number - 1)
    t.equal(periodNumber(period, at(next)), number + 1)
    for (const moment of [first, last]) t.equal(nextPeriodAt(period, at(moment)), at(next))
  }
  t.end()
})

test('the next period begins where the number changes, whenever one asks', (t) => {
  fc.assert(
    fc.property(fc.constantFrom(...CALENDAR_PERIODS), fc.integer({ min: 0, max: 4e12 }), (period, now) => {
      const next = nextPeriodAt(period, now)
      t.ok(next > now)
      t.equal(periodNumber(period, next), periodNumber(period, now) + 1)
      t.equal(periodNumber(period, next - 1), periodNumber(period, now))
    }),
  )
  t.end()
})
