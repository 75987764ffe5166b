/** One call of a caller beneath which loops run: what its turns, tools and nested runs share. */
import type { Clock } from '../../base/clock.js'
import type { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { Gateway, Inference } from '../gateway.js'
import type { Generation, LoopRecord } from '../run/generation.js'
import type { ToolFiles } from '../tools/port/tool.js'
import type { LoopMeter } from './loop-meter.js'
import type { LoopAccount, LoopPorts } from './ports.js'

/** What of a caller's call goes into each of its turns. */
type CallFacts = Pick<Inference<RoutedRequest>, 'simulate' | 'traceparent' | 'client'>

export class LoopCall {
  readonly #left = new AbortController()
  #rows = 0
  #calls = 0
  #account: LoopAccount | null = null

  constructor(
    readonly gateway: Gateway,
    readonly ports: LoopPorts,
    readonly root: Generation<RoutedRequest>,
    readonly facts: CallFacts,
    readonly files: ToolFiles,
    /** On the monotonic clock. */
    readonly deadlineAt: number,
  ) {}

  /** What the answer tells of the loop. */
  get loop(): LoopRecord {
    return this.root.loop!
  }

  /** Before anything is run. Rejects with what refuses; then nothing is held. */
  async openAccount(): Promise<void> {
    this.#account = await this.ports.openAccount(this.root)
  }

  get isOpen(): boolean {
    return this.#account !== null
  }

  get account(): LoopAccount {
    return this.#account!
  }

  get clock(): Clock {
    return this.ports.clock
  }

  /** Milliseconds until the call has to be over. */
  get timeLeft(): number {
    return this.deadlineAt - this.clock.monotonicMs()
  }

  /** Aborted when the caller has left. */
  get signal(): AbortSignal {
    return this.#left.signal
  }

  get isLeft(): boolean {
    return this.#left.signal.aborted
  }

  leave(): void {
    this.#left.abort()
  }

  /** Of the next turn or tool. */
  newRowId(): string {
    return `${this.root.id}.${++this.#rows}`
  }

  /** Counts a call of a tool, run or refused; false beyond the operator's ceiling, which holds for all loops together. */
  countCall(): boolean {
    return ++this.#calls <= this.ports.mostCalls()
  }

  get hasReachedCeiling(): boolean {
    return this.#calls >= this.ports.mostCalls()
  }

  /** The caller as its key stands now; the fault that ends the loop. */
  recheck(): Promise<Principal | Fault> {
    return Promise.resolve(this.account.recheck())
  }
}

/** Where a loop runs: for the caller itself, or beneath a call of a tool. */
export interface LoopSite {
  readonly call: LoopCall
  readonly meter: LoopMeter
  /** 0 for the caller's own. */
  readonly depth: number
  /** For the rows of its turns. */
  readonly purpose: string
  /** Aborted when nobody wants its answer any more. */
  readonly signal: AbortSignal
}
