import { type Clock, sleep } from './clock.js'

/**
 * Work whose result many may want at once. There is one round at a time, begun at most once in `periodMs`; who asks
 * while it is under way gets the result of the next. So no result is older than the question, one caller alone never
 * waits, and a flood of questions costs no more than the rounds. The result rejects as the work does.
 */
export function shareRounds<T>(work: () => Promise<T>, periodMs: number, clock: Clock): () => Promise<T> {
  let latest: Promise<unknown> = Promise.resolve()
  let begunAt = Number.NEGATIVE_INFINITY
  /** The round that has not begun yet. */
  let next: Promise<T> | null = null
  const playRound = async (): Promise<T> => {
    await latest.catch(() => {})
    const waitMs = begunAt + periodMs - clock.monotonicMs()
    if (waitMs > 0) await sleep(waitMs, clock)
    next = null
    begunAt = clock.monotonicMs()
    const round = work()
    latest = round
    return round
  }
  return () => (next ??= playRound())
}
