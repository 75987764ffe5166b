import { test } from 'tap'
import { countJsonValues } from '../../../src/gateway/formats/json-values.js'

const TEXTS: readonly (readonly [text: string, atLeast: number])[] = [
  ['{}', 2],
  ['{"a":[1,2,{"b":null}]}', 6],
  ['{"a":"[[[[,,,,{{{{"}', 2],
  [String.raw`{"a":"\"[,\\","b":1}`, 3],
]

for (const [text, count] of TEXTS) {
  test(`values are counted outside of strings: ${text}`, async (t) => {
    JSON.parse(text)
    t.equal(countJsonValues(text, 1_000), count)
  })
}

test('counting ends soon after the bound, and at a hundred levels', async (t) => {
  t.equal(countJsonValues('['.repeat(50), 10), 11)
  t.equal(countJsonValues('['.repeat(100), 1_000), 101)
  t.equal(countJsonValues('['.repeat(101), 1_000), Number.POSITIVE_INFINITY)
  t.equal(countJsonValues('[]'.repeat(200), 1_000), 201)
})
