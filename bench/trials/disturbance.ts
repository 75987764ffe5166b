/**
 * Other programs on the machine spoil a figure without leaving a trace in it. So every pinned measurement also asks how
 * much of its two cores somebody else took, and a round with too much of that is measured again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readMachineCpuMs } from '../../src/base/machine-cpu.js'
import type { CorePlan } from '../harness/machine/pinning.js'
import { cpuMs, ownCpuMs } from '../harness/machine/proc.js'
import { figure, type TrialContext, type TrialFigure } from './trial.js'

/**
 * A round is disturbed when others had more than this share of either core. Strict, because what takes one per cent
 * of the time can be all there is to see in a p99.
 */
const TOLERATED = 0.01
/** Below this the machine is quiet enough to begin. */
const CALM = 0.05
const QUIET_WAIT_MS = 60_000
/** Rounds tried for each round wanted. */
const PATIENCE = 3

/**
 * Begins to watch both cores. `serverMs` returns the CPU time so far of everything that belongs on the server's
 * core, `besideMs` that of what belongs on the generator's core beside it. The returned function ends the watch and
 * says which share others had of the more disturbed core, 0 to 1; 0 when nothing is pinned, since then nothing can be
 * told.
 */
export function watchCores(
  plan: CorePlan | null,
  serverMs: () => number,
  besideMs: () => number = () => 0,
): () => number {
  if (!plan) return () => 0
  const coreBusyMs = (core: number): number => readMachineCpuMs(core) ?? 0
  const begin = performance.now()
  const generatorMs = (): number => coreBusyMs(plan.generator) - ownCpuMs() - besideMs()
  const server = coreBusyMs(plan.server) - serverMs()
  const generator = generatorMs()
  return () => {
    const elapsed = performance.now() - begin
    const others = [coreBusyMs(plan.server) - serverMs() - server, generatorMs() - generator]
    return Math.max(0, ...others) / elapsed
  }
}

/** The same for processes: those on the server's core and those beside the generator. */
export function watchProcesses(
  { cores }: TrialContext,
  server: readonly number[],
  beside: readonly number[] = [],
): () => number {
  return watchCores(
    cores,
    () => cpuMs(server),
    () => cpuMs(beside),
  )
}

/** Waits until both cores have been nearly idle for a second, so that a round is not begun in vain; at most a minute. */
async function awaitQuiet(plan: CorePlan | null, progress: (line: string) => void): Promise<void> {
  const limit = performance.now() + QUIET_WAIT_MS
  for (let quietWindows = 0, told = false; plan && quietWindows < 2 && performance.now() < limit; ) {
    const end = watchCores(plan, () => 0)
    await sleep(500)
    const busy = end()
    quietWindows = busy <= CALM ? quietWindows + 1 : 0
    if (quietWindows === 0 && !told) {
      told = true
      progress(`waiting for the machine to become quiet, now ${formatPercent(busy)} of a core is taken`)
    }
  }
}

/** A measured round and the share of its cores that others had. */
export interface WatchedRound {
  readonly disturbed: number
}

/** The rounds worth judging, and how many were thrown away. */
export interface QuietRounds<T> {
  readonly kept: readonly T[]
  readonly figures: readonly TrialFigure[]
  readonly notes: readonly string[]
}

/**
 * Measures until `context.rounds` undisturbed rounds are there. Which rounds count is decided by the disturbance
 * alone, before anybody looks at the result. When the machine is never quiet enough, the quietest rounds count and
 * a note says so. `line` is told of each.
 */
export async function quietRounds<T extends WatchedRound>(
  context: TrialContext,
  measure: (number: number) => Promise<T>,
  line: (round: T) => string,
): Promise<QuietRounds<T>> {
  const all: T[] = []
  const quiet = (): T[] => all.filter((one) => one.disturbed <= TOLERATED)
  while (quiet().length < context.rounds && all.length < context.rounds * PATIENCE) {
    await awaitQuiet(context.cores, context.progress)
    const one = await measure(all.length + 1)
    all.push(one)
    const disturbed =
      one.disturbed > TOLERATED ? `; disturbed: others had ${formatPercent(one.disturbed)} of a core` : ''
    context.progress(`round ${all.length}: ${line(one)}${disturbed}`)
  }
  const enough = quiet().length >= context.rounds
  const kept = [...all].sort((a, b) => a.disturbed - b.disturbed).slice(0, context.rounds)
  const worst = Math.max(...kept.map((one) => one.disturbed))
  return {
    kept,
    figures: [
      figure('rounds discarded as disturbed', all.length - kept.length),
      figure('largest share of a core others had in the rounds kept', worst),
    ],
    notes: enough
      ? []
      : [`the machine was not quiet: others had ${formatPercent(worst)} of a core in a round kept`],
  }
}

const formatPercent = (share: number): string => `${(share * 100).toFixed(1)} %`
