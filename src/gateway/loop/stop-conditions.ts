/** When a loop of server tools has come to its end (contract/tools 1.2). */
import { dollarsToNanos } from '../../base/money.js'
import { callerToolName, nativeToolName } from '../formats/native-tools.js'
import { type StopCondition, serverToolName, type Tooling } from '../formats/tooling.js'
import type { LoopMeter } from './loop-meter.js'
import type { TurnEnd } from './turn-format.js'

/** Turns in a row whose calls were all refused. */
const MOST_REFUSED_TURNS = 3

export class StopConditions {
  readonly #conditions: readonly StopCondition[]
  readonly #meter: Pick<LoopMeter, 'cost' | 'tokens'>
  /** Names that were called: of tools without a prefix, and of functions as the model wrote them. */
  readonly #called = new Set<string>()
  #steps = 0
  #finish = ''
  #refusedTurns = 0

  constructor(
    { stopWhen, maxToolCalls }: Pick<Tooling, 'stopWhen' | 'maxToolCalls'>,
    meter: Pick<LoopMeter, 'cost' | 'tokens'>,
  ) {
    this.#conditions = stopWhen ?? [{ type: 'step_count_is', step_count: maxToolCalls }]
    this.#meter = meter
  }

  /** Steps that callers are told as the most there will be; `ceiling` where no condition counts them. */
  mostSteps(ceiling: number): number {
    let most = ceiling
    for (const condition of this.#conditions)
      if (condition.type === 'step_count_is') most = Math.min(most, condition.step_count)
    return most
  }

  /** Nano-dollars that the loop may cost; Infinity where no condition says so. */
  static costLimit({ stopWhen }: Pick<Tooling, 'stopWhen'>): number {
    let limit = Number.POSITIVE_INFINITY
    for (const condition of stopWhen ?? [])
      if (condition.type === 'max_cost')
        limit = Math.min(limit, Math.ceil(dollarsToNanos(condition.max_cost_in_dollars)))
    return limit
  }

  /** A turn has ended, and called what it did. */
  recordTurn({ finish, callerCalls }: TurnEnd): void {
    this.#finish = finish
    for (const name of callerCalls) this.#called.add(name)
  }

  /** A call of a tool: `names` are all that the tool has, and the one that the model used. */
  recordCall(names: readonly string[], executed: boolean): void {
    for (const name of names) this.#called.add(name)
    if (executed) this.#steps++
  }

  /** The calls of a turn are done. */
  recordResults(areAllRefused: boolean): void {
    this.#refusedTurns = areAllRefused ? this.#refusedTurns + 1 : 0
  }

  /** Whether any of them holds. */
  fire(): boolean {
    return this.#refusedTurns >= MOST_REFUSED_TURNS || this.#conditions.some((each) => this.#holds(each))
  }

  #holds(condition: StopCondition): boolean {
    switch (condition.type) {
      case 'step_count_is':
        return this.#steps >= condition.step_count
      case 'has_tool_call':
        return this.#wasCalled(condition.tool_name)
      case 'max_tokens_used':
        return this.#meter.tokens > condition.max_tokens
      case 'max_cost':
        return this.#meter.cost > dollarsToNanos(condition.max_cost_in_dollars)
      case 'finish_reason_is':
        return this.#finish === condition.reason
    }
  }

  #wasCalled(wanted: string): boolean {
    const spelled = [wanted, serverToolName(wanted), nativeToolName(wanted), callerToolName(wanted)]
    return spelled.some((name) => name !== null && this.#called.has(name))
  }
}
