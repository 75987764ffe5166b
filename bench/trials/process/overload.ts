import { median } from '../../harness/figures/statistics.js'
import { onGeneratorCore } from '../../harness/machine/pinning.js'
import { quietRounds } from '../disturbance.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialOutcome,
} from '../trial.js'
import { type OverloadRound, overloadRound } from './overload-round.js'

type RoundValue = (round: OverloadRound) => number

function residentAt(second: number): RoundValue {
  return ({ resident }) => resident.at(second) ?? Number.NaN
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const measure = (): Promise<OverloadRound> => onGeneratorCore(context.cores, () => overloadRound(context))
  const { kept, figures, notes } = await quietRounds(context, measure)
  const total = (value: RoundValue): number => kept.reduce((sum, round) => sum + value(round), 0)
  const middle = (value: RoundValue): number => median(kept.map(value))
  const worst = (value: RoundValue): number => Math.max(...kept.map(value))
  const refused = total((one) => one.refused)
  const others = total((one) => one.otherAnswers)
  const lost = total((one) => one.lost)
  const badRefusals = total((one) => one.badRefusals)
  const accepted = middle((one) => one.accepted / one.capacity)
  const growth = worst((one) => residentAt(-1)(one) - residentAt(5)(one))
  const recovered = worst((one) => one.recoveredMs)
  return {
    bars: [
      exactly('answers other than 200 and 503', others, 0),
      exactly('requests without an answer', lost, 0),
      exactly('503 without an integer Retry-After', badRefusals, 0),
      atLeast('503 answers (else there was no overload)', refused, 1),
      atLeast('accepted rate / capacity', accepted, 0.9),
      atMost('growth of resident memory, 5 s to 20 s', growth, 32, 'MiB'),
      atMost('back to 1.5 times the unloaded latency', recovered, 2_000, 'ms'),
    ],
    figures: [
      ...METERS.map(([name, value, unit]) => figure(name, middle(value), unit)),
      figure(
        'slowest accepted answer',
        worst((one) => one.slowestAcceptedMs),
        'ms',
      ),
      ...figures,
    ],
    notes,
  }
}

/** Medians over the rounds that explain the bars. */
const METERS: readonly (readonly [name: string, value: RoundValue, unit: string])[] = [
  ['capacity before', (one) => one.capacityBefore, '/s'],
  ['capacity after', (one) => one.capacityAfter, '/s'],
  ['accepted', (one) => one.accepted, '/s'],
  ['offered', (one) => one.offered, '/s'],
  ['due but not offered, every connection busy', (one) => one.notOffered, ''],
  ['refused with 503', (one) => one.refused, ''],
  ['connections', (one) => one.connections, ''],
  ['hashes by CPU time at capacity', (one) => one.calmPerCpu, '/s'],
  ['hashes by CPU time under overload', (one) => one.loadedPerCpu, '/s'],
  ['server CPU of a refusal', (one) => one.refusalUs, 'µs'],
  ['unloaded hash p50', (one) => one.calmMs, 'ms'],
  ['resident at the start', residentAt(0), 'MiB'],
  ['resident at 10 s', residentAt(10), 'MiB'],
  ['resident at the end', residentAt(-1), 'MiB'],
  ['requests sent late, p99', (one) => one.lateMs, 'ms'],
]

export const overload: Trial = {
  name: 'overload',
  summary: 'ten times the hash capacity for 20 s: 200 or 503 only, 90 % of the capacity served, memory flat',
  rounds: 1,
  roundLimitS: 360,
  run,
}
