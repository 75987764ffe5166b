/** Which repetitions were disturbed: the only rule by which one is thrown away, applied before any result is looked at. */
import { median } from '../../harness/figures/statistics.js'
import type { Repetition } from '../report/repetition.js'

/** A loop at its own pace that got this share less of a core than its peers was not alone on it. */
const DISTURBED_SHARE = 0.05
/** Fewer peers have no median that one could be held against. */
const LEAST_PEERS = 3

interface DiscardedRepetition {
  readonly repetition: Repetition
  readonly reason: string
}

/**
 * Splits repetitions by V10: at a tool's own pace, less generator CPU by 5 % than the median of its peers (same tool,
 * same scenario). Paced runs use as much CPU as their rate needs, so there less is no sign.
 */
export function discardDisturbed(repetitions: readonly Repetition[]): {
  readonly kept: Repetition[]
  readonly discarded: DiscardedRepetition[]
} {
  const kept: Repetition[] = []
  const discarded: DiscardedRepetition[] = []
  for (const repetition of repetitions) {
    const reason = disturbanceReason(repetition, peerRepetitions(repetition, repetitions))
    if (reason === null) kept.push(repetition)
    else discarded.push({ repetition, reason })
  }
  return { kept, discarded }
}

function peerRepetitions(one: Repetition, all: readonly Repetition[]): Repetition[] {
  return all.filter(
    ({ tool, scenario, failure }) => tool === one.tool && scenario === one.scenario && failure === undefined,
  )
}

function disturbanceReason(one: Repetition, peers: readonly Repetition[]): string | null {
  if (one.failure !== undefined || one.report.rate !== undefined || peers.length < LEAST_PEERS) return null
  const middle = median(peers.map(({ cpu }) => cpu.generator))
  const share = one.cpu.generator
  // Below that the tool was waiting for the server, and its share says nothing about others on its core.
  if (middle < 0.8 || share >= middle * (1 - DISTURBED_SHARE)) return null
  return `V10: ${one.tool} in ${one.scenario}, round ${one.round}, got ${share.toFixed(2)} of a core, its peers ${middle.toFixed(2)}`
}
