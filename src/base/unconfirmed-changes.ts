/**
 * What a call hears of the changes it makes, past all that lies between them: which machines have not confirmed them.
 * A change belongs to the call in whose course it was asked for, also where several go as one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

type Witness = (machines: readonly string[]) => void

const CALLS = new AsyncLocalStorage<Set<string>>()
const NOBODY: Witness = () => {}
/** Following a call costs every promise of the process, so it ends with the last call that is followed. */
let followed = 0

/** Does `work`, and tells which machines have not confirmed what was changed in its course; mostly none. */
export async function collectUnconfirmed<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly machines: readonly string[] }> {
  const machines = new Set<string>()
  followed++
  try {
    const result = await CALLS.run(machines, work)
    return { result, machines: [...machines] }
  } finally {
    if (--followed === 0) CALLS.disable()
  }
}

/** Of the call that runs now: to be told, when it is known, who has not confirmed a change of its own. */
export function changeWitness(): Witness {
  const collected = CALLS.getStore()
  if (collected === undefined) return NOBODY
  return (machines) => {
    for (const machine of machines) collected.add(machine)
  }
}
