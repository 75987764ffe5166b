/** Runs a tool within its time, and lets go of one that does not end. */
import type { Clock } from '../../base/clock.js'
import type { ToolOutcome } from '../tools/port/tool.js'

/** How long an aborted tool has to tidy up and say what it came to. */
const GRACE_MS = 1_000

interface RunBounds {
  /** Wall clock of the call in milliseconds. */
  readonly ms: number
  readonly clock: Clock
  /** Aborted when nobody wants the result any more. */
  readonly signal: AbortSignal
  /** Nano-dollars set aside for the call. */
  readonly fee: number
  readonly onDefect: (error: unknown) => void
}

/**
 * The outcome of `run`; an error as its outcome where it fails, takes too long, or is called off, before it is begun or
 * after. A tool that was begun, called off and does not say what it came to may have asked its backend: it is charged
 * what was set aside, as after a crash. Never rejects, and resolves at the latest a second after the signal or the wall
 * clock.
 */
export function runWithin(
  run: (signal: AbortSignal) => Promise<ToolOutcome>,
  { ms, clock, signal, fee, onDefect }: RunBounds,
): Promise<ToolOutcome> {
  const controller = new AbortController()
  return new Promise((resolve) => {
    let stopGrace: (() => void) | null = null
    const end = (outcome: ToolOutcome): void => {
      stopClock()
      stopGrace?.()
      signal.removeEventListener('abort', leave)
      resolve(outcome)
    }
    const abort = (why: string): void => {
      if (controller.signal.aborted) return
      controller.abort(new Error(why))
      stopGrace = clock.runAfter(GRACE_MS, () => end(lost(why)))
    }
    const lost = (why: string): ToolOutcome => ({ ...failed(why), executed: true, charged: fee })
    const leave = (): void => abort('the call was cancelled')
    const stopClock = clock.runAfter(ms, () => abort(`it took longer than ${Math.round(ms / 1000)} s`))
    signal.addEventListener('abort', leave, { once: true })
    const fail = (error: unknown): void => {
      const { aborted, reason } = controller.signal
      if (!aborted) onDefect(error)
      end(aborted ? lost(reason.message) : failed('the tool has failed'))
    }
    if (signal.aborted) {
      end(failed('the call was cancelled'))
      return
    }
    try {
      run(controller.signal).then(end, fail)
    } catch (error) {
      fail(error)
    }
  })
}

function failed(why: string): ToolOutcome {
  return { content: { error: why }, isError: true, executed: false, charged: 0 }
}
