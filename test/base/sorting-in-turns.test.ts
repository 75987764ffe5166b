import fc from 'fast-check'
import { test } from 'tap'
import { sortInTurns } from '../../src/base/sorting-in-turns.js'

test('sorts as the engine does, and keeps the order of equals', async (t) => {
  const element = fc.record({ key: fc.integer({ min: 0, max: 9 }), mark: fc.nat() })
  await fc.assert(
    fc.asyncProperty(fc.array(element, { maxLength: 700 }), async (list) => {
      const before = [...list]
      const sorted = await sortInTurns(list, (a, b) => a.key - b.key)
      t.strictSame(
        sorted,
        list.toSorted((a, b) => a.key - b.key),
      )
      t.strictSame(list, before, 'the list itself stays as it is')
    }),
    { numRuns: 100 },
  )
})
