/** Work on large bodies, cut into steps that other calls run between. */

/** A body from this size on is large, in bytes. */
export const LARGE_BYTES = 256 * 1024

/** Takes what a turn has taken, in milliseconds. */
type TurnAccount = (ms: number) => void

const nobodysAccount: TurnAccount = () => {}

interface LargeStep {
  readonly run: () => void
  readonly account: TurnAccount
}

const waiting: LargeStep[] = []
let isScheduled = false
/** On which the turn under way goes. */
let account = nobodysAccount
let beganAt = 0
let usedBefore = process.cpuUsage()

/**
 * Runs a step of such work, which must not throw, in a turn of the event loop in which no other one runs: all that is
 * due in one turn runs before anybody else gets a word, so two steps in it would be one that is twice as long. It goes on
 * the account of the turn that asks for it.
 */
export function runInLargeTurn(run: () => void): void {
  waiting.push({ run, account })
  if (!isScheduled) scheduleTurn()
}

/** Resolves in such a turn. */
export function largeTurn(): Promise<void> {
  return new Promise(runInLargeTurn)
}

/** Within such a turn: it goes on that account, and so do those that are asked for in it. */
export function chargeTurn(to: TurnAccount): void {
  account = to
}

/** The second runs behind all that the promises of the step do, and before anything else. */
function scheduleTurn(): void {
  isScheduled = true
  setImmediate(runStep)
  setImmediate(endTurn)
}

function runStep(): void {
  const step = waiting.shift()!
  account = step.account
  beganAt = performance.now()
  usedBefore = process.cpuUsage()
  step.run()
}

function endTurn(): void {
  const { user, system } = process.cpuUsage(usedBefore)
  const charge = account
  account = nobodysAccount
  isScheduled = false
  if (waiting.length > 0) scheduleTurn()
  // On a busy machine this process may not have had the core for all that time; the pool's threads count as well.
  charge(Math.min(performance.now() - beganAt, (user + system) / 1000))
}
