/** Work on large bodies, cut into steps that other calls run between. */

/** A body from this size on is large, in bytes. */
export const LARGE_BYTES = 256 * 1024

const waiting: (() => void)[] = []

/**
 * Runs a step of such work, which must not throw, in a turn of the event loop in which no other one runs: all that is
 * due in one turn runs before anybody else gets a word, so two steps in it would be one that is twice as long.
 */
export function runInLargeTurn(step: () => void): void {
  waiting.push(step)
  if (waiting.length === 1) setImmediate(runNext)
}

/** Resolves in such a turn. */
export function largeTurn(): Promise<void> {
  return new Promise(runInLargeTurn)
}

function runNext(): void {
  const step = waiting.shift()!
  if (waiting.length > 0) setImmediate(runNext)
  step()
}
