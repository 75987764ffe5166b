/** Sorting of long lists, which must not hold the event loop. */
import { TurnSlices } from './turn-slices.js'

/** Elements that are sorted at once; a comparison takes a microsecond or a few. */
const RUN = 128

/** A stable sort: runs, then merges of two and two, in turns. */
export async function sortInTurns<T>(
  list: readonly T[],
  compare: (a: T, b: T) => number,
): Promise<readonly T[]> {
  const slices = new TurnSlices()
  let runs: T[][] = []
  for (let from = 0; from < list.length; from += RUN) {
    runs.push(list.slice(from, from + RUN).sort(compare))
    if (slices.isOver) await slices.next()
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [one, two = []] = [runs[at]!, runs[at + 1]]
      merged.push(await merge(one, two, compare, slices))
    }
    runs = merged
  }
  return runs[0] ?? []
}

async function merge<T>(
  one: readonly T[],
  two: readonly T[],
  compare: (a: T, b: T) => number,
  slices: TurnSlices,
): Promise<T[]> {
  const merged: T[] = []
  let [first, second] = [0, 0]
  while (first < one.length && second < two.length) {
    // Of equals the one that came first stays first.
    const takesFirst = compare(one[first]!, two[second]!) <= 0
    merged.push(takesFirst ? one[first++]! : two[second++]!)
    if (merged.length % RUN === 0 && slices.isOver) await slices.next()
  }
  while (first < one.length) merged.push(one[first++]!)
  while (second < two.length) merged.push(two[second++]!)
  return merged
}
