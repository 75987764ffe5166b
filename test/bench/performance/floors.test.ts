import { test } from 'tap'
import { frozenFloorSources, hashFloorSources } from '../../../bench/performance/floor-sources.js'

test('the floors are those that were frozen', async (t) => {
  const hashes = hashFloorSources()
  t.ok(Object.keys(hashes).length > 4, 'what they import is among them')
  // Ratios of before cannot be compared with those of another floor: a change goes with its reason into bench/RESULTS.md.
  t.same(hashes, frozenFloorSources(), 'bench/floors.json')
})
