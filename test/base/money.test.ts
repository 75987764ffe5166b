import { test } from 'tap'
import { checkedNanos, nanosPerMillion, nanosToDollars } from '../../src/base/money.js'

const TEXTS = [
  ['0', 0],
  ['0.000003', 3_000_000_000],
  ['0.0000000375', 37_500_000],
  ['0.000000000000001', 1],
  ['0.0000000000000010', 1],
  ['1', 10 ** 15],
] as const

for (const [text, nanos] of TEXTS) {
  test(`${text} dollars a token are ${nanos} nano-dollars a million tokens`, async (t) => {
    t.equal(nanosPerMillion(text), nanos)
  })
}

for (const text of ['', '-1', '+1', '1e-6', '.5', '5.', ' 1', '1,5', 'NaN', '0.0000000000000001', '10']) {
  test(`"${text}" is no price`, async (t) => {
    t.equal(nanosPerMillion(text), null)
  })
}

test('money goes on the wire in dollars', async (t) => {
  t.equal(nanosToDollars(1_500_000_000), 1.5)
  t.equal(nanosToDollars(1), 1e-9)
})

test('money is a whole number of nano-dollars from 0 on that can be added up exactly, and nothing else', async (t) => {
  for (const nanos of [0, 1, Number.MAX_SAFE_INTEGER]) t.equal(checkedNanos(nanos), nanos)
  for (const nanos of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => checkedNanos(nanos), RangeError)
  }
})
