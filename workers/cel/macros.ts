/** How macros run over a list or the keys of a map (CEL language definition, "Macros"). */
import type { CelMap, CelProgram, CelScope, CelValue } from './value.js'

/** From the program of the range and those of the expressions to that of the whole. */
type Iteration = (range: CelProgram, bodies: readonly CelProgram[]) => CelProgram

function itemsOf(range: CelProgram, scope: CelScope): readonly CelValue[] {
  const over = range(scope) as CelMap | readonly CelValue[]
  return over instanceof Map ? [...over.values()].map(({ key }) => key) : (over as readonly CelValue[])
}

/** The value of an expression for one item. */
function valueFor(body: CelProgram, scope: CelScope, item: CelValue): CelValue {
  scope.item = item
  return body(scope)
}

/** `decisive` when a test has this value, also beside others that err; else its opposite, or the first error. */
export function decide<T>(over: readonly T[], decisive: boolean, test: (one: T) => CelValue): boolean {
  let failure: unknown = null
  for (const one of over) {
    try {
      if (test(one) === decisive) return decisive
    } catch (error) {
      failure ??= error
    }
  }
  if (failure !== null) throw failure
  return !decisive
}

const quantifier =
  (decisive: boolean): Iteration =>
  (range, [test]) =>
  (scope) =>
    decide(itemsOf(range, scope), decisive, (item) => valueFor(test!, scope, item))

const selection: Iteration =
  (range, [test]) =>
  (scope) =>
    itemsOf(range, scope).filter((item) => valueFor(test!, scope, item) === true)

const transformation: Iteration = (range, bodies) => {
  const [make, test] = bodies.toReversed()
  return (scope) => {
    const made: CelValue[] = []
    for (const item of itemsOf(range, scope)) {
      if (test === undefined || valueFor(test, scope, item) === true) made.push(valueFor(make!, scope, item))
    }
    return made
  }
}

/** By the name of the macro. */
export const ITERATIONS: ReadonlyMap<string, Iteration> = new Map([
  ['all', quantifier(false)],
  ['exists', quantifier(true)],
  [
    'exists_one',
    (range, bodies) => {
      const select = selection(range, bodies)
      return (scope) => (select(scope) as readonly CelValue[]).length === 1
    },
  ],
  ['filter', selection],
  ['map', transformation],
])
