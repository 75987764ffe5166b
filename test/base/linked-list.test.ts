import fc from 'fast-check'
import { test } from 'tap'
import { LinkedList, LinkedNode } from '../../src/base/linked-list.js'

class Thing extends LinkedNode {
  constructor(readonly name: number) {
    super()
  }
}

test('a list holds what a set would hold, whatever comes and goes', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(9))), (steps) => {
      const things = Array.from({ length: 10 }, (_, name) => new Thing(name))
      const list = new LinkedList<Thing>()
      const set = new Set<Thing>()
      for (const [comes, name] of steps) {
        const thing = things[name]!
        if (!comes) list.delete(thing)
        else if (!set.has(thing)) list.add(thing)
        if (comes) set.add(thing)
        else set.delete(thing)
        const names = (all: Iterable<Thing>): number[] => Array.from(all, (each) => each.name).sort()
        t.strictSame(names(list.members()), names(set))
        t.equal(list.size, set.size)
      }
    }),
    { numRuns: 50 },
  )
})

test('a member that was taken out points to nobody', async (t) => {
  const list = new LinkedList<Thing>()
  const things = [new Thing(1), new Thing(2), new Thing(3)]
  for (const thing of things) list.add(thing)
  list.delete(things[1]!)
  t.same([things[1]!.list, things[1]!.previous, things[1]!.next], [null, null, null])
})

test('taking out of another list does nothing', async (t) => {
  const one = new LinkedList<Thing>()
  const other = new LinkedList<Thing>()
  const thing = new Thing(1)
  one.add(thing)
  other.delete(thing)
  t.same([one.size, other.size], [1, 0])
})
