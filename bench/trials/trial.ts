/** What a trial is: rounds of something that has to hold, figures of them, and bars that decide. */
import { median } from '../harness/figures/statistics.js'
import type { CorePlan } from '../harness/machine/pinning.js'
import type { Staging } from './staging.js'

/** A measured number worth printing. */
export interface TrialFigure {
  readonly name: string
  readonly value: number
  readonly unit: string
}

/** A figure that decides, with the limit it was held against. */
export interface TrialBar extends TrialFigure {
  readonly limit: string
  readonly met: boolean
}

/** What a trial found. */
export interface TrialOutcome {
  readonly bars: readonly TrialBar[]
  readonly figures?: readonly TrialFigure[]
  /** Sentences that explain a figure or name single violations. */
  readonly notes?: readonly string[]
}

/** What a trial is given to work with. */
export interface TrialContext {
  readonly rounds: number
  readonly staging: Staging
  /** Null when servers and generator cannot be held on cores of their own. */
  readonly cores: CorePlan | null
  /** One line for the person who waits. */
  progress(line: string): void
}

/** One trial: its name on the command line, what it proves, and how to run it. */
export interface Trial {
  readonly name: string
  readonly summary: string
  /** Rounds when the caller does not say. */
  readonly rounds: number
  /** The longest one round may take before the whole run is given up, seconds. */
  readonly roundLimitS: number
  /** This process is held on the generator's core while the trial runs. */
  readonly pinned?: true
  run(context: TrialContext): Promise<TrialOutcome>
}

/** A plain figure. */
export const figure = (name: string, value: number, unit = ''): TrialFigure => ({ name, value, unit })

/** Met when `value` is strictly below `limit`. */
export function below(name: string, value: number, limit: number, unit = ''): TrialBar {
  return { name, value, unit, limit: `< ${limit}`, met: value < limit }
}

/** Met when `value` is at most `limit`. */
export function atMost(name: string, value: number, limit: number, unit = ''): TrialBar {
  return { name, value, unit, limit: `<= ${limit}`, met: value <= limit }
}

/** Met when `value` is at least `limit`. */
export function atLeast(name: string, value: number, limit: number, unit = ''): TrialBar {
  return { name, value, unit, limit: `>= ${limit}`, met: value >= limit }
}

/** Met when `value` is `due`, exactly. */
export function exactly(name: string, value: number, due: number, unit = ''): TrialBar {
  return { name, value, unit, limit: `= ${due}`, met: value === due }
}

/** Met when `value` is at most `spread` away from `due`. */
export function near(name: string, value: number, due: number, spread: number, unit = ''): TrialBar {
  return { name, value, unit, limit: `${due} ± ${spread}`, met: Math.abs(value - due) <= spread }
}

/** A number of a round: the name of a member, or a function of the round. */
export type RoundValue<T> =
  | ((round: T) => number)
  | { [K in keyof T]-?: T[K] extends number ? K : never }[keyof T]

/** Numbers of several rounds, made one. */
export function over<T>(rounds: readonly T[]) {
  const values = (of: RoundValue<T>): number[] =>
    rounds.map((round) => (typeof of === 'function' ? of(round) : (round[of] as number)))
  return {
    sum: (of: RoundValue<T>): number => values(of).reduce((total, value) => total + value, 0),
    median: (of: RoundValue<T>): number => median(values(of)),
    max: (of: RoundValue<T>): number => Math.max(...values(of)),
    min: (of: RoundValue<T>): number => Math.min(...values(of)),
  }
}

/** Plays the rounds of a trial, numbered from 1, one after the other; `line` is told of each. */
export async function playRounds<T>(
  { rounds, progress }: TrialContext,
  play: (number: number) => Promise<T>,
  line: (round: T) => string,
): Promise<T[]> {
  const all: T[] = []
  for (let number = 1; number <= rounds; number++) {
    const round = await play(number)
    all.push(round)
    progress(`round ${number}/${rounds}: ${line(round)}`)
  }
  return all
}
