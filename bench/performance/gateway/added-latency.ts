/**
 * What a server between a caller and its upstream adds: every call is made twice, directly and through it, one after
 * the other and in alternating order, so that whatever the machine does meets both.
 */

import { type ExpectedStream, isComplete, type StreamOutcome } from '../../harness/sse/checked-streams.js'
import { StreamConnection } from '../../harness/sse/stream-connection.js'

/** The same call both ways; milliseconds. */
interface LatencyPair {
  readonly direct: number
  readonly through: number
}

/** One call made again and again, on one connection for as long as that lasts. */
export class RepeatedCall {
  #connection: StreamConnection | null = null

  /** Without `expected` the answer is no stream: its status and its framing are all there is to look at. */
  constructor(
    readonly port: number,
    readonly request: Buffer,
    readonly expected: ExpectedStream | null = null,
  ) {}

  /** Null for an answer that is not whole. */
  async ask(): Promise<StreamOutcome | null> {
    if (this.#connection?.usable !== true) this.#connection = await StreamConnection.open(this.port)
    const outcome = await this.#connection?.call(this.request, '')
    if (outcome === undefined) return null
    const whole =
      this.expected === null
        ? outcome.status === 200 && outcome.lost === null
        : isComplete(outcome, this.expected)
    return whole ? outcome : null
  }

  leave(): void {
    this.#connection?.leave()
  }
}

/** Makes both calls until that is `enough`, which is asked with the number of pairs made; leaves both connections. */
export async function measureLatencyPairs(
  direct: RepeatedCall,
  through: RepeatedCall,
  enough: (pairs: number) => boolean,
) {
  const whole: LatencyPair[] = []
  const first: LatencyPair[] = []
  let failed = 0
  for (let turn = 0; !enough(turn); turn++) {
    const early = turn % 2 === 0 ? await direct.ask() : null
    const other = await through.ask()
    const one = turn % 2 === 0 ? early : await direct.ask()
    if (one === null || other === null) failed++
    if (one === null || other === null) continue
    whole.push({ direct: one.totalMs, through: other.totalMs })
    if (one.firstTokenMs === null || other.firstTokenMs === null) continue
    first.push({ direct: one.firstTokenMs, through: other.firstTokenMs })
  }
  direct.leave()
  through.leave()
  return {
    /** From the sending to the end of the answer. */
    whole,
    /** From the sending to the first token; empty for answers that are no stream. */
    first,
    /** Calls without a complete answer. */
    failed,
  }
}
