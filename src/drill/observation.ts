/** What was seen of one call, and how it is put into words. */
import type { Answer } from './answer.js'
import type { Heard } from './gateway-caller.js'
import type { Attempt, Mode, Step } from './scenario.js'
import type { Members } from './shape.js'

/** What was seen of one call, at both ends. */
export interface Observation {
  readonly mode: Mode
  readonly heard: Heard
  readonly answer: Answer
  /** What the faulty provider was asked meanwhile, in order. */
  readonly seen: readonly Attempt[]
  /** Connections that the gateway still held open towards a provider that it had given up. */
  readonly held: number
  /** The ledger's row; null when there is none. */
  readonly record: Members | null
}

/** The ways that agree with what the provider has seen; it sees nothing of connections that are refused. */
export function waysTaken({ ways }: Step, seen: readonly Attempt[]): readonly (readonly Attempt[])[] {
  return ways.filter((way) => sentence(way.filter(([role]) => role !== 'dead')) === sentence(seen))
}

/** `first 429, second 200`; `''` for none. */
export function sentence(attempts: readonly (readonly [who: string, status: number])[]): string {
  return attempts.map(([who, status]) => `${who} ${status === 0 ? 'without a status' : status}`).join(', ')
}

export function quoted(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 300)) : String(value)
}
