/**
 * What a server between a caller and its upstream adds: every call is made twice, directly and through it, one after
 * the other and in alternating order, so that whatever the machine does meets both.
 */

import { type ExpectedStream, isComplete, type StreamOutcome } from '../../harness/sse/checked-stream.js'
import { StreamConnection } from '../../harness/sse/stream-connection.js'
import { BARE_TARGET, type CallTarget, callBytes } from './calls.js'

interface LatencyPairPlan {
  readonly model: string
  readonly pairs: number
  /** Pairs made before anything is kept. */
  readonly warmup: number
  readonly directPort: number
  readonly throughPort: number
  readonly through: CallTarget
}

/** The same call both ways; milliseconds. */
export interface LatencyPair {
  readonly direct: number
  readonly through: number
}

export interface LatencyPairs {
  /** From the sending to the end of the answer. */
  readonly whole: readonly LatencyPair[]
  /** From the sending to the first token; empty for answers that are no stream. */
  readonly first: readonly LatencyPair[]
  /** Calls without a complete answer. */
  readonly failed: number
}

/** Runs the pairs on one connection each. Throws when one of the two cannot be opened. */
export async function measureLatencyPairs(
  plan: LatencyPairPlan,
  expected: ExpectedStream,
): Promise<LatencyPairs> {
  const direct = await lane(plan.directPort, callBytes(BARE_TARGET, plan.model), expected)
  const through = await lane(plan.throughPort, callBytes(plan.through, plan.model), expected)
  const whole: LatencyPair[] = []
  const first: LatencyPair[] = []
  let failed = 0
  for (let turn = -plan.warmup; turn < plan.pairs; turn++) {
    const both =
      turn % 2 === 0 ? await inOrder(direct.ask, through.ask) : await reversed(direct.ask, through.ask)
    if (both === null) failed++
    if (both === null || turn < 0) continue
    const [one, other] = both
    whole.push({ direct: one.totalMs, through: other.totalMs })
    if (one.firstTokenMs === null || other.firstTokenMs === null) continue
    first.push({ direct: one.firstTokenMs, through: other.firstTokenMs })
  }
  direct.leave()
  through.leave()
  return { whole, first, failed }
}

type Ask = () => Promise<StreamOutcome | null>

async function inOrder(direct: Ask, through: Ask): Promise<[StreamOutcome, StreamOutcome] | null> {
  const one = await direct()
  const other = await through()
  return one !== null && other !== null ? [one, other] : null
}

async function reversed(direct: Ask, through: Ask): Promise<[StreamOutcome, StreamOutcome] | null> {
  const other = await through()
  const one = await direct()
  return one !== null && other !== null ? [one, other] : null
}

/** A connection that asks the same again and again; null for an answer that is not whole. */
async function lane(
  port: number,
  request: Buffer,
  expected: ExpectedStream,
): Promise<{ ask: Ask; leave: () => void }> {
  let connection = await opened(port)
  const ask = async (): Promise<StreamOutcome | null> => {
    if (!connection.usable) connection = await opened(port)
    const outcome = await connection.call(request, '')
    return isCompleteAnswer(outcome, expected) ? outcome : null
  }
  return { ask, leave: () => connection.leave() }
}

/** An answer without tokens is one of JSON: its status and its framing are all there is to look at. */
function isCompleteAnswer(outcome: StreamOutcome, expected: ExpectedStream): boolean {
  if (expected.tokens > 0) return isComplete(outcome, expected)
  return outcome.status === 200 && outcome.lost === null
}

async function opened(port: number): Promise<StreamConnection> {
  const connection = await StreamConnection.open(port)
  if (connection === null) throw new Error(`nobody accepts connections on port ${port}`)
  return connection
}
